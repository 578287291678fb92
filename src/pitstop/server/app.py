"""Wire the control plane to its doors and run it."""

from __future__ import annotations

import contextlib
import gc
import os
import resource
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from types import FrameType

import uvicorn

from pitstop.client.local_server import announced
from pitstop.kit.version import __version__
from pitstop.machine.java import find_java
from pitstop.machine.private import keep_private, private_folder
from pitstop.model.data_folder import DataFolder, check_place
from pitstop.rest.access import Access
from pitstop.rest.app import create_app
from pitstop.server.exclusive import listening, only_server
from pitstop.server.http import PatientProtocol
from pitstop.server.logs import logging_to
from pitstop.server.place import settle_place
from pitstop.server.plane import ControlPlane
from pitstop.server.settings import Settings, kept_token
from pitstop.server.store import own_folder
from pitstop.store.urls import store_url

REQUEST_SECONDS = 10
"""The longest that requests may go on when the server ends."""
SWITCH_SECONDS = 0.0005
"""The seconds after which a busy thread lets others run. One thread answers all requests, and a thread that reads a long query
delays each of them by this, several times. Python's default is ten times as long."""
OLD_COLLECTIONS = 1000
"""The number of collections of younger objects before the oldest are looked at, too. Python's own number is 10."""


def run_server(settings: Settings) -> None:
    """Serve until SIGINT or SIGTERM. An obstacle (port in use, no Java, second server) raises an error of one sentence.

    If the control loop fails, the server ends with its error: whoever watches the process starts it again.
    """
    keep_private()
    _allow_many_connections()
    check_place(settings.data_dir.resolve())
    private_folder(settings.data_dir.resolve())
    data = own_folder(settings)
    key = kept_token(data.session_key)
    access = Access(
        settings.effective_token(),
        own_names(settings.host_names),
        settings.effective_viewer_token(),
        key,
        metrics_token=settings.effective_metrics_token(),
    )
    with only_server(data), logging_to(data, settings.rotation), listening(settings.host, settings.port) as listener:
        port = listener.getsockname()[1]
        address = _address(settings.host, port)
        settle_place(data, store_url(settings.store, data, os.environ))
        plane = ControlPlane(settings, data, find_java(data.java), address)
        announcement = announced(port, data.token) if settings.token is None else contextlib.nullcontext()
        try:
            with announcement:
                _serve(plane, access, listener, lambda: _say_where(address, data, settings))
        finally:
            plane.end()
        if plane.failure is not None:
            raise plane.failure


def _allow_many_connections() -> None:
    """Raise the limit on open files as far as the system allows. Each waiting client has one, and 1,000 is the usual limit."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def own_names(names: Sequence[str]) -> frozenset[str]:
    """Return the names by which clients may call the server: its machine's, and those that its user gives."""
    return frozenset(name.lower() for name in (socket.gethostname(), socket.getfqdn(), *names))


def _serve(plane: ControlPlane, access: Access, listener: socket.socket, say: Callable[[], None]) -> None:
    config = uvicorn.Config(
        create_app(plane.service, access),
        http=PatientProtocol,
        log_config=None,
        lifespan="off",
        timeout_graceful_shutdown=REQUEST_SECONDS,
    )
    server = _Server(config, plane.release_waiters)
    plane.start(server.ask_to_end)
    _stop_clients_seldom()
    sys.setswitchinterval(SWITCH_SECONDS)
    with _ending_on_signals(server):
        say()
        server.run(sockets=[listener])


def _stop_clients_seldom() -> None:
    """Make Python's full collections rare: each of them stops every client, for long if there are thousands of clients.

    Objects that are loaded by now stay to the end, so the collector can skip them. Most later objects go without the collector.
    """
    gc.collect()
    gc.freeze()
    young, middle, _ = gc.get_threshold()
    gc.set_threshold(young, middle, OLD_COLLECTIONS)


class _Server(uvicorn.Server):
    """A server that lets waiting calls return when it ends. Their threads would otherwise delay the end for minutes."""

    def __init__(self, config: uvicorn.Config, release: Callable[[], None]) -> None:
        super().__init__(config)
        self._release = release

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        super().handle_exit(sig, frame)
        self._release()

    def ask_to_end(self) -> None:
        self.should_exit = True
        self._release()


@contextlib.contextmanager
def _ending_on_signals(server: _Server) -> Iterator[None]:
    """Handle signals until the process has cleaned up: uvicorn raises the signal that ended it once more."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handlers = {number: signal.signal(number, lambda *_: server.ask_to_end()) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)


def _address(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _say_where(address: str, data: DataFolder, settings: Settings) -> None:
    print(f"Pitstop {__version__} serves at http://{address}  (data in {data.root})", flush=True)
    if settings.token is None:
        print(f"Your own clients on this machine find the token by themselves; others need what is in {data.token}", flush=True)
