"""What a decision is, and what decisions have in common: how a job ends, is suspended, starts again."""

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
    """What an event leads to: the job as it is to be saved, and the actions to perform once it is saved."""

    job: Job
    actions: tuple[Action, ...] = ()


def answered(operation: int, error: PitstopError | None = None, result: Result | None = None) -> Finish:
    """The answer to an operation: with an error if given, else well."""
    return Finish(operation, error.problem if error is not None else None, result)


def refuse(job: Job, operation: Operation, message: str) -> Decision:
    """Nothing changes, and the operation fails with a sentence."""
    return Decision(job, (answered(operation.id, ConflictError(message)),))


def ended(job: Job, now: float, failure: str, user_cancelled: bool = False) -> Job:
    """The job with its result. It keeps its state for a while, so that a user can bring it back."""
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
    """An ended job whose state nobody needs any more: its snapshot holds it, or its time is over."""
    return dataclasses.replace(job, state_dropped=True)


def suspended(job: Job, cause: str) -> Job:
    """The job stopped, with its state kept."""
    return dataclasses.replace(job, state=JobState.SUSPENDED, suspension_cause=cause, interruption=None, termination=None)


def fenced(job: Job) -> Job:
    """Its run writes nothing more, whether or not the kill reaches it: what is saved of the job from now on is all there is."""
    return dataclasses.replace(job, token=job.token + 1)


def waiting(job: Job, attempts: int = 0, due: float | None = None, failures: tuple[float, ...] = ()) -> Job:
    """The job about to start, at once or not before ``due`` (seconds since the epoch)."""
    return dataclasses.replace(job, state=JobState.NOT_RUNNING, termination=None, attempts=attempts, due=due, failures=failures)


def answer_all(job: Job, error: PitstopError) -> list[Finish]:
    """Fail what was asked of a job and will not come to its end, because the job ends."""
    open_operations = [job.preparation, job.termination.operation if job.termination is not None else None]
    if job.update is not None and job.update.phase.kind != "watched":
        open_operations.append(job.update.operation)
    return [answered(operation, error) for operation in dict.fromkeys(open_operations) if operation is not None]
