"""The socket through which processes join an engine and ask it: a line of JSON each way."""

from __future__ import annotations

import contextlib
import json
import select
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pitstop.errors import EngineError
from pitstop.machine.wake import short_path

LONGEST_LINE = 1 << 16


class EngineConnection:
    """One end of a connection. The other end notices at once when this process ends, however it ends."""

    def __init__(self, connection: socket.socket) -> None:
        self._socket, self._lines = connection, connection.makefile("rb")

    def send(self, content: dict[str, Any]) -> None:
        """Send a message; OSError if the other end is gone."""
        self._socket.sendall(json.dumps(content).encode() + b"\n")

    def receive(self) -> dict[str, Any] | None:
        """Return the next message, or None once the other end is gone."""
        try:
            line = self._lines.readline(LONGEST_LINE)
            return dict(json.loads(line)) if line.endswith(b"\n") else None
        except (OSError, ValueError):
            return None

    def ask(self, content: dict[str, Any], seconds: float | None = None) -> dict[str, Any]:
        """Send a message and return the answer; EngineError if there is none within ``seconds``."""
        self._socket.settimeout(seconds)
        try:
            self.send(content)
            answer = self.receive()
        except OSError:
            answer = None
        finally:
            with contextlib.suppress(OSError):
                self._socket.settimeout(None)
        if answer is None:
            raise EngineError("The engine is gone, or does not answer.", away=True)
        if "error" in answer:
            raise EngineError(str(answer["error"]), away=True)
        return answer

    def wait_for_end(self) -> None:
        """Wait until the other end is gone, and read nothing: another thread may wait for an answer."""
        poll = select.poll()
        poll.register(self._socket, select.POLLRDHUP)
        poll.poll()

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._lines.close()
        self._socket.close()


def connect(path: Path) -> EngineConnection:
    """Connect to an engine; OSError if there is none."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        with short_path(path) as address:
            connection.connect(address)
    except OSError:
        connection.close()
        raise
    return EngineConnection(connection)


@contextlib.contextmanager
def listening(path: Path) -> Iterator[socket.socket]:
    """Listen on ``path``, which only this user can reach, within this context."""
    with contextlib.suppress(FileNotFoundError):
        path.unlink()
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        with short_path(path) as address:
            listener.bind(address)
        path.chmod(0o600)
        listener.listen(64)
        yield listener
