"""The life of a job as one table (jet.md §1.2, §1.3): ``decide(job, event) -> (job, actions)``.

``job.termination`` is ``<MODE>#<operation>`` while a run is being ended on request. An event may be decided twice
(the process died between acting and noting that it had): the same operation is recognised by its number.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pitstop.control import updating
from pitstop.control.actions import (
    Action,
    CleanUp,
    ExportSuspended,
    FailExports,
    Finish,
    KillRun,
    RegisterSnapshot,
    SendCommand,
    StartRun,
)
from pitstop.control.decision import Decision, answered, refuse
from pitstop.errors import ConflictError, EngineError, PitstopError, SnapshotError
from pitstop.model.config import JobConfig
from pitstop.model.job import Job, JobState
from pitstop.model.operation import CommandKind, Observation, ObservationKind, Operation, OperationState, Verb

MOST_ATTEMPTS = 5
"""Starts in a row without one committed epoch before a job is given up."""
BACK_OFF_SECONDS = (0.0, 1.0, 2.0, 4.0, 8.0)

S = JobState
V = Verb
K = ObservationKind


@dataclass(frozen=True)
class Due:
    """A job that waits in NOT_RUNNING may start, if its time has come."""


Event = Operation | Observation | Due


def decide(job: Job, event: Event, now: float) -> Decision:
    """What becomes of a job, and what is to be done. Facts about an older run change nothing."""
    if isinstance(event, Due):
        return _start(job) if is_due(job, now) else Decision(job)
    if isinstance(event, Operation):
        handler = OPERATIONS.get((job.state, event.verb))
        return handler(job, event, now) if handler else _illegal(job, event)
    if event.token != job.token:
        return Decision(job)
    fact = FACTS.get((job.state, event.kind))
    return fact(job, event, now) if fact else Decision(job)


def is_due(job: Job, now: float) -> bool:
    """Whether a job waits for its start and has waited long enough."""
    if job.state is not S.NOT_RUNNING:
        return False
    # A due time further away than any back-off means that the clock was set back: do not wait for it.
    return job.due is None or job.due <= now or job.due > now + max(BACK_OFF_SECONDS)


def _start(job: Job) -> Decision:
    started = dataclasses.replace(job, state=S.STARTING, token=job.token + 1, termination=None, due=None)
    return Decision(started, (StartRun(),))


# Wishes


def _accept(job: Job, operation: Operation, now: float) -> Decision:
    return Decision(job, (_done(operation.id),))


def _stop_with(mode: str) -> Callable[[Job, Operation, float], Decision]:
    def stop(job: Job, operation: Operation, now: float) -> Decision:
        wanted = f"{mode}#{operation.id}"
        if job.termination not in (None, wanted):
            busy = str(job.termination).split("#")[0]
            return refuse(job, operation, f"Job is already terminating in mode: {busy}")
        args: dict[str, Any] = {"operation": operation.id}
        if "snapshot" in operation.args:
            args["snapshot"] = operation.args["snapshot"]
        return Decision(dataclasses.replace(job, termination=wanted), (SendCommand(CommandKind.STOP, args),))

    return stop


def _resume(job: Job, operation: Operation, now: float) -> Decision:
    resumed = dataclasses.replace(job, state=S.NOT_RUNNING, suspension_cause=None, failure_details=None, attempts=0)
    return Decision(resumed, (_done(operation.id),))


def _cancel(job: Job, operation: Operation, now: float) -> Decision:
    # A higher token fences the run, should it not be reached by the kill.
    ended = dataclasses.replace(_ended(job, now, user_cancelled=True, failure="Cancelled by user"), token=job.token + 1)
    meanwhile = ConflictError(f"Job '{job.display_name}' was cancelled meanwhile.")
    stopped = _answer_termination(job, meanwhile) or updating.given_up(job, meanwhile.to_dict())
    return Decision(ended, (KillRun(job.token), *stopped, FailExports(), CleanUp(), _done(operation.id)))


def _export(job: Job, operation: Operation, now: float) -> Decision:
    if job.termination is not None:
        return refuse(job, operation, f"Job is already terminating in mode: {job.termination.split('#')[0]}")
    args = {"operation": operation.id, "snapshot": operation.args["snapshot"]}
    return Decision(job, (SendCommand(CommandKind.EXPORT, args),))


def _export_suspended(job: Job, operation: Operation, now: float) -> Decision:
    mode = "CANCEL_AND_EXPORT" if operation.verb is V.CANCEL_AND_EXPORT else "EXPORT"
    exporting = dataclasses.replace(job, state=S.SUSPENDED_EXPORTING_SNAPSHOT, termination=f"{mode}#{operation.id}")
    return Decision(exporting, (ExportSuspended(operation.id, operation.args["snapshot"]),))


def _export_again(job: Job, operation: Operation, now: float) -> Decision:
    if job.termination and job.termination.endswith(f"#{operation.id}"):
        return Decision(job, (ExportSuspended(operation.id, operation.args["snapshot"]),))
    return _illegal(job, operation)


def _illegal(job: Job, operation: Operation) -> Decision:
    verb = operation.verb
    if job.state.terminal:
        if verb is V.CANCEL:
            return Decision(job, (_done(operation.id),))
        if verb is V.RESUME:
            return refuse(job, operation, "Job already completed")
        result = job.failure or job.state.value
        return refuse(job, operation, f"Cannot {verb.name} job {job.id} because it already has a result: {result}")
    if verb is V.RESUME:
        return Decision(job, (_done(operation.id),))
    if verb is V.CANCEL:
        return refuse(job, operation, f"Cannot cancel when job status is {job.state}")
    wanted = "RUNNING or SUSPENDED" if verb in (V.EXPORT, V.CANCEL_AND_EXPORT, V.UPDATE) else "RUNNING"
    return refuse(job, operation, f"Cannot {verb.name}, job status is {job.state}, should be {wanted}")


# Facts


def _compiled(job: Job, fact: Observation, now: float) -> Decision:
    config = JobConfig.from_dict(fact.payload["config"])
    job, actions = updating.watched(job, now)
    compiled = dataclasses.replace(job, plan=fact.payload["plan"], lineage=fact.payload["lineage"], config=config)
    return Decision(compiled, actions)


def _running(job: Job, fact: Observation, now: float) -> Decision:
    job, actions = updating.proved(job, fact, now)
    return Decision(dataclasses.replace(job, state=S.RUNNING, start_time=now), actions)


def _epoch(job: Job, fact: Observation, now: float) -> Decision:
    return Decision(dataclasses.replace(job, attempts=0))


def _exported(job: Job, fact: Observation, now: float) -> Decision:
    record = fact.payload["snapshot"]
    if _termination(job)[0] == updating.MODE and job.state is S.SUSPENDED_EXPORTING_SNAPSHOT:
        return updating.exported(job, record, now)
    done = Finish(fact.payload["operation"], OperationState.DONE, result=record)
    if job.state is S.SUSPENDED_EXPORTING_SNAPSHOT:
        if (job.termination or "").startswith("CANCEL_AND_EXPORT"):
            ended = _ended(job, now, user_cancelled=True, failure="Cancelled by user")
            return Decision(ended, (RegisterSnapshot(record), CleanUp(), done))
        return Decision(dataclasses.replace(job, state=S.SUSPENDED, termination=None), (RegisterSnapshot(record), done))
    return Decision(job, (RegisterSnapshot(record), done))


def _export_failed(job: Job, fact: Observation, now: float) -> Decision:
    if _termination(job)[0] == updating.MODE and job.state is S.SUSPENDED_EXPORTING_SNAPSHOT:
        return updating.export_failed(job, fact.payload["error"])
    failed = Finish(fact.payload["operation"], OperationState.FAILED, error=fact.payload["error"])
    if job.state is S.SUSPENDED_EXPORTING_SNAPSHOT:
        return Decision(dataclasses.replace(job, state=S.SUSPENDED, termination=None), (failed,))
    return Decision(job, (failed,))


def _stopped(job: Job, fact: Observation, now: float) -> Decision:
    mode, operation = _termination(job)
    if mode == "SUSPEND":
        return Decision(_suspended(job, "Requested by user"), (FailExports(), *answered(operation)))
    if mode == "CANCEL_AND_EXPORT":
        return _stopped_with_export(job, fact, operation, now)
    if mode == updating.MODE:
        return updating.stopped(job, fact, now)
    again = dataclasses.replace(job, state=S.NOT_RUNNING, termination=None, attempts=0)
    return Decision(again, (FailExports(), *answered(operation)))


def _stopped_with_export(job: Job, fact: Observation, operation: int | None, now: float) -> Decision:
    record = fact.payload.get("snapshot")
    if record is None:
        # The snapshot failed: the job must not be lost with it (jet.md §1.2).
        error = fact.payload.get("error") or SnapshotError("The runner stopped without taking the snapshot.").to_dict()
        return Decision(_suspended(job, "Requested by user"), (FailExports(), *answered(operation, error=error)))
    ended = _ended(job, now, user_cancelled=True, failure="Cancelled by user")
    return Decision(ended, (RegisterSnapshot(record), FailExports(), CleanUp(), *answered(operation, result=record)))


def _completed(job: Job, fact: Observation, now: float) -> Decision:
    completed = dataclasses.replace(job, state=S.COMPLETED, completion_time=now, termination=None)
    stopped = _answer_termination(job, ConflictError(f"Job '{job.display_name}' completed meanwhile."))
    return Decision(completed, (*stopped, FailExports(), CleanUp()))


def _failed(job: Job, fact: Observation, now: float) -> Decision:
    message = fact.payload["error"]["message"]
    job = dataclasses.replace(job, failure_details=fact.payload.get("details"))
    if job.termination is not None:
        return _lost(job, message)
    if fact.payload.get("restartable"):
        return _start_again(job, message, now)
    return _give_up(job, message, now)


def _died(job: Job, fact: Observation, now: float) -> Decision:
    reason = str(fact.payload.get("reason", "The runner's process ended"))
    if job.termination is not None:
        return _lost(job, reason)
    return _start_again(job, reason, now)


def _start_again(job: Job, reason: str, now: float) -> Decision:
    attempts = job.attempts + 1
    if attempts >= MOST_ATTEMPTS:
        return _give_up(job, f"{reason.rstrip('.')}, {attempts} times in a row without progress", now)
    delay = BACK_OFF_SECONDS[min(attempts - 1, len(BACK_OFF_SECONDS) - 1)]
    waiting = dataclasses.replace(job, state=S.NOT_RUNNING, attempts=attempts, due=now + delay)
    return Decision(waiting, (FailExports(), KillRun(job.token)))


def _lost(job: Job, reason: str) -> Decision:
    """The run ended by itself while it was being ended: its last committed epoch is its state."""
    mode, operation = _termination(job)
    end = (FailExports(), KillRun(job.token))
    if mode == "SUSPEND":
        return Decision(_suspended(job, "Requested by user"), (*end, *answered(operation)))
    if mode == "CANCEL_AND_EXPORT":
        error = SnapshotError(f"The snapshot was not taken, the job is suspended: {reason}").to_dict()
        return Decision(_suspended(job, "Requested by user"), (*end, *answered(operation, error=error)))
    if mode == updating.MODE:
        return updating.lost(job, EngineError(f"The snapshot was not taken, the old version goes on: {reason}").to_dict())
    again = dataclasses.replace(job, state=S.NOT_RUNNING, termination=None)
    return Decision(again, (*end, *answered(operation)))


def _give_up(job: Job, reason: str, now: float) -> Decision:
    back = updating.rolled_back(job, reason, now)
    if back is not None:
        return back
    if job.config.suspend_on_failure:
        cause = f"Execution failure:\n{reason}"
        return Decision(_suspended(job, cause), (KillRun(job.token), FailExports()))
    return Decision(_ended(job, now, failure=reason), (KillRun(job.token), FailExports(), CleanUp()))


# Values


def _ended(job: Job, now: float, failure: str, user_cancelled: bool = False) -> Job:
    return dataclasses.replace(
        job,
        state=S.FAILED,
        completion_time=now,
        user_cancelled=user_cancelled,
        failure=failure,
        termination=None,
        update=None,
    )


def _suspended(job: Job, cause: str) -> Job:
    return dataclasses.replace(job, state=S.SUSPENDED, suspension_cause=cause, termination=None)


def _termination(job: Job) -> tuple[str | None, int | None]:
    mode, _, number = (job.termination or "").partition("#")
    return mode or None, int(number) if number else None


def _answer_termination(job: Job, error: PitstopError) -> list[Action]:
    return answered(_termination(job)[1], error=error.to_dict())


def _done(operation: int) -> Finish:
    return Finish(operation, OperationState.DONE)


OPERATIONS: dict[tuple[JobState, Verb], Callable[[Job, Operation, float], Decision]] = {
    (S.NOT_RUNNING, V.SUBMIT): _accept,
    (S.STARTING, V.SUBMIT): _accept,
    (S.RUNNING, V.SUBMIT): _accept,
    (S.RUNNING, V.SUSPEND): _stop_with("SUSPEND"),
    (S.RUNNING, V.RESTART): _stop_with("RESTART"),
    (S.RUNNING, V.CANCEL_AND_EXPORT): _stop_with("CANCEL_AND_EXPORT"),
    (S.RUNNING, V.UPDATE): updating.ask,
    (S.RUNNING, V.EXPORT): _export,
    (S.SUSPENDED, V.EXPORT): _export_suspended,
    (S.SUSPENDED, V.CANCEL_AND_EXPORT): _export_suspended,
    (S.SUSPENDED, V.UPDATE): updating.ask_suspended,
    (S.SUSPENDED_EXPORTING_SNAPSHOT, V.EXPORT): _export_again,
    (S.SUSPENDED_EXPORTING_SNAPSHOT, V.UPDATE): _export_again,
    (S.SUSPENDED_EXPORTING_SNAPSHOT, V.CANCEL_AND_EXPORT): _export_again,
    (S.SUSPENDED, V.RESUME): _resume,
    (S.NOT_RUNNING, V.CANCEL): _cancel,
    (S.STARTING, V.CANCEL): _cancel,
    (S.RUNNING, V.CANCEL): _cancel,
    (S.SUSPENDED, V.CANCEL): _cancel,
}
"""(state, wish) -> what happens; every other pair is refused with its message, or is a no-op."""

FACTS: dict[tuple[JobState, ObservationKind], Callable[[Job, Observation, float], Decision]] = {
    (S.STARTING, K.COMPILED): _compiled,
    (S.STARTING, K.RUNNING): _running,
    (S.STARTING, K.EPOCH): _epoch,
    (S.RUNNING, K.EPOCH): _epoch,
    (S.RUNNING, K.EXPORTED): _exported,
    (S.RUNNING, K.EXPORT_FAILED): _export_failed,
    (S.SUSPENDED_EXPORTING_SNAPSHOT, K.EXPORTED): _exported,
    (S.SUSPENDED_EXPORTING_SNAPSHOT, K.EXPORT_FAILED): _export_failed,
    (S.STARTING, K.STOPPED): _stopped,
    (S.RUNNING, K.STOPPED): _stopped,
    (S.STARTING, K.COMPLETED): _completed,
    (S.RUNNING, K.COMPLETED): _completed,
    (S.STARTING, K.FAILED): _failed,
    (S.RUNNING, K.FAILED): _failed,
    (S.STARTING, K.DIED): _died,
    (S.RUNNING, K.DIED): _died,
}
"""(state, fact) -> what happens; any other fact changes nothing."""
