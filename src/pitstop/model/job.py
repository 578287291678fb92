"""A job, its configuration, its states."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal

from pitstop.kit.wire import Moment, described
from pitstop.model.cluster import Placement
from pitstop.model.config import JobConfig
from pitstop.model.left_out import BAD, LeftOut
from pitstop.model.origin import PathOrigin
from pitstop.model.report import Report
from pitstop.model.tally import Tally


class JobState(StrEnum):
    """The phase of a job's life. The value is the word that every interface shows."""

    NOT_RUNNING = "NOT_RUNNING"
    STARTING = "STARTING"
    RUNNING = "RUNNING"
    SUSPENDED = "SUSPENDED"
    SUSPENDED_EXPORTING_SNAPSHOT = "SUSPENDED_EXPORTING_SNAPSHOT"
    COMPLETING = "COMPLETING"
    FAILED = "FAILED"
    COMPLETED = "COMPLETED"

    @property
    def terminal(self) -> bool:
        """True if the job has a result and will never run again."""
        return self in (JobState.FAILED, JobState.COMPLETED)

    @property
    def sentence(self) -> str:
        """The meaning of the state, for people."""
        return _SENTENCES[self]


_SENTENCES = {
    JobState.NOT_RUNNING: "Submitted and not yet started, or interrupted and about to start again.",
    JobState.STARTING: "A runner is compiling the pipeline and restoring its state.",
    JobState.RUNNING: "Epochs are being processed.",
    JobState.SUSPENDED: "Stopped, by a user or by a failure; its state is kept.",
    JobState.SUSPENDED_EXPORTING_SNAPSHOT: "Suspended, and its state is being copied to a named snapshot.",
    JobState.COMPLETING: "All input is processed; the result is being stored.",
    JobState.FAILED: "Ended with an error, or cancelled by a user: that is shown as CANCELLED.",
    JobState.COMPLETED: "Ended normally.",
}


class DisplayStatus(StrEnum):
    """The word for a job's state that people look at: that of its JobState, but CANCELLED for a job that a user cancelled."""

    NOT_RUNNING = "NOT_RUNNING"
    STARTING = "STARTING"
    RUNNING = "RUNNING"
    SUSPENDED = "SUSPENDED"
    SUSPENDED_EXPORTING_SNAPSHOT = "SUSPENDED_EXPORTING_SNAPSHOT"
    COMPLETING = "COMPLETING"
    FAILED = "FAILED"
    CANCELLED = "CANCELLED"
    COMPLETED = "COMPLETED"

    @classmethod
    def of(cls, state: JobState, user_cancelled: bool) -> DisplayStatus:
        """Return the word for a job in this state."""
        return cls.CANCELLED if user_cancelled and state is JobState.FAILED else cls(state.value)

    @property
    def sentence(self) -> str:
        """The meaning of the word, in a sentence."""
        return _DISPLAY_SENTENCES.get(self) or JobState(self.value).sentence


_DISPLAY_SENTENCES = {
    DisplayStatus.FAILED: "Ended with an error.",
    DisplayStatus.CANCELLED: "Cancelled by a user.",
}


@described
@dataclass(frozen=True)
class JobSource:
    """The code of a job: an artifact's file, the entry in it and its arguments."""

    artifact: str
    """Path of the stored file on the server (.py, .zip, .whl or .sql)."""
    entry: str | None = None
    """``module:function``; None if the artifact holds exactly one job."""
    args: tuple[str, ...] = ()
    """Arguments of the job's function, as text."""
    dependencies: str | None = None
    """Path of the folder on the server with the packages that it needs; None if it needs none."""
    origin: PathOrigin | None = None
    """The base of its relative paths and ~; null if an older release has taken it: the server's own folder and home."""

    def to_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self) | {"args": list(self.args)}


@described
@dataclass(frozen=True)
class TableAway:
    """The table of a hash join that cannot be read: what was read of it last stands in for it."""

    stage: str
    """The hash join."""
    since: Moment
    """The time at which it could first not be read."""
    read_at: Moment
    """The time at which the rows were read that the job goes on with."""
    why: str
    """The sentence that says why, with the stage and its place in the code."""


LAG_FIGURES = ("behind", "behind_in", "behind_by_part", "parts")
"""The figures of a source that say how much it has not read yet."""


