"""The events of a job: changes of state, updates, snapshots."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pitstop.kit.wire import Moment, described
from pitstop.model.job import DisplayStatus, JobState
from pitstop.model.report import Report


@described
@dataclass(frozen=True)
class StateChange:
    """The job's state has changed."""

    at: Moment
    """The time at which it was decided."""
    previous: JobState
    """The state before."""
    new: JobState
    """The state since then."""
    reason: str
    """The request of a user, such as 'Suspend', or the reason for which it happened by itself."""
    user_requested: bool
    """True if it came of what a user asked for."""
    sequence: int = 0
    """Its number among the events of the job: 1 for the first, then without gaps. 0 before it is recorded."""
    trace: str | None = None
    """Stack trace of the run that failed; null if none did, or its process is just gone."""
    display_previous: DisplayStatus | None = None
    """The word for the state before that people look at: CANCELLED where a user had cancelled the job. null: an older release
    recorded the event."""
    display_new: DisplayStatus | None = None
    """The word that people look at for the state since then."""
    kind: Literal["state"] = "state"
    """Tells it from other events."""

    @property
    def text(self) -> str:
        """For people, in one line: ``User: RUNNING -> CANCELLED (Cancel)``."""
        before, after = self.display_previous or self.previous, self.display_new or self.new
        return f"{'User' if self.user_requested else 'Pitstop'}: {before} -> {after} ({self.reason})"


@described
@dataclass(frozen=True)
class VersionChange:
    """An update has come to its end."""

    at: Moment
    """The time at which that was decided."""
    version: int
    """The version that was to come."""
    previous: int
    """The version before it."""
    error: str | None = None
    """The reason for which the new version has not come; null if it has."""
    gap_seconds: float | None = None
    """From the last epoch of the version before to the first of the new one; null if the job was suspended."""
    report: Report | None = None
    """The fate of each stage's state; null if the new version was not compared."""
    sequence: int = 0
    """Its number among the events of the job."""
    kind: Literal["update"] = "update"
    """Tells it from other events."""

    @property
    def text(self) -> str:
        """For people, in one line."""
        if self.error is not None:
            return f"The update to version {self.version} failed: {self.error}"
        gap = "" if self.gap_seconds is None else f", after a gap of {self.gap_seconds:.1f} s"
        return f"Updated from version {self.previous} to version {self.version}{gap}"


@described
@dataclass(frozen=True)
class SnapshotTaken:
    """The job's state was saved under a name, or could not be."""

    at: Moment
    """The time at which it was recorded."""
    snapshot: str | None
    """Its name; null if it could not be taken."""
    epoch: int | None = None
    """The last epoch that it holds."""
    bytes: int | None = None
    """Size of its files."""
    error: str | None = None
    """The reason for which it could not be taken."""
    sequence: int = 0
    """Its number among the events of the job."""
    kind: Literal["snapshot"] = "snapshot"
    """Tells it from other events."""

    @property
    def text(self) -> str:
        """For people, in one line."""
        if self.error is not None:
            return f"No snapshot could be taken: {self.error}"
        return f"Snapshot '{self.snapshot}' taken of epoch {self.epoch}: {self.bytes:,} bytes"


JobEvent = StateChange | VersionChange | SnapshotTaken
"""An event, never edited; ``kind`` tells which it is."""
JOB_EVENTS: dict[str, type[JobEvent]] = {kind.kind: kind for kind in (StateChange, VersionChange, SnapshotTaken)}
