"""The life of a job as one table: (state, mode, event) -> the states it may lead to, and how.

``decide`` is pure: a job and an event in, the job to save and the actions to perform out. The mode is what a run is being
ended for, or a suspended job's state exported for, on request. Every request has a row in every state, if only one that
refuses it; a fact without a row changes nothing: it comes too late.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import product
from typing import Any

from pitstop.control import asking, scaling, seeing, updating
from pitstop.control.actions import SendCommand, StartRun
from pitstop.control.decision import Decision
from pitstop.control.invariants import violations
from pitstop.model.job import Job, JobState, Mode, Starting
from pitstop.model.operation import (
    Cancel,
    CancelAndExport,
    Configure,
    Discard,
    Export,
    Operation,
    Rescale,
    Restart,
    Resume,
    Rollback,
    Submit,
    Suspend,
    UpdateJob,
)
from pitstop.model.run import (
    CleanedUp,
    Compiled,
    Completed,
    Died,
    EpochCommitted,
    Exported,
    ExportFailed,
    Failed,
    Observation,
    PreparationFailed,
    Running,
    StateExpired,
    StateOutgrown,
    Stopped,
    StopRun,
    UpdatePrepared,
    Withdrawn,
)


@dataclass(frozen=True)
class Due:
    """A time has come that the job was waiting for (:func:`due_at`)."""

    members: int | None = None
    """The number of members; None if there is no cluster of ours to count them in."""


@dataclass(frozen=True)
class Leave:
    """The control plane ends and takes its runs with it; their jobs go on when it is started again."""


Event = Operation | Observation | Due | Leave | scaling.ClusterSeen
Handler = Callable[[Job, Any, float], Decision]


class LifeError(AssertionError):
    """A handler did what the table does not allow: a defect of Pitstop. Nothing of that decision is saved."""


@dataclass(frozen=True)
class Edge:
    """One row of the table: the states that it may lead to, and the handler that decides."""

    handler: Handler
    to: frozenset[JobState]
    refuses: bool = False
    """True if the row only refuses the request with a sentence."""


def _start(job: Job, event: Due, now: float) -> Decision:
    """Start a waiting job, with a higher token than any run before."""
    if not is_due(job, now):
        return Decision(job)
    waits = scaling.without_quorum(job, event.members, now)
    if waits is not None:
        return waits
    job_to_start = dataclasses.replace(job, state=JobState.STARTING, token=job.token + 1, due=None)
    phase = job.update.phase if job.update is not None else None
    if isinstance(phase, Starting):
        # A new version has a checkpoint of its own until it has told its name.
        return Decision(job_to_start, (StartRun(phase.standby, own_checkpoint=job.version.lineage is None),))
    return Decision(job_to_start, (StartRun(),))


def _watch_ends(job: Job, event: Due, now: float) -> Decision:
    until = updating.watched_until(job)
    return updating.watched_long_enough(job) if until is not None and until <= now else Decision(job)


def _time_is_up(job: Job, event: Due, now: float) -> Decision:
    until = timed_out_at(job)
    return asking.end_by_timeout(job, now) if until is not None and until <= now else _watch_ends(job, event, now)


def _leave(job: Job, event: Leave, now: float) -> Decision:
    return Decision(job, (SendCommand(StopRun()),))


N, T, R = JobState.NOT_RUNNING, JobState.STARTING, JobState.RUNNING
S, X, C = JobState.SUSPENDED, JobState.SUSPENDED_EXPORTING_SNAPSHOT, JobState.COMPLETING
F, D = JobState.FAILED, JobState.COMPLETED

MODES: dict[JobState, tuple[Mode | None, ...]] = {
    N: (None,),
    T: (None,),
    R: (None, Mode.SUSPEND, Mode.RESTART, Mode.CANCEL_AND_EXPORT, Mode.UPDATE),
    S: (None,),
    X: (Mode.EXPORT, Mode.CANCEL_AND_EXPORT, Mode.UPDATE),
    C: (None,),
    F: (None, Mode.EXPORT),
    D: (None,),
}
"""State -> the modes in which a job may be in it."""

Key = tuple[JobState, Mode | None, type]
ANY = tuple(Mode)
ENDING = MODES[R][1:]

Row = tuple[Iterable[JobState], Iterable[Mode | None], Iterable[type], Handler, Iterable[JobState] | None]

_ROWS: tuple[Row, ...] = (
    # states        modes                     events            handler                             leads to (None: stays)
    # Times
    ((N,),          (None,),                  (Due,),           _start,                             (T, N)),
    ((R,),          (None,),                  (Due,),           _time_is_up,                        (R, F)),
    ((R,),          ENDING,                   (Due,),           _watch_ends,                        None),
    ((R,),          (None,),                  (Leave,),         _leave,                             None),
    ((R,),          (None,),                  (scaling.ClusterSeen,), scaling.cluster_seen,         (R, N, S, F)),
    # Requests
    (JobState,      (None, *ANY),             (Submit,),        asking.accept,                      None),
    ((R,),          (None,),                  (Suspend,),       asking.stop_for(Mode.SUSPEND),      None),
    ((R,),          (None,),                  (Restart,),       asking.stop_for(Mode.RESTART),      None),
    ((R,),          (None,),                  (CancelAndExport,), asking.stop_for(Mode.CANCEL_AND_EXPORT), None),
    ((R,),          (None,),                  (Export,),        asking.export,                      None),
    ((R, S),        (None,),                  (UpdateJob,),     asking.prepare_update,              None),
    ((R,),          (None,),                  (Rescale,),       asking.prepare_update,              None),
    ((S,),          (None,),                  (Export,),        asking.export_suspended(Mode.EXPORT), (X,)),
    ((S,),          (None,),                  (CancelAndExport,), asking.export_suspended(Mode.CANCEL_AND_EXPORT), (X,)),
    ((S,),          (None,),                  (Resume,),        asking.resume,                      (N,)),
    ((S,),          (None,),                  (Configure,),     asking.configure,                   None),
    ((N, T, R, S),  MODES[R],                 (Cancel,),        asking.cancel,                      (F,)),
    ((N, S),        (None,),                  (Rollback,),      updating.roll_back,                 None),
    ((T,),          (None,),                  (Rollback,),      updating.roll_back,                 (T, N)),
    ((R,),          (None,),                  (Rollback,),      updating.roll_back,                 (R, N)),
    ((N, T, R, X, C), (None, *ANY),           (Resume,),        asking.accept,                      None),
    ((F, D),        MODES[F],                 (Cancel,),        asking.accept,                      None),
    # Requests for a job that has failed or was cancelled, and keeps its state
    ((F,),          (None,),                  (Resume,),        asking.bring_back,                  (N, F)),
    ((F,),          (None,),                  (UpdateJob,),     asking.update_ended,                (S, F)),
    ((F,),          (None,),                  (Export,),        asking.export_ended,                None),
    ((F, D),        (None,),                  (Discard,),       asking.discard,                     None),
    ((F,),          (None,),                  (StateExpired,),  seeing.state_expired,               None),
    ((F,),          (Mode.EXPORT,),           (Exported,),      seeing.exported_ended,              None),
    ((F,),          (Mode.EXPORT,),           (ExportFailed,),  seeing.export_failed_ended,         None),
    # Facts of a run that starts and goes on
    ((T,),          (None,),                  (Compiled,),      seeing.compiled,                    None),
    ((T,),          (None,),                  (Running,),       seeing.running,                     (R,)),
    ((T, R),        MODES[R],                 (EpochCommitted,), seeing.epoch_committed,            None),
    ((R,),          (None,),                  (StateOutgrown,), seeing.outgrown,                    None),
    ((R,),          MODES[R],                 (Exported,),      seeing.exported,                    None),
    ((R,),          MODES[R],                 (ExportFailed,),  seeing.export_failed,               None),
    # … that ends as it was asked to
    ((T, R),        (None,),                  (Stopped,),       seeing.stopped_unasked,             (N,)),
    ((R,),          (Mode.SUSPEND,),          (Stopped,),       seeing.stopped_to_suspend,          (S,)),
    ((R,),          (Mode.RESTART,),          (Stopped,),       seeing.stopped_to_restart,          (N,)),
    ((R,),          (Mode.CANCEL_AND_EXPORT,), (Stopped,),      seeing.stopped_to_end,              (F, S)),
    ((R,),          (Mode.UPDATE,),           (Stopped,),       updating.stopped,                   (N,)),
    # … or by itself
    ((T, R),        MODES[R],                 (Completed,),     seeing.completed,                   (C,)),
    ((C,),          (None,),                  (CleanedUp,),     seeing.cleaned_up,                  (D,)),
    ((T, R),        (None,),                  (Failed, Died),   seeing.ended_by_itself,             (N, S, F)),
    ((R,),          (Mode.SUSPEND,),          (Failed, Died),   seeing.lost_to_suspend,             (S,)),
    ((R,),          (Mode.RESTART,),          (Failed, Died),   seeing.lost_to_restart,             (N,)),
    ((R,),          (Mode.CANCEL_AND_EXPORT,), (Failed, Died),  seeing.lost_to_end,                 (S,)),
    ((R,),          (Mode.UPDATE,),           (Failed, Died),   seeing.lost_to_update,              (N,)),
    # Facts of a suspended job's saved state
    ((X,),          (Mode.EXPORT,),           (Exported,),      seeing.exported_suspended,          (S,)),
    ((X,),          (Mode.CANCEL_AND_EXPORT,), (Exported,),     seeing.exported_to_end,             (F,)),
    ((X,),          (Mode.UPDATE,),           (Exported,),      updating.exported,                  (S,)),
    ((X,),          (Mode.EXPORT, Mode.CANCEL_AND_EXPORT), (ExportFailed,), seeing.export_failed_suspended, (S,)),
    ((X,),          (Mode.UPDATE,),           (ExportFailed,),  updating.export_failed,             (S,)),
    # Facts of a new version that was made ready while the old one went on
    ((R,),          MODES[R],                 (UpdatePrepared,), updating.prepared,                 None),
    ((S,),          (None,),                  (UpdatePrepared,), updating.prepared_suspended,       (X, S)),
    ((N, T, X),     (None, *ANY),             (UpdatePrepared,), updating.prepared_too_late,        None),
    ((N, T, R, S, X), (None, *ANY),           (PreparationFailed,), updating.preparation_failed,    None),
    # The rows of the new version are withdrawn
    ((N, S, X, F),  (None, *ANY),             (Withdrawn,),     updating.withdrawn,                 None),
)  # fmt: skip

_OF_RUNS = (Suspend, Restart, CancelAndExport, Export)
"""The requests that are usually made of a run."""

_REFUSALS: tuple[Row, ...] = (
    # Requests where they are not legal: nothing changes, and the sentence is that of the reference
    ((R,),          ENDING,                   (*_OF_RUNS, UpdateJob, Rollback, Rescale), asking.busy, None),
    ((N, T, S, X, C), (None, *ANY),           (Suspend, Restart, Rescale), asking.not_in_this_state("RUNNING"), None),
    ((N, T, X, C),  (None, *ANY), (CancelAndExport, Export, UpdateJob), asking.not_in_this_state("RUNNING or SUSPENDED"), None),
    ((N, T, R, X, C), (None, *ANY),           (Configure,),     asking.not_in_this_state("SUSPENDED"), None),
    ((F,),          (None, *ANY),             (Configure,),     asking.has_result,                  None),
    ((D,),          (None,),                  (Configure,),     asking.has_result,                  None),
    ((X, C),        (None, *ANY),             (Cancel,),        asking.no_cancel,                   None),
    ((X, C),        (None, *ANY),             (Rollback,),      asking.not_in_this_state("RUNNING or SUSPENDED"), None),
    ((N, T, R, S, X, C), (None, *ANY),        (Discard,),       asking.still_going,                 None),
    ((D,),          (None,),                  (Resume,),        asking.no_resume,                   None),
    ((F,),          (None,),                  (Suspend, Restart, CancelAndExport, Rollback, Rescale), asking.has_result, None),
    ((D,),          (None,),                  (*_OF_RUNS, UpdateJob, Rollback, Rescale), asking.has_result, None),
    ((F,), (Mode.EXPORT,), (*_OF_RUNS, UpdateJob, Rollback, Rescale, Resume, Discard), asking.busy_export, None),
)  # fmt: skip


def _table() -> dict[Key, Edge]:
    table: dict[Key, Edge] = {}
    for rows, refuses in ((_ROWS, False), (_REFUSALS, True)):
        for states, modes, events, handler, to in rows:
            for state, event in product(states, events):
                for mode in set(modes) & set(MODES[state]):
                    if (state, mode, event) in table:
                        raise LifeError(f"Two rows for {state}, {mode}, {event.__name__}")
                    table[state, mode, event] = Edge(handler, frozenset((state,) if to is None else to), refuses)
    return table


LIFE = _table()


def decide(job: Job, event: Event, now: float) -> Decision:
    """Decide what becomes of a job, and what is to be done. Facts about an older run change nothing.

    Raises LifeError if a handler leads to a state that the table does not allow, or makes a job that breaks a rule.
    """
    if isinstance(event, Observation) and event.token != job.token and not _concerns_no_run(event):
        return Decision(job)
    mode = job.termination.mode if job.termination is not None else None
    edge = LIFE.get((job.state, mode, kind_of(event)))
    if edge is None or _of_another_export(job, event):
        return Decision(job)
    decision = edge.handler(job, event.fact if isinstance(event, Observation) else event, now)
    _check(job, event, edge, decision)
    return decision


def kind_of(event: Event) -> type:
    """Return the type by which the table knows an event."""
    if isinstance(event, Operation):
        return type(event.request)
    return type(event.fact) if isinstance(event, Observation) else type(event)


def due_at(job: Job) -> float | None:
    """Return the time at which something is due for a job without a request, in seconds since the epoch; None if nothing is."""
    if job.state is N:
        return None if job.withdrawal is not None else job.due or 0.0
    if job.state is not R:
        return None
    ends = (updating.watched_until(job), timed_out_at(job) if job.termination is None else None)
    return min((at for at in ends if at is not None), default=None)


def timed_out_at(job: Job) -> float | None:
    """Return the time at which a job has run too long, in seconds since the epoch; None if there is no bound."""
    timeout = job.version.config.timeout_ms
    return job.start_time + timeout / 1000 if timeout is not None and job.start_time is not None else None


def is_due(job: Job, now: float) -> bool:
    """Return True if the time that :func:`due_at` gives has come."""
    at = due_at(job)
    if at is None:
        return False
    # A start further away than any back-off means that the clock was set back: do not wait for it.
    longest = max(seeing.AWAY_SECONDS, job.version.config.restart_strategy.longest_seconds)
    return at <= now or (job.state is N and at > now + longest)


def _of_another_export(job: Job, event: Event) -> bool:
    """Return True for the outcome of an earlier export than the one that a suspended job is busy with: it was done twice."""
    exporting = job.termination.operation if job.state in (X, F) and job.termination is not None else None
    fact = event.fact if isinstance(event, Observation) else None
    return exporting is not None and isinstance(fact, Exported | ExportFailed) and fact.operation != exporting


def _concerns_no_run(event: Observation) -> bool:
    return isinstance(event.fact, UpdatePrepared | PreparationFailed | Withdrawn)


def _check(job: Job, event: Event, edge: Edge, decision: Decision) -> None:
    what = f"{kind_of(event).__name__} of job {job.id} in {job.state}"
    if decision.job.state not in edge.to:
        raise LifeError(f"{what} led to {decision.job.state}, which the table does not allow.")
    # A record of an earlier release may be odd already: the job goes on all the same.
    before = violations(job)
    wrong = [sentence for rule, sentence in violations(decision.job).items() if rule not in before]
    if wrong:
        raise LifeError(f"{what} left a job that cannot be: {'; '.join(wrong)}.")