@described
@dataclass(frozen=True)
class Progress:
    """The figures that a run reports. Its counters restart with each run, the totals of the job do not."""

    epoch: int = -1
    """The last committed epoch; -1 before the first."""
    watermark_ms: int | None = None
    """Event time up to which windows are closed, in milliseconds since the epoch."""
    input_rows: int = 0
    """Rows read from all sources since the job was submitted."""
    rows_per_second: float = 0.0
    """Input rate of the last epoch."""
    epoch_ms: int = 0
    """Duration of the last epoch with data, in milliseconds."""
    bad_rows: int = 0
    """Rows that did not parse, were too far ahead of the clock, or no function could take, since the job was submitted."""
    stages: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Per stage: rows in and out since the job was submitted, state rows and bytes, ``state_ms`` (how long its tasks were at its
    state in the last epoch with data), rows that go no further, a figure for each reason (model.left_out), source offsets, and
    of a source ``behind`` (how much was there to read when its last epoch was planned, and is not in that) with
    ``behind_in``, the unit: bytes, events, messages or rows; of a source of ``parts``, such as partitions of topics, also
    ``behind_by_part``, of a hundred parts at most: those that are furthest behind."""
    busy_seconds: int = 0
    """Duration so far of the epoch that is under way, once that is long: in steps of ten seconds."""
    parts_ms: dict[str, int] = field(default_factory=dict)
    """The parts of the last epoch with data in milliseconds, in the words of Spark; ``addBatch`` computes and writes its rows."""
    tables_away: tuple[TableAway, ...] = ()
    """Tables of hash joins that cannot be read; one goes from here once it has been read again."""
    epoch_at: Moment | None = None
    """The time at which the last epoch was committed; null before the first."""
    left_out_before: dict[LeftOut, int] = field(default_factory=dict)
    """The rows that went no further of stages that are gone, by reason: dropped by updates, or all of a job that has ended."""
    waits_for: dict[str, str] = field(default_factory=dict)
    """Source -> the folder that it waits for, which does not exist yet; one goes from here once its folder is there."""

    @property
    def late_rows(self) -> int:
        """Rows that all stages dropped as late, since the job was submitted."""
        return self.left_out.get(LeftOut.LATE, 0)

    @property
    def left_out(self) -> dict[LeftOut, int]:
        """Return the number of rows that went no further since the job was submitted, by reason, of all its stages."""
        sums = {reason: sum(int(facts.get(reason) or 0) for facts in self.stages.values()) for reason in LeftOut}
        return {reason: rows for reason, rows in sums.items() if rows}

    @property
    def left_out_in_all(self) -> dict[LeftOut, int]:
        """The rows left out by reason, with those of stages that are gone: it only grows."""
        now, before = self.left_out, self.left_out_before
        return {reason: now.get(reason, 0) + before.get(reason, 0) for reason in LeftOut if reason in now or reason in before}

    @property
    def bad_before(self) -> int:
        """The number of bad rows of which no reason is known: a release that did not count reasons has counted them."""
        return max(0, self.bad_rows - sum(self.left_out_in_all.get(reason, 0) for reason in BAD))

    def to_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self) | {"left_out_before": {reason.value: n for reason, n in self.left_out_before.items()}}


@dataclass(frozen=True)
class Version:
    """The code and options that a job runs, and the name of its checkpoint."""

    number: int
    """1 as submitted; each update counts one more."""
    source: JobSource
    options: dict[str, Any]
    """The options that were asked for, at submission and by updates. They go over the options in the job's code."""
    config: JobConfig
    """The options in force: those of the code included once a runner has compiled it."""
    plan: dict[str, Any] | None = None
    """The compiled plan (plan.model.Plan) in its stored form, once a runner has compiled it."""
    lineage: str | None = None
    """Names its checkpoint, once it has one."""
    bounded: bool = False
    """True if all its sources end, as is known once it is compiled: it is run once, and keeps no state."""


@dataclass(frozen=True)
class KeptVersion:
    """A version that a job has, or had."""

    version: Version
    since: float
    """The time at which it became the job's, in seconds since the epoch."""


class Mode(StrEnum):
    """The purpose for which, on request, a run is being ended or a suspended job's state exported."""

    SUSPEND = "SUSPEND"
    RESTART = "RESTART"
    EXPORT = "EXPORT"
    CANCEL_AND_EXPORT = "CANCEL_AND_EXPORT"
    UPDATE = "UPDATE"


@dataclass(frozen=True)
class Termination:
    """A run is being ended, or a suspended job's state exported, on request."""

    mode: Mode
    operation: int
    """The operation that is answered when that is done."""
    because: str | None = None
    """The reason for which the control plane has asked for it itself; None if a user has."""


@dataclass(frozen=True)
class Starting:
    """The old version has stopped; the new one is not up yet, or waits until the suspended job is resumed."""

    previous: Version
    """The version that a rollback brings back."""
    stopped_at: float
    """The time at which the old version's last epoch was committed, in seconds since the epoch."""
    standby: str | None = None
    """The warm runner that has made itself ready for the new version."""
    kind: Literal["starting"] = "starting"


