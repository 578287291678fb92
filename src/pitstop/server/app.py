"""Wire the control plane and run it."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import socket
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import psutil
import structlog
import uvicorn

from pitstop.control.controller import Controller
from pitstop.errors import ConflictError, UsageError
from pitstop.kit.clock import SystemClock
from pitstop.kit.java import find_java
from pitstop.kit.version import __version__
from pitstop.kit.wake import wake
from pitstop.launchers.local_process import LocalProcessLauncher
from pitstop.model.job import JobState
from pitstop.rest.app import create_app
from pitstop.server.settings import Settings
from pitstop.service.local import Changes, LocalService
from pitstop.store.database import open_database, sqlite_url
from pitstop.store.maps import SqlMapStore
from pitstop.store.registry import SqlRegistry


def run_server(settings: Settings) -> None:
    """Serve until SIGINT or SIGTERM. One sentence for each thing that prevents it (port in use, no Java, second server)."""
    structlog.configure(
        processors=[
            structlog.processors.TimeStamper(fmt="iso"),
            structlog.processors.add_log_level,
            structlog.processors.JSONRenderer(),
        ],
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )
    data_dir = settings.data_dir.resolve()
    data_dir.mkdir(parents=True, exist_ok=True)
    token = settings.effective_token()
    with _only_server(data_dir), _listening(settings) as listener:
        java_home = find_java(data_dir)
        port = listener.getsockname()[1]
        url = f"http://{settings.host}:{port}"
        store_url = sqlite_url(data_dir / "pitstop.db")
        database = open_database(store_url)
        registry, maps, changes = SqlRegistry(database), SqlMapStore(database), Changes()
        control_socket = data_dir / "control.sock"
        shutil.rmtree(data_dir / "spares", ignore_errors=True)
        launcher = LocalProcessLauncher(
            data_dir,
            store_url,
            lambda: wake(control_socket),
            settings.spares,
            {"JAVA_HOME": str(java_home), "PITSTOP_MASTER": settings.master},
        )
        controller = Controller(registry, launcher, SystemClock(), data_dir, store_url, changes.notify)

        def info() -> dict[str, object]:
            running = [job for job in registry.jobs(include_ended=False) if job.state is JobState.RUNNING]
            address = f"{settings.host}:{port}"
            members = [{"address": address, "uuid": _member_id(data_dir), "master": settings.master}]
            return {
                "state": "ACTIVE",
                "version": __version__,
                "size": len(members),
                "members": members,
                "running_jobs": len(running),
            }

        service = LocalService(registry, maps, launcher, data_dir, lambda: wake(control_socket), changes, info)
        server = uvicorn.Server(uvicorn.Config(create_app(service, token), log_level="warning", lifespan="off"))
        loop = threading.Thread(target=controller.run, name="control", daemon=True)
        loop.start()
        print(f"Pitstop {__version__} serves at {url}  (data in {data_dir})", flush=True)
        if token is not None and settings.token is None:
            print(f"Clients need the token in {data_dir / 'token'}", flush=True)
        try:
            server.run(sockets=[listener])
        finally:
            controller.stop()
            loop.join(timeout=10)
            launcher.end_spares()
            if settings.stop_jobs_on_exit:
                _end_runs(registry, launcher)
            database.close()


def _end_runs(registry: SqlRegistry, launcher: LocalProcessLauncher) -> None:
    """Each run ends at once: what it had committed is kept, and its job goes on when the server is started again."""
    for job in registry.jobs(include_ended=False):
        process = registry.process_of(job.id, job.token)
        if process is not None:
            launcher.kill(*process)


@contextlib.contextmanager
def _only_server(data_dir: Path) -> Iterator[None]:
    path = data_dir / "control.pid"
    with (data_dir / "control.lock").open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            owner = json.loads(path.read_text())["pid"] if path.exists() else "unknown"
            raise ConflictError(f"Another server (process {owner}) already serves the data in {data_dir}.") from None
        process = psutil.Process(os.getpid())
        path.write_text(json.dumps({"pid": process.pid, "created": process.create_time()}))
        yield


@contextlib.contextmanager
def _listening(settings: Settings) -> Iterator[socket.socket]:
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    # The protocol is named because asyncio turns off delays (Nagle) only on sockets that say they are TCP.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((settings.host, settings.port))
        listener.listen(128)  # clients that come before the server is ready wait instead of being refused
    except OSError as error:
        listener.close()
        reason = "is in use" if error.errno == 98 else f"cannot be opened ({error.strerror})"
        raise UsageError(
            f"Port {settings.port} on {settings.host} {reason}: stop what uses it, or choose another with --port."
        ) from None
    try:
        yield listener
    finally:
        listener.close()


def _member_id(data_dir: Path) -> str:
    from uuid import NAMESPACE_URL, uuid5

    return str(uuid5(NAMESPACE_URL, str(data_dir)))
