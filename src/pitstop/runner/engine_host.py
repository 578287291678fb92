"""The process of an engine: one JVM in which the jobs of several processes run, each with a session of its own.

A process joins by a connection (launchers.engine_socket), and its session lives as long as that. When the connection ends, for
whatever reason, everything of the session is ended here. Killing a job never needs this process, nor the JVM.
"""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession

from pitstop.control.ports.launcher import RunHandle
from pitstop.kit.waiting import wait_until
from pitstop.launchers.engine_socket import EngineConnection, listening
from pitstop.launchers.processes import handle_in, handle_of, is_alive, kill_all, kill_with, own_handle, write_handle
from pitstop.machine.memory import memory_bytes
from pitstop.model.data_folder import DataFolder
from pitstop.model.process_folders import EngineFolder
from pitstop.runner.engine_output import EngineOutput
from pitstop.runner.forking import ForkedChild
from pitstop.runner.joining import Role
from pitstop.runner.logs import log
from pitstop.runner.python_forks import fork_workers
from pitstop.runner.session import levels_of_workers, session
from pitstop.spark.base.engines import (
    CLIENT_VARIABLE,
    Clients,
    ClientSession,
    heap_bytes,
    heap_in_use,
    is_gone,
    output_of,
)
from pitstop.spark.base.run_levels import RunLevels
from pitstop.spark.base.session import DRIVER_MEMORY, java_ends
from pitstop.spark.starting.warm_up import warm_up

LOGGER = "pitstop.engine"
LEAST_HEAP, MOST_HEAP = 2 << 30, 30 << 30
"""The bounds of an engine's heap, in bytes: that of a single job, and the largest in which Java's references are short."""
HEAP_BITS = 26
"""The heap in use is told in steps of 64 MiB: whoever follows changes has no use for each byte."""
IDLE_SECONDS = 300.0
"""The time without any process after which an engine ends, in seconds."""
LOOK_SECONDS = 3.0
"""The time between two looks whether the engine is still of use, in seconds."""
RELEASE_SECONDS = 30.0
"""The longest that a run waits for the end of what an earlier run of its job has left in the engine, in seconds."""
STUCK_SECONDS = 60.0
"""The time after which an engine ends itself, in seconds.

That is if a query of a process that is gone cannot be ended, or if Java does not answer.
"""
STEP_SECONDS = 5.0
GIVES_WAY_SECONDS = 5.0
"""The time after which a process is killed that keeps its session from ending, in seconds: a later run of its job is there."""
AGAIN_SECONDS = 0.05
CLEAN_LOOKS = 2
"""The looks in a row that find nothing of a process before it is forgotten: it may just have been starting a query."""
STUCK_CODE = 4
LAST_LINES_SECONDS = 0.2
"""The time in which the last lines of Java reach the log, in seconds."""


@dataclass(eq=False)
class _Client:
    """A process that has joined."""

    name: str
    pid: int
    process: RunHandle | None
    """None if it had ended already when it was looked at."""
    role: Role
    session: ClientSession
    job: str | None = None
    """The job that it runs; None while it has none."""
    token: int = 0
    """The number of its run: of two runs of a job the later one has the higher."""
    has_gone: bool = False
    """True once its connection has ended, or a later run of its job has come."""

    @property
    def is_busy(self) -> bool:
        """True while it may write. One that has gone may just have been starting a query, until it has been removed."""
        # A task that was cancelled may still write a file of state.
        return bool(self.has_gone or self.session.queries or self.session.tasks)


def host_engine(engine_id: str, data: DataFolder) -> int:
    """Start the JVM, and serve the processes that join, until no one needs it any more; return the exit code."""
    folder = data.engine(engine_id)
    folder.root.mkdir(parents=True, exist_ok=True)
    forks = ForkedChild(_forks_command(folder)[1:], lambda: fork_workers(folder.python_socket))
    output = EngineOutput()
    os.environ.setdefault(DRIVER_MEMORY, heap_of(memory_bytes()))
    threading.Thread(target=_keep_forks, args=(folder, forks), daemon=True, name="forks").start()
    spark = session(folder.work, folder.python_socket)
    RunLevels(spark, levels_of_workers(folder.work)).follow(data.log_levels)
    warm_up(spark, folder.work / "warm-up")
    host = EngineHost(spark, output)
    threading.Thread(target=_end_with_java, args=(spark,), daemon=True, name="java").start()
    threading.Thread(target=_end_if_java_hangs, args=(spark,), daemon=True, name="java answers").start()
    with listening(folder.socket) as listener:
        write_handle(folder.ready, own_handle())
        log("INFO", LOGGER, f"engine {engine_id} is up")
        code = host.serve(listener, lambda: _is_of_use(data, folder))
    shutil.rmtree(folder.root, ignore_errors=True)
    return code


