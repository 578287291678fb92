"""Processes of ``pitstop.runner``, with their logs."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import structlog

from pitstop.control.ports import RunSpec
from pitstop.launchers.environment import runner_environment
from pitstop.machine.rotating import Rotation, start_pump
from pitstop.model.data_folder import DataFolder

log = structlog.get_logger("pitstop.launcher")


class RunnerProcesses:
    """Starts them, and collects those that have ended.

    The output of a runner and its children comes through a pipe to a process that writes and rotates the log (machine.rotating).
    That process has a session of its own, so it survives the kill of the runner, and ends with the last process that could print.
    ``facts`` stand in each line of a run, beside the run's own.
    """

    def __init__(
        self,
        data: DataFolder,
        store_url: str,
        environment: dict[str, str] | None = None,
        rotation: Rotation | None = None,
        facts: Mapping[str, object] = MappingProxyType({}),
    ) -> None:
        self._data, self._store_url, self._rotation, self._facts = data, store_url, rotation or Rotation(), dict(facts)
        python = {"PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable}
        self.environment = (runner_environment(os.environ) if environment is None else environment) | python
        """The environment of all of them."""
        self._children: list[subprocess.Popen[bytes]] = []
        self._lock = threading.Lock()

    def start(self, spec: RunSpec, engine: Path | None = None) -> subprocess.Popen[bytes]:
        """Start a run in a process of its own; ``engine`` is the folder of the engine that it joins, if it has no own JVM."""
        log_file = self._data.job(spec.job_id).log
        log_file.parent.mkdir(parents=True, exist_ok=True)
        command = ["run", "--job", spec.job_id, "--token", str(spec.token)]
        command += ["--engine", str(engine)] if engine is not None else []
        return self.spawn(command, log_file, facts_of(spec) | self._facts)

    def spawn(
        self, command: list[str], log_file: Path, facts: dict[str, object], log_moves: Path | None = None
    ) -> subprocess.Popen[bytes]:
        """Start ``python -m pitstop.runner COMMAND``; ``facts`` and ``log_moves`` are machine.rotating.start_pump's."""
        where = ["--store", self._store_url, "--data", str(self._data.root), "--server", self._data.server]
        arguments = [sys.executable, "-m", "pitstop.runner", *command, *where]
        writer = start_pump(log_file, self._rotation, facts, log_moves)
        assert writer.stdin is not None
        with self._lock:
            self._children.append(writer)
        with writer.stdin as out:
            process = subprocess.Popen(
                arguments,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                start_new_session=True,
                env=self.environment,
            )
        with self._lock:
            self._children.append(process)
        log.info("started", command=command[0], pid=process.pid)
        return process

    def reap(self) -> None:
        """Collect the exit codes of children that have ended, so that they are zombies no more."""
        with self._lock:
            self._children = [child for child in self._children if child.poll() is None]


def facts_of(spec: RunSpec) -> dict[str, object]:
    """Return the facts that stand in each line of a run's log."""
    return {"job": spec.job_name or spec.job_id, "run": spec.token}
