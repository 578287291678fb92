"""Waking another process without polling: one byte on a Unix datagram socket.

The byte carries no data: facts are in the store. Losing it costs at most one round of the
receiver's own timer, so senders never block and never fail.
"""

from __future__ import annotations

import contextlib
import os
import select
import socket
from collections.abc import Iterator
from pathlib import Path


class WakeSocket:
    """The receiving end. ``wait`` returns as soon as somebody calls :func:`wake` with the same path."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with contextlib.suppress(FileNotFoundError):
            path.unlink()
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.setblocking(False)
        with short_path(path) as address:
            self._socket.bind(address)
        self._identity = path.stat().st_ino

    def wait(self, seconds: float) -> bool:
        """Sleep until woken, at most ``seconds``; return True if woken. Several wakes count as one."""
        ready, _, _ = select.select([self._socket], [], [], max(0.0, seconds))
        if not ready:
            return False
        with contextlib.suppress(BlockingIOError):
            while True:
                self._socket.recv(64)
        return True

    def close(self) -> None:
        """Stop waiting. A waiter that has taken over the path meanwhile keeps it."""
        self._socket.close()
        with contextlib.suppress(FileNotFoundError):
            if self.path.stat().st_ino == self._identity:
                self.path.unlink()


def wake(path: Path) -> bool:
    """Wake the waiter on ``path``; return False if there is none."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
        sender.setblocking(False)
        try:
            with short_path(path) as address:
                sender.sendto(b"!", address)
        except BlockingIOError:
            return True  # its queue is full: it will wake anyway
        except OSError:
            return False
    return True


@contextlib.contextmanager
def short_path(path: Path) -> Iterator[str]:
    """Give a short form of a path: a Unix socket path holds about 100 bytes. Long ones go through the folder's descriptor."""
    if len(os.fsencode(path)) < 100:
        yield str(path)
        return
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        yield f"/proc/self/fd/{folder}/{path.name}"
    finally:
        os.close(folder)