def heap_of(memory: int) -> str:
    """Return the heap, as Java takes it, of an engine on a machine with so many bytes of memory: a quarter, within bounds."""
    return f"{min(max(memory // 4, LEAST_HEAP), MOST_HEAP) >> 20}m"


class EngineHost:
    """Serves the processes of an engine."""

    def __init__(self, spark: SparkSession, output: EngineOutput) -> None:
        self._spark, self._output = spark, output
        self._clients: set[_Client] = set()
        self._lock = threading.Lock()
        self._sessions = Clients(spark)
        self._started = time.time()

    def serve(self, listener: socket.socket, is_of_use: Callable[[], bool]) -> int:
        """Serve each connection in a thread of its own until there is none, and the engine is of no use; return the exit code."""
        idle_since = time.monotonic()
        while True:
            ready, _, _ = select.select([listener], [], [], LOOK_SECONDS)
            if ready:
                connection = EngineConnection(listener.accept()[0])
                threading.Thread(target=self._serve, args=(connection,), daemon=True, name="client").start()
            # Also while others ask all the time.
            if self._clients:
                idle_since = time.monotonic()
            elif not is_of_use() or time.monotonic() - idle_since > IDLE_SECONDS:
                return 0

    def _serve(self, connection: EngineConnection) -> None:
        client: _Client | None = None
        try:
            while (request := connection.receive()) is not None:
                if "join" in request and client is None:
                    client = self._add(str(request["join"]), int(request["pid"]), Role(request["role"]))
                connection.send(self._answer(client, request))
        except OSError:
            pass  # it has gone meanwhile
        except Exception as error:  # a process may send anything: the engine goes on for the others
            log("ERROR", LOGGER, f"a process could not join: {type(error).__name__}: {error}")
        finally:
            connection.close()
            if client is not None:
                self._remove(client)

    def _answer(self, client: _Client | None, request: dict[str, Any]) -> dict[str, Any]:
        try:
            if client is not None and "join" in request:
                door = client.session.door
                return {"port": door.port, "secret": door.secret}
            if "job" in request and client is not None:
                return self._take(client, str(request["job"]), int(request["token"]))
            if "weight" in request and client is not None:
                return self._weigh(client, int(request["weight"]))
            if "facts" in request:
                return {"facts": self._facts()}
            if "gone" in request:
                pid = int(request["gone"])
                self._release(lambda other: other.pid == pid, f"process {pid}")
                return {"released": True}
            return {"error": f"The engine does not know the request {sorted(request)}."}
        except Exception as error:  # the process is told, and the engine goes on for the others
            return {"error": f"The engine cannot serve a process: {type(error).__name__}: {error}"}

    def _facts(self) -> dict[str, Any]:
        """Return the facts of model.cluster.EngineInfo that the engine itself knows."""
        with self._lock:
            jobs = [client.job for client in self._clients]
            spares = [client for client in self._clients if client.role is Role.SPARE and client.job is None]
        return {
            "jobs": [job for job in jobs if job is not None],
            "spares": len(spares),
            "heap_bytes": heap_in_use(self._spark) >> HEAP_BITS << HEAP_BITS,
            "most_heap_bytes": heap_bytes(self._spark),
            "cores": self._spark.sparkContext.defaultParallelism,
            "started": self._started,
        }

    def _add(self, name: str, pid: int, role: Role) -> _Client:
        client = _Client(name, pid, handle_of(pid), role, self._sessions.add(name))
        with self._lock:
            self._clients.add(client)
        self._output.route(name, output_of(pid))
        return client

    def _take(self, client: _Client, job: str, token: int) -> dict[str, Any]:
        """Give a job to a process: end what earlier runs of it have left here, also of one that hangs and cannot be killed."""
        with self._lock:
            client.job, client.token = job, token
            others = {other for other in self._clients if other.job == job and other is not client}
        if any(other.token > token for other in others):
            return {"error": f"a later run of job {job} is there"}
        for other in others:
            threading.Thread(target=self._remove, args=(other,), daemon=True, name="earlier run").start()
        self._release(lambda other: other in others and other.is_busy, f"an earlier run of job {job}")
        return {"released": True}

    def _weigh(self, client: _Client, weight: int) -> dict[str, Any]:
        client.session.weigh(weight)
        log("INFO", LOGGER, f"process {client.pid} has job {client.job} of weight {weight}")
        return {"weight": weight}

    def _release(self, runs: Callable[[_Client], bool], what: str) -> None:
        """Wait until no process for which ``runs`` is true is left; TimeoutError if there still is one."""

        def at_rest() -> bool:
            with self._lock:
                clients = list(self._clients)
            return not any(map(runs, clients))

        if not wait_until(at_rest, RELEASE_SECONDS, step=0.02):
            raise TimeoutError(f"{what} still has a query or tasks")

    def _remove(self, client: _Client) -> None:
        """End all that a process has here, and forget it. Its connection has ended, or its job has another run."""
        with self._lock:
            if client.has_gone:
                return
            client.has_gone = True
        began = time.monotonic()
        # A call into Java may never return.
        limit = threading.Timer(STUCK_SECONDS, _end_stuck, (client.pid,))
        limit.daemon = True
        limit.start()
        clean = 0
        while clean < CLEAN_LOOKS:
            remains = self._end(client)
            if remains:
                log("DEBUG", LOGGER, f"of process {client.pid} there remains: {', '.join(remains)}")
            if remains and client.process is not None and time.monotonic() - began > GIVES_WAY_SECONDS:
                # A query waits for a function of that process, which stands still.
                kill_all(client.process)
            clean = 0 if remains else clean + 1
            time.sleep(AGAIN_SECONDS)
        limit.cancel()
        self._output.forget(client.name)
        with self._lock:
            self._clients.discard(client)
        log("INFO", LOGGER, f"process {client.pid} has left, and nothing of it remains after {time.monotonic() - began:.2f} s")

    def _end(self, client: _Client) -> list[str]:
        """End what a process has left; return what remains, in words. Tasks that are just ending may still start workers."""
        workers = kill_with(CLIENT_VARIABLE, client.name)
        try:
            remains, tasks = client.session.end(), client.session.tasks
            client.session.forget()
        except Exception as error:  # calls into a Java that is ending fail in many ways: what remains is looked at again
            return [f"{type(error).__name__}: {error}"]
        return remains + ([f"{workers} Python workers"] if workers else []) + ([f"{tasks} tasks"] if tasks else [])


