"""The commands of the control plane to a run and the facts that it learns of it, each a value of its own."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, ClassVar

from pitstop.errors import Problem
from pitstop.model.cluster import Placement
from pitstop.model.config import JobConfig
from pitstop.model.operation import UpdateJob
from pitstop.model.report import Report
from pitstop.model.snapshot import SnapshotRecord


@dataclass(frozen=True)
class StopRun:
    """End at the next epoch boundary; with ``snapshot``, save the state under that name after the last epoch."""

    kind: ClassVar = "stop"
    operation: int | None = None
    """The operation that asked for it; None if the control plane ends and takes its runs with it."""
    snapshot: str | None = None


@dataclass(frozen=True)
class TakeSnapshot:
    """Save the state of the last committed epoch under a name, and go on."""

    kind: ClassVar = "export"
    operation: int
    snapshot: str


@dataclass(frozen=True)
class NoteConcern:
    """Note in the job's log what the control plane knows of other jobs, and go on."""

    kind: ClassVar = "concern"
    concern: str


Order = StopRun | TakeSnapshot | NoteConcern
ORDERS: dict[str, type[Order]] = {kind.kind: kind for kind in (StopRun, TakeSnapshot, NoteConcern)}


@dataclass(frozen=True)
class Command:
    """An order to one run. Repeatable: told twice, done once."""

    id: int
    job_id: str
    token: int
    """The token of the run that it is for; a run with another token never sees it."""
    order: Order


@dataclass(frozen=True)
class Compiled:
    """The pipeline is compiled and fits the state that it starts from."""

    kind: ClassVar = "compiled"
    plan: dict[str, Any]
    """The compiled plan (plan.model.Plan) in its stored form."""
    lineage: str
    config: JobConfig
    """The options in force: those of the code under those that were asked for."""
    bounded: bool = False
    """True if all its sources end: it is run once, keeps no state, and can only be cancelled."""
    concerns: tuple[str, ...] = ()
    """The concerns that the control plane has found beside other jobs, a sentence each; the plan has them, too."""


@dataclass(frozen=True)
class Running:
    """The query is up: its first epoch is done, or it is idle and waits for data."""

    kind: ClassVar = "running"
    epoch: int
    """The last committed epoch, -1 before the first."""
    committed_at: float | None = None
    """The time at which that epoch was committed, in seconds since the epoch; None before the first."""
    placement: Placement | None = None
    """The members that it was planned for; None if there are none of ours."""


@dataclass(frozen=True)
class EpochCommitted:
    """The run has committed its first epoch, so it makes progress."""

    kind: ClassVar = "epoch"
    epoch: int


@dataclass(frozen=True)
class StateOutgrown:
    """State that is kept in memory takes more of it than it may (option state_store=auto). Told again while that is so."""

    kind: ClassVar = "outgrown"
    state_bytes: int
    holds: bool = False
    """True if the run begins no epoch until the state has moved."""


@dataclass(frozen=True)
class Exported:
    """A snapshot is taken, of a run that goes on or of a suspended job."""

    kind: ClassVar = "exported"
    operation: int
    snapshot: SnapshotRecord


@dataclass(frozen=True)
class ExportFailed:
    """A snapshot could not be taken; the job goes on, or stays suspended."""

    kind: ClassVar = "export_failed"
    operation: int
    error: Problem


@dataclass(frozen=True)
class Stopped:
    """The run has ended at an epoch boundary, as it was told to."""

    kind: ClassVar = "stopped"
    committed_at: float | None = None
    """The time at which its last epoch was committed, in seconds since the epoch."""
    snapshot: SnapshotRecord | None = None
    """The snapshot that it was told to take on its way out."""
    error: Problem | None = None
    """The error by which it could not take that."""
    stopped_at: float | None = None
    """The time at which it ceased to work: that of the command, or of its last epoch if that ended later."""


@dataclass(frozen=True)
class Completed:
    """All sources are bounded and at their end."""

    kind: ClassVar = "completed"


class EngineLoss(StrEnum):
    """The part that a job had in the end of an engine that it shared."""

    RESTED = "rested"
    """It was up and had no epoch under way."""
    WORKED = "worked"
    """It was starting, or had an epoch under way, which may have ended the engine."""


@dataclass(frozen=True)
class Failed:
    """The query or the pipeline failed."""

    kind: ClassVar = "failed"
    error: Problem
    details: str | None = None
    """Stack trace, shown only with -v."""
    restartable: bool = False
    """True if another run may do better."""
    unclear: bool = False
    """True if nobody knows whether another run does better: a new version whose job can go back gives way at once."""
    passing: bool = False
    """True if something outside was away, such as a database: another run may do better, however long that takes."""
    away: bool = False
    """True if what the run needs of the machine was away, such as the store or room on the disk: another run gets on later."""
    engine_loss: EngineLoss | None = None
    """The job's part in it if the run failed because its shared engine has ended; else None."""


@dataclass(frozen=True)
class Died:
    """The process of the run is gone, or its lease has run out."""

    kind: ClassVar = "died"
    reason: str = "The runner's process ended"


@dataclass(frozen=True)
class StateExpired:
    """The time is over for which an ended job keeps its state."""

    kind: ClassVar = "state_expired"


@dataclass(frozen=True)
class CleanedUp:
    """The files are removed that a job needs only if it runs again."""

    kind: ClassVar = "cleaned_up"


@dataclass(frozen=True)
class Withdrawn:
    """The output of a version that a rollback has undone is taken out of files and maps again."""

    kind: ClassVar = "withdrawn"
    operation: int
    """The update that had brought that version."""
    files: int
    entries: int
    """Entries of maps that are as they were before that version."""


@dataclass(frozen=True)
class UpdatePrepared:
    """A new version is compiled, compared and, by a warm runner, rehearsed: the old one may stop."""

    kind: ClassVar = "update_prepared"
    operation: int
    request: UpdateJob
    report: Report
    compared_with: int
    """The version whose state it was compared with."""
    standby: str | None = None
    """The warm runner that waits to run it."""
    rescales: bool = False
    """True if it is the same version as before, to be started for the members that there are now."""


@dataclass(frozen=True)
class PreparationFailed:
    """A new version does not compile or does not fit; the old one never noticed."""

    kind: ClassVar = "preparation_failed"
    operation: int
    error: Problem
    moves_state: bool = False
    """True if it was the same version, with its state on disk."""


Fact = (
    Compiled
    | Running
    | EpochCommitted
    | StateOutgrown
    | Exported
    | ExportFailed
    | Stopped
    | Completed
    | Failed
    | Died
    | StateExpired
    | CleanedUp
    | Withdrawn
    | UpdatePrepared
    | PreparationFailed
)
FACTS: dict[str, type[Fact]] = {
    kind.kind: kind
    for kind in (
        Compiled,
        Running,
        EpochCommitted,
        StateOutgrown,
        Exported,
        ExportFailed,
        Stopped,
        Completed,
        Failed,
        Died,
        StateExpired,
        CleanedUp,
        Withdrawn,
        UpdatePrepared,
        PreparationFailed,
    )
}


@dataclass(frozen=True)
class Observation:
    """A fact about one run of a job, never edited."""

    job_id: str
    token: int
    """The fencing token of the run: facts about older runs are ignored."""
    fact: Fact
    id: int = 0
    """Its number in the store; 0 if the control plane saw it itself."""
    at: float = 0.0
