"""The process of an engine: one JVM in which the jobs of several processes run, each with a session of its own.

A process joins by a connection (launchers.engine_socket), and its session lives as long as that. When the connection ends, for
whatever reason, everything of the session is ended here. Killing a job never needs this process, nor the JVM.
"""

from __future__ import annotations

import select
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession

from pitstop.kit.waiting import wait_until
from pitstop.launchers.engine_socket import EngineConnection, listening
from pitstop.launchers.processes import handle_in, is_alive, kill_with, own_handle, write_handle
from pitstop.model.data_folder import DataFolder, EngineFolder
from pitstop.runner.engine_output import EngineOutput
from pitstop.runner.logs import log
from pitstop.runner.session import levels_of_workers, session
from pitstop.spark.base.engines import CLIENT_VARIABLE, Clients, ClientSession, heap_bytes, heap_in_use, is_gone, output_of
from pitstop.spark.base.run_levels import RunLevels
from pitstop.spark.starting.warm_up import warm_up

LOGGER = "pitstop.engine"
IDLE_SECONDS = 300.0
"""The time without any process after which an engine ends, in seconds."""
LOOK_SECONDS = 3.0
"""The time between two looks whether the engine is still of use, in seconds."""
RELEASE_SECONDS = 30.0
"""The longest that a run waits for the end of what an earlier run of its job has left in the engine, in seconds."""
STUCK_SECONDS = 60.0
"""The time after which an engine ends itself because a query of a process that is gone cannot be ended, in seconds."""
AGAIN_SECONDS = 0.1
STUCK_CODE = 4


@dataclass(eq=False)
class _Client:
    """A process that has joined."""

    name: str
    pid: int
    session: ClientSession
    job: str | None = None
    """The job that it runs; None while it has none."""


def host_engine(engine_id: str, data: DataFolder) -> int:
    """Start the JVM, and serve the processes that join, until no one needs it any more; return the exit code."""
    folder = data.engine(engine_id)
    folder.root.mkdir(parents=True, exist_ok=True)
    output = EngineOutput()
    spark = session(folder.work)
    RunLevels(spark, levels_of_workers(folder.work)).follow(data.log_levels)
    warm_up(spark, folder.work / "warm-up")
    host = EngineHost(spark, output)
    with listening(folder.socket) as listener:
        write_handle(folder.ready, own_handle())
        log("INFO", LOGGER, f"engine {engine_id} is up")
        return host.serve(listener, lambda: _is_of_use(data, folder))


class EngineHost:
    """Serves the processes of an engine."""

    def __init__(self, spark: SparkSession, output: EngineOutput) -> None:
        self._spark, self._output = spark, output
        self._clients: set[_Client] = set()
        self._lock = threading.Lock()
        self._sessions = Clients(spark)
        self._stuck = threading.Event()
        self._started = time.time()

    def serve(self, listener: socket.socket, is_of_use: Callable[[], bool]) -> int:
        """Serve each connection in a thread of its own until there is none, and the engine is of no use; return the exit code."""
        idle_since = time.monotonic()
        while True:
            ready, _, _ = select.select([listener], [], [], LOOK_SECONDS)
            if ready:
                connection = EngineConnection(listener.accept()[0])
                threading.Thread(target=self._serve, args=(connection,), daemon=True, name="client").start()
            elif self._stuck.is_set():
                return STUCK_CODE
            elif is_gone(self._spark):
                log("ERROR", LOGGER, "the engine's Java has ended")
                return 1
            elif self._clients:
                idle_since = time.monotonic()
            elif not is_of_use() or time.monotonic() - idle_since > IDLE_SECONDS:
                return 0

    def _serve(self, connection: EngineConnection) -> None:
        client: _Client | None = None
        try:
            while (request := connection.receive()) is not None:
                client = self._answer(connection, client, request)
        except OSError:
            pass  # it has gone meanwhile
        finally:
            connection.close()
            if client is not None:
                self._remove(client)

    def _answer(self, connection: EngineConnection, client: _Client | None, request: dict[str, Any]) -> _Client | None:
        try:
            if "join" in request:
                client = self._add(str(request["join"]), int(request["pid"]))
                door = client.session.door
                connection.send({"port": door.port, "secret": door.secret})
            elif "job" in request and client is not None:
                client.job = str(request["job"])
                self._release(lambda other: other.job == client.job and other is not client, client.job)
                connection.send({"released": True})
            elif "facts" in request:
                connection.send({"facts": self._facts()})
            elif "gone" in request:
                pid = int(request["gone"])
                self._release(lambda other: other.pid == pid, f"process {pid}")
                connection.send({"released": True})
            else:
                connection.send({"error": f"The engine does not know the request {sorted(request)}."})
        except Exception as error:
            connection.send({"error": f"The engine cannot serve a process: {type(error).__name__}: {error}"})
        return client

    def _facts(self) -> dict[str, Any]:
        """Return the facts of model.cluster.EngineInfo that the engine itself knows."""
        with self._lock:
            jobs = [client.job for client in self._clients]
        return {
            "jobs": [job for job in jobs if job is not None],
            "spares": jobs.count(None),
            "heap_bytes": heap_in_use(self._spark),
            "most_heap_bytes": heap_bytes(self._spark),
            "cores": self._spark.sparkContext.defaultParallelism,
            "started": self._started,
        }

    def _add(self, name: str, pid: int) -> _Client:
        client = _Client(name, pid, self._sessions.add(name))
        with self._lock:
            self._clients.add(client)
        self._output.route(name, output_of(pid))
        return client

    def _release(self, is_meant: Callable[[_Client], bool], what: str) -> None:
        """Wait until the processes that are meant run nothing here any more; TimeoutError if they still do."""

        def at_rest() -> bool:
            with self._lock:
                meant = [client for client in self._clients if is_meant(client)]
            # A task that was cancelled may still write a file of state.
            return not any(client.session.queries or client.session.tasks for client in meant)

        if not wait_until(at_rest, RELEASE_SECONDS, step=0.02):
            raise TimeoutError(f"an earlier run of {what} still has a query or tasks")

    def _remove(self, client: _Client) -> None:
        began = time.monotonic()
        remains = self._end(client)
        while remains and time.monotonic() - began < STUCK_SECONDS:
            time.sleep(AGAIN_SECONDS)
            remains = self._end(client)
        self._output.forget(client.name)
        if remains:
            log("ERROR", LOGGER, f"the engine ends: what a process has left there cannot be ended: {', '.join(remains)}")
            self._stuck.set()
            return
        client.session.forget()
        with self._lock:
            self._clients.discard(client)
        log("INFO", LOGGER, f"process {client.pid} has left, and nothing of it remains after {time.monotonic() - began:.2f} s")

    def _end(self, client: _Client) -> list[str]:
        """End what a process has left; return what remains, in words. Tasks that are just ending may still start workers."""
        remains = client.session.end()
        workers, tasks = kill_with(CLIENT_VARIABLE, client.name), client.session.tasks
        return remains + ([f"{workers} Python workers"] if workers else []) + ([f"{tasks} tasks"] if tasks else [])


def _is_of_use(data: DataFolder, folder: EngineFolder) -> bool:
    if folder.retired.exists() or not folder.root.exists():
        return False
    owner = handle_in(data.control_process)
    return owner is not None and is_alive(owner)
