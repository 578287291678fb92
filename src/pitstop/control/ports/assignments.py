"""The port by which members of a cluster start and end the processes of runs."""

from __future__ import annotations

from enum import StrEnum
from typing import Protocol

from pitstop.control.ports.launcher import RunHandle, RunSpec


class AssignmentState(StrEnum):
    """The progress of a member with a run that was assigned to it."""

    ASKED = "asked"
    BEGUN = "begun"
    """The run's process has been started."""
    FAILED = "failed"
    """The run's process could not be started, or has ended, before or after it had claimed its job."""


class Assignments(Protocol):
    """The runs that each member is to start, and the processes that it is to end. Raises StoreError as every write."""

    def assign(self, spec: RunSpec, member_id: str) -> None:
        """Assign a run to a member, which starts it; earlier runs of the job are forgotten."""
        ...

    def of_run(self, job_id: str, token: int) -> tuple[str, AssignmentState] | None:
        """Return the member that a run is assigned to, and how far it is; None if the run is assigned to none."""
        ...

    def runs_of(self, member_id: str) -> list[tuple[RunSpec, AssignmentState]]:
        """Return the runs that are assigned to a member and are still the present runs of their jobs."""
        ...

    def tell(self, job_id: str, token: int, state: AssignmentState) -> None: ...

    def load(self) -> dict[str, int]:
        """Return member id -> the number of its runs that are still the present runs of their jobs."""
        ...

    def ask_to_kill(self, run: RunHandle) -> None:
        """Ask a member on the run's machine to end its process."""
        ...

    def to_kill(self) -> list[RunHandle]: ...

    def killed(self, run: RunHandle) -> None: ...