def _keep_forks(folder: EngineFolder, forks: ForkedChild | subprocess.Popen[bytes]) -> None:
    """Keep a process from which Python workers are forked. Without it they start by themselves."""
    while True:
        code = forks.wait()
        log("WARN", LOGGER, f"the process from which Python workers are forked has ended with {code}; another one starts")
        time.sleep(AGAIN_SECONDS)
        # Not forked: this process has other threads by now.
        forks = subprocess.Popen(_forks_command(folder), stdin=subprocess.PIPE)


def _forks_command(folder: EngineFolder) -> list[str]:
    return [sys.executable, "-m", "pitstop.runner", "forks", "--socket", str(folder.python_socket)]


def _end_stuck(pid: int) -> None:
    log("ERROR", LOGGER, f"the engine ends, because what process {pid} has left there cannot be ended")
    _end_at_once(STUCK_CODE)


def _end_with_java(spark: SparkSession) -> None:
    """End the process with its Java, or with its Spark, so that its jobs find that out and the next engine is started."""
    while not java_ends(spark, LOOK_SECONDS) and not is_gone(spark):
        pass
    log("ERROR", LOGGER, "the engine's Java, or its Spark, has ended")
    _end_at_once(1)


def _end_if_java_hangs(spark: SparkSession) -> None:
    """End the process once its Java does not answer for a minute: no run could be ended there, and none could join."""
    while True:
        answered = threading.Event()
        threading.Thread(target=_ask_java, args=(spark, answered), daemon=True, name="java asked").start()
        # In steps: a machine that stood still as a whole gives Java its time before the last one.
        if not any(answered.wait(STEP_SECONDS) for _ in range(round(STUCK_SECONDS / STEP_SECONDS))):
            log("ERROR", LOGGER, f"the engine ends, because its Java has not answered for {STUCK_SECONDS:.0f} seconds")
            _end_at_once(STUCK_CODE)
        time.sleep(LOOK_SECONDS)


def _ask_java(spark: SparkSession, answered: threading.Event) -> None:
    with contextlib.suppress(Exception):  # it has ended
        heap_in_use(spark)
    answered.set()


def _end_at_once(code: int) -> None:
    time.sleep(LAST_LINES_SECONDS)
    kill_all(own_handle())  # Java may be ending slowly, or not at all
    os._exit(code)


def _is_of_use(data: DataFolder, folder: EngineFolder) -> bool:
    if folder.retired.exists() or not folder.root.exists():
        return False
    owner = handle_in(data.control_process)
    return owner is not None and is_alive(owner)
