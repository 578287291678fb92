"""The answers of the service about jobs. ``kit.wire`` defines their form in JSON."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any

from pitstop.kit.wire import Moment, described
from pitstop.model.cluster import Placement
from pitstop.model.config import JobConfig
from pitstop.model.job import DisplayStatus, Job, JobSource, JobState, Progress, Watched
from pitstop.model.job_event import JobEvent, StateChange
from pitstop.model.operation import Operation, OperationState, Verb, snapshot_of
from pitstop.model.report import Report
from pitstop.model.tally import RestartCause
from pitstop.plan.model import Plan

if TYPE_CHECKING:
    from pydantic import TypeAdapter


@described
@dataclass(frozen=True)
class JobStatus:
    """A job as doors show it, with the progress of its run."""

    id: str
    """Four groups of four hex digits."""
    name: str | None
    """Unique among the jobs that have not ended."""
    status: JobState
    """The state of the job in Jet's words: FAILED also if a user cancelled it."""
    submission_time: Moment
    """Never changes on restart, suspend or resume."""
    start_time: Moment | None
    """Of the present or last execution."""
    completion_time: Moment | None
    """The time at which it ended."""
    user_cancelled: bool
    """FAILED because a user cancelled it."""
    suspension_cause: str | None
    """'Requested by user', or 'Execution failure:' and the error."""
    failure: str | None
    """The sentence that says why it FAILED."""
    failure_details: str | None
    """Stack trace of that failure."""
    config: JobConfig
    """The options in force, those of the code included once it is compiled."""
    options: dict[str, Any]
    """The options asked for at submission."""
    source: JobSource
    """The code that it runs."""
    token: int
    """Number of the present run."""
    termination: str | None
    """The way in which the present run is being ended, MODE#operation."""
    attempts: int
    """Starts since the last committed epoch."""
    due: Moment | None
    """NOT_RUNNING: it is not started again before this time."""
    interruption: str | None
    """The reason for which the last run ended by itself, until the next one is up."""
    lineage: str | None
    """The checkpoint in use."""
    version: int
    """Counts the updates of the job."""
    update_failure: str | None
    """The reason for which the last update was rolled back, or the state could not be moved to disk."""
    plan: dict[str, Any] | None
    """The compiled plan; null until compiled."""
    progress: Progress
    """Progress of its run."""
    has_state: bool = False
    """Saved state is there: the job, or a new version of it, would go on from it."""
    state_kept_until: Moment | None = None
    """Of a job that has failed or was cancelled: until then it can be brought back."""
    updating: bool = False
    """A new version was asked for and is not up yet; of a suspended job: it starts when the job is resumed."""
    placement: Placement | None = None
    """The members that its run is planned for; null if the server has no members of its own."""
    restarts: dict[RestartCause, int] = field(default_factory=dict)
    """The number of its runs that another one followed, by cause, since it was submitted."""
    updates: int = 0
    """The number of updates after which a new version runs."""
    failed_updates: int = 0
    """The number of updates that stopped the job, or put their version in place, and were taken back."""
    update_gap_seconds: float | None = None
    """The gap of the last update that succeeded; null: there was none, or it was of a suspended job."""
    display_status: DisplayStatus = DisplayStatus.NOT_RUNNING
    """The status that people look at: CANCELLED if a user cancelled the job, so that FAILED means a failure. It follows from
    status and user_cancelled."""

    def __post_init__(self) -> None:
        # Derived, also from what a server of an older release answers.
        object.__setattr__(self, "display_status", DisplayStatus.of(self.status, self.user_cancelled))

    @classmethod
    def of(cls, job: Job, progress: Progress, has_state: bool = False, kept_until: float | None = None) -> JobStatus:
        """Return the view of a record and of its saved state."""
        ending = job.termination
        coming = job.update is not None and not isinstance(job.update.phase, Watched)
        return cls(
            id=job.id,
            name=job.name,
            status=job.state,
            submission_time=job.submission_time,
            start_time=job.start_time,
            completion_time=job.completion_time,
            user_cancelled=job.user_cancelled,
            suspension_cause=job.suspension_cause,
            failure=job.failure,
            failure_details=job.failure_details,
            config=job.version.config,
            options=job.version.options,
            source=job.version.source,
            token=job.token,
            termination=f"{ending.mode}#{ending.operation}" if ending is not None else None,
            attempts=job.attempts,
            due=job.due,
            interruption=job.interruption,
            lineage=job.version.lineage,
            version=job.version.number,
            update_failure=job.update_failure,
            plan=job.version.plan,
            progress=_shown(job, progress),
            has_state=has_state,
            state_kept_until=kept_until if has_state else None,
            updating=coming or job.preparation is not None,
            placement=job.placement,
            restarts=job.tally.restarts,
            updates=job.tally.updates,
            failed_updates=job.tally.failed_updates,
            update_gap_seconds=job.tally.gap_seconds,
        )

    @cached_property
    def json(self) -> bytes:
        """The JSON form, made once: watchers of many jobs ask for them all the time, and few have changed."""
        return _status_form().dump_json(self)

    @property
    def display_name(self) -> str:
        """The name for display; ``N/A`` if the job has none."""
        return self.name or "N/A"

    @property
    def concerns(self) -> tuple[str, ...]:
        """A sentence for each thing that was amiss as its version was compiled, and kept nobody from submitting it."""
        return Plan.from_dict(self.plan).concerns if self.plan is not None else ()

    @property
    def active(self) -> bool:
        """True until the job has ended. Its name is taken until then."""
        return not self.status.terminal


