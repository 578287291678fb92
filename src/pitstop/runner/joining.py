"""The way of a runner's process into an engine (runner.engine_host)."""

from __future__ import annotations

import atexit
import os
import secrets
import socket
import threading
import time
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path

from pyspark.sql import SparkSession

from pitstop.errors import EngineError
from pitstop.launchers.engine_socket import EngineConnection, connect
from pitstop.launchers.processes import handle_in, is_alive
from pitstop.machine.log_levels import VARIABLE
from pitstop.model.process_folders import EngineFolder
from pitstop.runner.session import levels_of_workers, own_scratch
from pitstop.spark.base.engines import Door, join_session
from pitstop.spark.sources import register

START_SECONDS = 120.0
"""The longest that a process waits for an engine that is just starting, in seconds."""
LOOK_SECONDS = 0.05
JOB_SECONDS = 60.0
END_SECONDS = 1.0
"""The time, in seconds, in which an engine ends that ends at once with what a run has just met."""
GONE_SECONDS = 30.0
"""The longest that an engine takes to end after its Java, in seconds, on a machine that is busy."""
LOOPBACK = "127.0.0.1"


class Role(StrEnum):
    """The use of a process for which it joins an engine."""

    RUN = "run"
    SPARE = "spare"
    TASK = "task"


class Joined:
    """A session in an engine, with the connection on which its life hangs."""

    def __init__(self, folder: EngineFolder, work_dir: Path, role: Role) -> None:
        """Join; EngineError, which may pass, if the engine does not come up or ends before it has let this process in."""
        self._connection = _connected(folder)
        self._leaves = False
        atexit.register(self._leave)  # it is a member as long as the process lives, whoever forgets this object
        self._ended = threading.Event()
        client = secrets.token_hex(8)
        answer = self._connection.ask({"join": client, "pid": os.getpid(), "role": role}, START_SECONDS)
        door = Door(int(answer["port"]), str(answer["secret"]))
        self._port = door.port
        variables = {VARIABLE: str(levels_of_workers(work_dir))}
        self.session: SparkSession = own_scratch(join_session(door, client, work_dir, variables, folder.python_socket))
        if role is Role.SPARE:  # others register what their job reads
            register(self.session)

    def take(self, job_id: str, token: int) -> None:
        """Say which run of a job this process is from now on, and wait until the engine has ended its earlier runs."""
        self._connection.ask({"job": job_id, "token": token}, JOB_SECONDS)

    def weigh(self, weight: int) -> None:
        """Let this process have so many times the threads of one whose weight is 1 (option weight)."""
        self._connection.ask({"weight": weight}, JOB_SECONDS)

    def has_ended(self, seconds: float) -> bool:
        """Return True if the engine has ended, or ends within ``seconds``."""
        return self._ended.wait(seconds)

    def has_java(self) -> bool:
        """Return False if the engine's Java has ended. One that stands still is there."""
        try:
            socket.create_connection((LOOPBACK, self._port), END_SECONDS).close()
        except ConnectionRefusedError:
            return False
        except OSError:
            pass
        return True

    def at_end(self, do: Callable[[], None]) -> None:
        """Call ``do``, in a thread of its own, once the engine has ended, for whatever reason."""

        def wait() -> None:
            self._connection.wait_for_end()
            if not self._leaves:
                self._ended.set()
                do()

        threading.Thread(target=wait, daemon=True, name="engine").start()

    def _leave(self) -> None:
        self._leaves = True
        self._connection.close()


class Membership:
    """The membership of a run in an engine of several jobs. ``joined`` is None before it joins, or if it never does."""

    def __init__(self, joined: Joined | None = None) -> None:
        self.joined = joined

    def take(self, job_id: str, token: int) -> None:
        """Do what :meth:`Joined.take` does, if the run has joined."""
        if self.joined is not None:
            self.joined.take(job_id, token)

    def weigh(self, weight: int) -> None:
        """Do what :meth:`Joined.weigh` does, if the run has joined. An engine of one job has nobody to share with."""
        if self.joined is not None:
            self.joined.weigh(weight)

    def has_ended(self) -> bool:
        """Return True if the engine has ended. Java may end before it."""
        joined = self.joined
        return joined is not None and (
            joined.has_ended(END_SECONDS) or (not joined.has_java() and joined.has_ended(GONE_SECONDS))
        )


def _connected(folder: EngineFolder) -> EngineConnection:
    deadline = time.monotonic() + START_SECONDS
    while True:
        try:
            if folder.ready.exists():
                return connect(folder.socket)
        except OSError as error:
            raise EngineError(f"The engine {folder.root.name} cannot be reached: {error}.", away=True) from None
        process = handle_in(folder.process)
        if (process is not None and not is_alive(process)) or not folder.root.exists():
            raise EngineError(f"The engine {folder.root.name} has ended before it was up: see {folder.log}.", away=True)
        if time.monotonic() > deadline:
            raise EngineError(f"The engine {folder.root.name} was not up within {START_SECONDS:.0f} seconds.", away=True)
        time.sleep(LOOK_SECONDS)
