"""A service behind a real HTTP server of this machine."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

import uvicorn
from fastapi import FastAPI

from pitstop.rest.access import Access
from pitstop.rest.app import create_app
from pitstop.server.http import PatientProtocol
from pitstop.service.server_api import ServerService

STOP_SECONDS = 5


def serving(service: ServerService, token: str, port: int = 0) -> AbstractContextManager[str]:
    """Serve on a free port (or ``port``), and yield the URL. The server ends with the context."""
    return listening(create_app(service, Access(token)), port)


@contextmanager
def listening(app: FastAPI, port: int = 0) -> Iterator[str]:
    """Serve an application on a free port (or ``port``), and yield the URL. The server ends with the context."""
    config = uvicorn.Config(app, http=PatientProtocol, log_level="error", lifespan="off", timeout_graceful_shutdown=STOP_SECONDS)
    server = uvicorn.Server(config)
    # The protocol is named because asyncio turns off delays (Nagle) only on sockets that say they are TCP.
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", port))
        # From here on clients are kept waiting until the server accepts them.
        listener.listen(128)
        thread = threading.Thread(target=server.run, args=([listener],), name="http", daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join(2 * STOP_SECONDS)