def _shown(job: Job, progress: Progress) -> Progress:
    ended = job.state.terminal and not job.version.config.store_metrics_after_completion
    return dataclasses.replace(progress, stages={}, left_out_before=progress.left_out_in_all) if ended else progress


@cache
def _status_form() -> TypeAdapter[JobStatus]:
    from pydantic import TypeAdapter  # the command line has no use for it

    return TypeAdapter(JobStatus)


@described
@dataclass(frozen=True)
class JobEvents:
    """A page of what happened to a job."""

    events: list[JobEvent]
    """Oldest first."""
    next: int
    """The ``after`` of the next page."""
    lost: int
    """The number of events between ``after`` and the first of these that are kept no more."""
    ended: bool
    """The job has ended with the last of them: no more come, unless it is resumed."""

    @classmethod
    def of(cls, job: Job, events: list[JobEvent], after: int, limit: int) -> JobEvents:
        """Return the page of ``events``: those with sequence > ``after``, at most ``limit``. ``job`` was read before them."""
        last = next((event.new for event in reversed(events) if isinstance(event, StateChange)), job.state)
        return cls(
            events,
            events[-1].sequence if events else after,
            events[0].sequence - after - 1 if events else 0,
            job.state.terminal and last.terminal and len(events) < limit,
        )


@described
@dataclass(frozen=True)
class KeptState:
    """The state that an ended job keeps on disk."""

    id: str
    """Of the job."""
    name: str | None
    """Of the job; another one may have it meanwhile."""
    user_cancelled: bool
    """A user cancelled it; else it failed."""
    until: Moment
    """The time at which it is removed."""
    bytes: int
    """Size of all its files."""


@dataclass(frozen=True)
class CheckResult:
    """A new version that was compiled, and compared if there was something to compare it with."""

    plan: dict[str, Any]
    """The compiled plan."""
    report: Report | None
    """The fate that each stage's state would have; None if there was nothing to compare with."""
    text: str
    """The report as a person reads it, a line a stage."""
    warnings: list[str] = field(default_factory=list)
    """A sentence for each thing that is amiss now and keeps nobody from submitting it, such as a folder that is not there."""
    findings: list[str] = field(default_factory=list)
    """A sentence for each topic and table that it reads or writes: what is there now, or why nobody could look."""

    @classmethod
    def of(cls, plan: dict[str, Any], report: Report | None, findings: Sequence[str]) -> CheckResult:
        """Return the result with its text, of a plan and of the report on the state that it was compared with."""
        compiled = Plan.from_dict(plan)
        warnings = list(compiled.concerns)
        names = ", ".join(stage.name for stage in compiled.stages)
        text = report.text() if report is not None else f"The pipeline is sound; nothing to compare with. Stages: {names}."
        lines = [text, *findings, *(f"Warning: {warning}" for warning in warnings)]
        return cls(plan, report, "\n".join(lines), warnings, list(findings))


@dataclass(frozen=True)
class UpdateResult:
    """An update that went well."""

    version: int
    """Number of the new version."""
    snapshot: str
    """The snapshot that was taken of the version before."""
    gap_seconds: float | None
    """From the last epoch of the old version to the first of the new one; None if the job stays suspended."""
    report: Report
    """The fate of each stage's state."""
    text: str
    """The report as a person reads it, a line a stage."""


@described
@dataclass(frozen=True)
class OperationStatus:
    """A request to a job, and its outcome."""

    id: int
    """Its number."""
    job_id: str
    """The job that it was asked of."""
    verb: Verb
    """The name of the request."""
    snapshot: str | None
    """The name of the snapshot that it makes; null: it makes none."""
    state: OperationState
    """pending until it is begun, running until it is answered; then done or failed."""
    submitted: Moment
    """The time of the request."""
    answered: Moment | None
    """The time of the answer; null: there is none yet."""
    error: str | None
    """The sentence that says why it failed."""
    code: str | None
    """The stable code of that error."""

    @classmethod
    def of(cls, operation: Operation) -> OperationStatus:
        """Return the view of a record."""
        error = operation.error
        return cls(
            operation.id,
            operation.job_id,
            operation.verb,
            snapshot_of(operation.request),
            operation.state,
            operation.created,
            operation.finished,
            error.message if error is not None else None,
            error.code if error is not None else None,
        )