@dataclass(frozen=True)
class Asked:
    """The old version is being stopped with a snapshot, or its saved state is being exported."""

    target: Version
    """The new version."""
    standby: str | None = None
    before: Starting | None = None
    """An earlier update of the suspended job, whose version has never run: its previous version is what to go back to."""
    kind: Literal["asked"] = "asked"


@dataclass(frozen=True)
class Watched:
    """The new version is up; a failure before its first epoch, or within the time of watching, still brings back the old one."""

    previous: Version
    started_at: float
    """The time from which the new version is watched, in seconds since the epoch."""
    awaits_epoch: bool = False
    """True while it waits for rows, and so for its first epoch: the time of watching begins with that."""
    kind: Literal["watched"] = "watched"


UpdatePhase = Asked | Starting | Watched


@dataclass(frozen=True)
class Update:
    """An update, from the order to stop the old version until nothing brings that version back any more."""

    operation: int
    watch_seconds: float
    """Seconds after its start in which a failure of the new version still brings back the old one."""
    phase: UpdatePhase
    report: Report | None = None
    """The fate of each stage."""
    rescales: bool = False
    """True if the new version is the old one, to be started for the members that there are now, or with its state on disk."""
    snapshot: str | None = None
    """The name under which the old version's state is saved; None: the one from which the new version starts."""


@dataclass(frozen=True)
class Job:
    """A job as recorded in the store: the request for it, then its state since."""

    # What was asked for

    id: str
    name: str | None
    submission_time: float
    """Seconds since the epoch; never changes on restart, suspend or resume."""
    version: Version
    """The version that the job runs; an update puts another in its place."""

    # What has become of it

    state: JobState
    start_time: float | None = None
    """Of the present or last execution."""
    completion_time: float | None = None
    user_cancelled: bool = False
    """FAILED because a user cancelled it."""
    suspension_cause: str | None = None
    """``Requested by user`` or ``Execution failure:`` and the error."""
    failure: str | None = None
    """The sentence that says why it FAILED."""
    failure_details: str | None = None
    """Stack trace, shown only with -v."""
    token: int = 0
    """Fencing token of the present run; every run of a job has a higher one than the run before."""
    termination: Termination | None = None
    attempts: int = 0
    """Starts since the last committed epoch, or since it has gone well for a while (option restart); bounds a loop of crashes."""
    engine_losses: int = 0
    """Shared engines that have ended while it was at work, since the last committed epoch (model.run.EngineLoss)."""
    failures: tuple[float, ...] = ()
    """The times of recent failures of its runs, if the option restart counts the failures within a time."""
    due: float | None = None
    """NOT_RUNNING: it is not started again before this time, in seconds since the epoch."""
    preparation: int | None = None
    """The operation that is getting a new version ready while this one goes on."""
    update: Update | None = None
    interruption: str | None = None
    """The reason for which the last run ended by itself, until the next run is up."""
    state_dropped: bool = False
    """Its saved state was removed: on request, because its time was over, or because nothing needs it. Of ended jobs only."""
    update_failure: str | None = None
    """The reason for which the last update was rolled back, or the state could not be moved to disk.

    None if there was no update, or it went well.
    """
    moves_failed: int = 0
    """The number of failures in a row to move its state to disk (option state_store=auto)."""
    move_failed_at: float | None = None
    """The time of the last such failure, in seconds since the epoch."""
    withdrawal: int | None = None
    """The update that was rolled back and whose version's output is being withdrawn. No run starts before that is done."""
    placement: Placement | None = None
    """The members that its present run was planned for, once that is up; None if there are none of ours."""
    quorum: int = 0
    """The least number of members with which it runs, if it is protected against a split brain. It never shrinks.

    At first it is more than half of the members that there were when the job was submitted.
    """
    tally: Tally = field(default_factory=Tally)
    """Counts of what has befallen it since it was submitted, or since an older release had it."""

    @property
    def saved(self) -> Version:
        """The version that has written the job's state: after an update of a suspended job, still the one before."""
        phase = self.update.phase if self.update is not None else None
        if isinstance(phase, Starting):
            return phase.previous
        if isinstance(phase, Asked) and phase.before is not None:
            return phase.before.previous
        return self.version

    @property
    def withdrawable(self) -> int | None:
        """The update whose new version may still be gone back from: what that version writes may have to be withdrawn."""
        if self.update is not None and isinstance(self.update.phase, Starting | Watched):
            return self.update.operation
        return self.withdrawal

    @property
    def busy(self) -> bool:
        """True while something is done for it that does not end by itself with a run, also after it has ended."""
        return self.termination is not None or self.withdrawal is not None

    @property
    def display_name(self) -> str:
        return self.name or "N/A"

    @property
    def display_status(self) -> DisplayStatus:
        """The word for its state that people look at."""
        return DisplayStatus.of(self.state, self.user_cancelled)

    @property
    def active(self) -> bool:
        """True while its name is taken."""
        return not self.state.terminal
