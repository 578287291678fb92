"""The things that only one server can have: a data folder and a port."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import socket
from collections.abc import Iterator
from pathlib import Path

from pitstop.errors import ConflictError, UsageError
from pitstop.launchers.processes import own_handle, write_json
from pitstop.model.data_folder import DataFolder

BACKLOG = 128


@contextlib.contextmanager
def only_server(data: DataFolder) -> Iterator[None]:
    """Hold the data folder. ConflictError, with the holder's process id, if another server holds it.

    The lock ends with the process, however the process ends. ``data.control_process`` tells spares which server they belong to.
    """
    path = data.control_process
    path.parent.mkdir(parents=True, exist_ok=True)
    with data.control_lock.open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ConflictError(f"Another server (process {_owner(path)}) already serves the data in {data.root}.") from None
        write_json(path, {"pid": os.getpid(), "handle": own_handle()})
        yield


def is_served(data: DataFolder) -> bool:
    """True if a server of this machine holds the data folder."""
    try:
        with data.control_lock.open("rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except BlockingIOError:
        return True
    return False


def _owner(path: Path) -> str:
    try:
        return str(json.loads(path.read_text())["pid"])
    except (OSError, ValueError, KeyError):
        return "unknown"


@contextlib.contextmanager
def listening(host: str, port: int) -> Iterator[socket.socket]:
    """Yield a socket that accepts connections. UsageError if the port is taken or not permitted. Port 0 takes a free one."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # The protocol is named because asyncio turns off delays (Nagle) only on sockets that say they are TCP.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    with listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((host, port))
            listener.listen(BACKLOG)  # clients that come before the server is ready wait instead of being refused
        except OSError as error:
            reason = "is in use" if error.errno == errno.EADDRINUSE else f"cannot be opened ({error.strerror})"
            raise UsageError(f"Port {port} on {host} {reason}: stop what uses it, or choose another with --port.") from None
        yield listener
