"""How a job came to be in its state: each change, with its reason (jet.md §1.3, status listener events)."""

from __future__ import annotations

from dataclasses import dataclass

from pitstop.kit.wire import Moment, described
from pitstop.model.job import JobState

KEEP_CHANGES = 1000
"""So many of the newest changes are kept of each job."""


@described
@dataclass(frozen=True)
class StateChange:
    """One change of a job's state, never edited."""

    at: Moment
    """When it was decided."""
    previous: JobState
    """The state before."""
    new: JobState
    """The state since then."""
    reason: str
    """What a user asked for, such as 'Suspend', or why it happened by itself."""
    user_requested: bool
    """True if it came of what a user asked for."""
    sequence: int = 0
    """Its number in the history of the job: 1 for the first, then without gaps. 0 before it is recorded."""

    @property
    def text(self) -> str:
        """For people, in one line: ``User: RUNNING -> FAILED (Cancel)``."""
        return f"{'User' if self.user_requested else 'Pitstop'}: {self.previous} -> {self.new} ({self.reason})"
