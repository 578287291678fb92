"""The port that starts and ends the processes of runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NewType, Protocol

RunHandle = NewType("RunHandle", str)
"""The name of a run's process for as long as the process is recorded. Only the launcher that made it can read it."""


@dataclass(frozen=True)
class RunSpec:
    """A run that is to be started."""

    job_id: str
    token: int
    standby: str | None = None
    """The process that has made itself ready for this run; if it is gone, another one takes the run."""
    job_name: str | None = None
    """The job's name as the lines of the run's log give it."""
    engine: str | None = None
    """The engine in which it is to run (option engine); None: the server's usual one."""


class Launcher(Protocol):
    """Starts and ends runner processes; they survive the control plane that started them."""

    def start(self, spec: RunSpec) -> None:
        """Start a run, in a warm spare process if there is one; return at once."""
        ...

    def start_failed(self, job_id: str, token: int) -> bool:
        """Return True if the process that was started for this run has ended; False if it lives or is not known."""
        ...

    def prepare(self) -> None:
        """Get ready for the next runs. Called while no run is being started."""
        ...

    def alive(self, run: RunHandle) -> bool | None:
        """Return False once the run's process has ended; None if that can only be told by its lease, and not from here."""
        ...

    def kill(self, run: RunHandle) -> None:
        """End a run's process at once, with all that it has started, even if the process itself is gone already."""
        ...

    def watch(self, run: RunHandle) -> None:
        """Wake the control loop when the run's process ends."""
        ...
