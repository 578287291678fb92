"""The port that withdraws what versions of jobs have written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from pitstop.model.job import Job


class Outputs(Protocol):
    """The output that versions of jobs have written into files and maps, as long as their jobs may go back from them."""

    def withdraw(self, job_id: str, operation: int) -> tuple[int, int]:
        """Remove what the new version of that update has written. Return the numbers of files and of map entries concerned.

        The call may be cut off and repeated; nothing writes for that version any more.
        """
        ...

    def forget(self, find: Callable[[str], Job | None]) -> None:
        """Drop what is kept for updates that no job can go back from any more. ``find`` reads a job by its id."""
        ...
