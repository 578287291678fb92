"""Processes of the rig: each writes into a log, and ends with us, however we end."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

END_SECONDS = 15.0
LAST_LINES = 15


class RigError(Exception):
    """The rig itself does not do what it should."""


class RigProcess:
    """Runs from when it is made until ``stop`` or ``kill``; ``start`` starts it once more."""

    def __init__(self, name: str, command: Sequence[str | Path], folder: Path, variables: Mapping[str, str]) -> None:
        self.name, self.log = name, folder / f"{name}.log"
        # The kernel ends it if we are killed.
        self._command = ["setpriv", "--pdeathsig", "KILL", "--", *map(str, command)]
        self._folder, self._variables = folder, dict(variables)
        self.start()

    def start(self) -> None:
        """Start it (again)."""
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                self._command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self._folder,
                env=self._variables,
                start_new_session=True,  # an interrupt of the tests is not its own: they stop it
            )

    @property
    def pid(self) -> int:
        return self._process.pid

    def check(self) -> None:
        """RigError if it has ended by itself."""
        if self._process.poll() is not None:
            last = self.log.read_text(errors="replace").splitlines()[-LAST_LINES:]
            raise RigError("\n".join([f"{self.name} has ended with {self._process.returncode}; {self.log} ends so:", *last]))

    def signal(self, number: int) -> None:
        """Send it a signal."""
        self._process.send_signal(number)

    def kill(self) -> None:
        """End it at once."""
        self._process.kill()
        self._process.wait()

    def stop(self) -> None:
        """Let it end, and end it if it does not."""
        for number in (signal.SIGCONT, signal.SIGTERM):
            self._process.send_signal(number)
        try:
            self._process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()


def plain_variables(home: Path, **also: str) -> dict[str, str]:
    """An environment that knows nothing of who runs the tests: no settings, clusters or tokens of theirs."""
    return {"PATH": os.environ["PATH"], "HOME": str(home), **also}
