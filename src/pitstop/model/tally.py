"""Counts of a job since it was submitted: restarts by cause, and updates."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum


class RestartCause(StrEnum):
    """The reason for which a run of a job ended and another one follows it."""

    REQUESTED = "requested"
    """A user asked for it."""
    UPDATE = "update"
    """Another version was to take over."""
    ROLLBACK = "rollback"
    """A user asked to go back from a new version."""
    RESCALE = "rescale"
    """Members came or left, or its state was moved to disk."""
    SERVER = "server"
    """The server ended and took its runs with it."""
    LOST = "lost"
    """Its process died, or hung and was ended, or its shared engine ended."""
    AWAY = "away"
    """Something that it needs was away: the store, room on a disk, what a source reads or a sink writes to."""
    FAILURE = "failure"
    """An error ended it."""


@dataclass(frozen=True)
class Tally:
    """The counts of a job. They only grow."""

    restarts: dict[RestartCause, int] = field(default_factory=dict)
    """The number of runs that another one followed, by cause; a cause that has not come is not there."""
    updates: int = 0
    """The number of updates after which a new version runs."""
    failed_updates: int = 0
    """The number of updates that stopped the job, or put their version in place, and were taken back."""
    gap_seconds: float | None = None
    """The gap of the last update that succeeded; None: there was none, or it was of a suspended job."""
