"""This user's servers on this machine: their data folders, and their tokens, which nobody has to type.

A server notes in ``~/.pitstop/servers`` where the token for its port is kept. Once connected, a client checks that a process of
the same user listens on the port, and sends the token over that connection alone. Another user who takes the port while the
server is away learns nothing.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import httpx2

from pitstop.errors import UnreachableError, UsageError
from pitstop.machine.private import private_folder, read_private, write_private
from pitstop.machine.tcp import is_own_server
from pitstop.model.data_folder import DataFolder

DENIED = 401
HOME = Path(os.path.expanduser("~")) / ".pitstop"


class LocalToken(httpx2.Auth):
    """Finds the token at the first request, and again when the server refuses it, since another may serve there now."""

    def __init__(self) -> None:
        self._token: str | None = None

    def auth_flow(self, request: httpx2.Request) -> Generator[httpx2.Request, httpx2.Response, None]:
        host, port = request.url.host, request.url.port or (443 if request.url.scheme == "https" else 80)

        def check(event: str, info: dict[str, Any]) -> None:
            # Only for new connections: the owner of one does not change, and the look takes long if there are many sockets.
            has_token = "Authorization" in request.headers
            if event == "connection.connect_tcp.complete" and has_token and not is_own_server(host, port):
                self._token = None
                info["return_value"].close()
                raise UnreachableError(f"Your server at {request.url.netloc.decode()} is gone: start it with 'pitstop serve'.")

        request.extensions["trace"] = check
        former = self._token
        if former is None:
            self._token = find_token(host, port)
        response = yield _with(request, self._token)
        if response.status_code == DENIED and former is not None:
            self._token = find_token(host, port)
            yield _with(request, self._token)


def usual_data_folder() -> Path:
    """Return ``$PITSTOP_DATA``, else ``~/.pitstop``."""
    return Path(os.environ.get("PITSTOP_DATA") or HOME)


def _with(request: httpx2.Request, token: str | None) -> httpx2.Request:
    request.headers.pop("Authorization", None)
    # The owner of a connection without a token was not checked: no token may be sent over it later.
    request.headers["Connection"] = "close" if token is None else "keep-alive"
    if token is not None:
        request.headers["Authorization"] = f"Bearer {token}"
    return request


def find_token(host: str, port: int) -> str | None:
    """Return the token of this user's own server at an address; None if there is no such server, or no token is found."""
    if not is_own_server(host, port):
        return None
    for path in (_token_file(port), DataFolder(usual_data_folder()).token):
        with contextlib.suppress(OSError, UsageError):
            if path is not None:
                return read_private(path, "token file").strip()
    return None


@contextlib.contextmanager
def announced(port: int, token_file: Path) -> Iterator[None]:
    """Let this user's clients find the token of the server on that port while the context lasts.

    If the home folder cannot be written, clients still find the token by ``$PITSTOP_DATA``.
    """
    word = _word(port)
    with contextlib.suppress(OSError, UsageError):
        private_folder(word.parent)
        write_private(word, str(token_file))
    try:
        yield
    finally:
        if _token_file(port) == token_file:
            with contextlib.suppress(OSError):
                word.unlink()


def _token_file(port: int) -> Path | None:
    try:
        return Path(read_private(_word(port), "file"))
    except (OSError, UsageError):
        return None


def _word(port: int) -> Path:
    return HOME / "servers" / str(port)
