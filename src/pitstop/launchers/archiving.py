"""The archive of Spark's classes, made once, in the background (machine.class_archive)."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import structlog

from pitstop.launchers.processes import handle_of, kill_all

log = structlog.get_logger("pitstop.launcher")
COMMAND = ["nice", "-n", "19", sys.executable, "-m", "pitstop.runner.archiving"]


class Archiving:
    """One process, behind all others, that makes the archive if there is none; what it prints goes to ``log_file``."""

    def __init__(self, environment: Mapping[str, str], log_file: Path) -> None:
        self._environment, self._log_file = environment, log_file
        self._process: subprocess.Popen[bytes] | None = None
        self._reported = False

    def begin(self) -> None:
        """Start it, once."""
        if self._process is not None:
            self._tell_end(self._process)
            return
        with self._log_file.open("wb") as out:
            self._process = subprocess.Popen(
                COMMAND,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                start_new_session=True,
                env=dict(self._environment),
            )

    @property
    def ended(self) -> bool:
        """True if it has been started and runs no more."""
        return self._process is not None and self._process.poll() is not None

    def end(self) -> None:
        """End it, if it is not done."""
        if self._process is None or self.ended:
            return
        handle = handle_of(self._process.pid)
        if handle is not None:
            kill_all(handle)
        self._process.wait()

    def _tell_end(self, process: subprocess.Popen[bytes]) -> None:
        code = process.poll()
        if code is None or self._reported:
            return
        self._reported = True
        if code:
            log.warning("Spark's classes could not be archived: starts take longer", log=str(self._log_file), exit_code=code)
