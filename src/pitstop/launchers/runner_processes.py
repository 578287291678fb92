"""Processes of ``pitstop.runner``, with their logs."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import IO

import structlog

from pitstop.control.ports.launcher import RunSpec
from pitstop.launchers.environment import runner_environment
from pitstop.launchers.processes import Child
from pitstop.launchers.template import Template
from pitstop.machine.rotating import Rotation, start_pump
from pitstop.model.data_folder import DataFolder

log = structlog.get_logger("pitstop.launcher")
ENGINE_COMMAND = "engine"
HASH_SEED = "0"
"""The seed of Spark's own Python workers. Those that an engine forks get its own, and all have to hash a text alike."""


class RunnerProcesses:
    """Starts them, and collects those that have ended.

    The output of a runner and its children comes through a pipe to a process that writes and rotates the log (machine.rotating).
    That process has a session of its own, so it survives the kill of the runner, and ends with the last process that could print.
    ``facts`` stand in each line of a run, beside the run's own. ``has_template``: engines and the processes that join them are
    forked from one that has imported what they need (launchers.template).
    """

    def __init__(
        self,
        data: DataFolder,
        store_url: str,
        environment: dict[str, str] | None = None,
        rotation: Rotation | None = None,
        facts: Mapping[str, object] = MappingProxyType({}),
        has_template: bool = False,
    ) -> None:
        self._data, self._store_url, self._rotation, self._facts = data, store_url, rotation or Rotation(), dict(facts)
        python = {"PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable, "PYTHONHASHSEED": HASH_SEED}
        self.environment = (runner_environment(os.environ) if environment is None else environment) | python
        """The environment of all of them."""
        self._has_template = has_template
        self._template: Template | None = None
        self._children: list[Child] = []
        self._lock = threading.Lock()

    def start(self, spec: RunSpec, engine: Path | None = None) -> Child:
        """Start a run in a process of its own; ``engine`` is the folder of the engine that it joins, if it has no own JVM."""
        log_file = self._data.job(spec.job_id).log
        log_file.parent.mkdir(parents=True, exist_ok=True)
        command = ["run", "--job", spec.job_id, "--token", str(spec.token)]
        return self.spawn(command, log_file, facts_of(spec) | self._facts, engine=engine)

    def spawn(
        self,
        command: list[str],
        log_file: Path,
        facts: dict[str, object],
        log_moves: Path | None = None,
        engine: Path | None = None,
    ) -> Child:
        """Start ``python -m pitstop.runner COMMAND``; ``facts`` and ``log_moves`` are machine.rotating.start_pump's."""
        where = ["--store", self._store_url, "--data", str(self._data.root), "--server", self._data.server]
        writer = start_pump(log_file, self._rotation, facts, log_moves)
        assert writer.stdin is not None
        with self._lock:
            self._children.append(writer)
        with writer.stdin as out:
            return self._begin([*command, *where], out, engine)

    def start_task(self, command: list[str], log_file: Path, engine: Path | None) -> Child:
        """Start a process that does one task and prints into a file of its own."""
        with log_file.open("ab") as out:
            return self._begin(command, out, engine)

    def _begin(self, command: list[str], out: IO[bytes], engine: Path | None) -> Child:
        command = [*command, *(["--engine", str(engine)] if engine is not None else [])]
        process: Child | None = None
        if (engine is not None or command[0] == ENGINE_COMMAND) and (template := self._template_of_engines()) is not None:
            process = template.fork(command, out.fileno())
        if process is None:
            process = subprocess.Popen(
                [sys.executable, "-m", "pitstop.runner", *command],
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

    def _template_of_engines(self) -> Template | None:
        """Return the template, which starts when it is first asked for: without engines it is of no use."""
        with self._lock:
            if self._has_template and self._template is None:
                self._template = Template(self.environment)
            return self._template

    def close(self) -> None:
        """End the template. All other processes go on."""
        if self._template is not None:
            self._template.close()

    def reap(self) -> None:
        """Collect the exit codes of children that have ended, so that they are zombies no more."""
        with self._lock:
            self._children = [child for child in self._children if child.poll() is None]


def facts_of(spec: RunSpec) -> dict[str, object]:
    """Return the facts that stand in each line of a run's log."""
    return {"job": spec.job_name or spec.job_id, "run": spec.token}
