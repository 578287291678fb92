"""What has befallen a job since it was submitted, as counts: restarts by cause, and updates."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum


class RestartCause(StrEnum):
    """Why a run of a job ended and another one follows it."""

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
    """Its process died, or hung and was ended."""
    AWAY = "away"
    """Something that it needs was away: the store, room on a disk, what a source reads or a sink writes to."""
    FAILURE = "failure"
    """An error ended it."""


@dataclass(frozen=True)
class Tally:
    """The counts of a job. They only grow."""

    restarts: dict[RestartCause, int] = field(default_factory=dict)
    """How many of its runs were followed by another one, by cause; a cause that has not come is not there."""
    updates: int = 0
    """How many updates have put a new version in the place of the one before."""
    failed_updates: int = 0
    """How many had stopped the job, or had their version in place, and were taken back."""
    gap_seconds: float | None = None
    """The gap of the last update that succeeded; None: there was none, or it was of a suspended job."""
