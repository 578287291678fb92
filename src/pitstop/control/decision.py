"""Decisions, and what they have in common: how a job ends, is suspended and starts again."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from pitstop.control.actions import Action, Finish
from pitstop.errors import ConflictError, PitstopError
from pitstop.model.job import Job, JobState
from pitstop.model.operation import Operation, Result

CANCELLED = "Cancelled by user"
REQUESTED = "Requested by user"


@dataclass(frozen=True)
class Decision:
    """The result of an event: the job as it is to be saved, and the actions to perform once it is saved."""

    job: Job
    actions: tuple[Action, ...] = ()


def answered(operation: int, error: PitstopError | None = None, result: Result | None = None) -> Finish:
    """Return the answer to an operation: the error if one is given, else success."""
    return Finish(operation, error.problem if error is not None else None, result)


def refuse(job: Job, operation: Operation, message: str) -> Decision:
    """Change nothing, and let the operation fail with a sentence."""
    return Decision(job, (answered(operation.id, ConflictError(message)),))


def ended(job: Job, now: float, failure: str, user_cancelled: bool = False) -> Job:
    """Return the job with its result. It keeps its state for a while, so that a user can bring it back."""
    return dataclasses.replace(
        job,
        state=JobState.FAILED,
        completion_time=now,
        user_cancelled=user_cancelled,
        failure=failure,
        suspension_cause=None,
        interruption=None,
        due=None,
        termination=None,
        preparation=None,
        update=None,
    )


def without_state(job: Job) -> Job:
    """Return an ended job whose state nobody needs any more: a snapshot holds it, or its time is over."""
    return dataclasses.replace(job, state_dropped=True)


def suspended(job: Job, cause: str) -> Job:
    """Return the job stopped, with its state kept."""
    return dataclasses.replace(job, state=JobState.SUSPENDED, suspension_cause=cause, interruption=None, termination=None)


def fenced(job: Job) -> Job:
    """Return the job with its run shut out: the run writes nothing more, whether or not the kill reaches it.

    All that there is of the job is then what is saved from now on.
    """
    return dataclasses.replace(job, token=job.token + 1)


def waiting(job: Job, attempts: int = 0, due: float | None = None, failures: tuple[float, ...] = ()) -> Job:
    """Return the job about to start, at once or not before ``due`` (seconds since the epoch)."""
    return dataclasses.replace(job, state=JobState.NOT_RUNNING, termination=None, attempts=attempts, due=due, failures=failures)


def answer_all(job: Job, error: PitstopError) -> list[Finish]:
    """Fail the open operations of a job, which cannot be completed because the job ends."""
    open_operations = [job.preparation, job.termination.operation if job.termination is not None else None]
    if job.update is not None and job.update.phase.kind != "watched":
        open_operations.append(job.update.operation)
    return [answered(operation, error) for operation in dict.fromkeys(open_operations) if operation is not None]
