"""What would become of a request that is made now: its handler is asked, and nothing is written."""

from __future__ import annotations

from dataclasses import dataclass

from pitstop.control.actions import Finish
from pitstop.control.life import decide
from pitstop.control.ports import Registry
from pitstop.errors import ConflictError, EngineError, PitstopError
from pitstop.model.job import Job
from pitstop.model.operation import (
    Cancel,
    CancelAndExport,
    Configure,
    Discard,
    Export,
    Operation,
    Request,
    Restart,
    Resume,
    Rollback,
    Suspend,
    UpdateJob,
)

_TRIED = -1
"""The number of an operation that is none: those of a job have others."""


@dataclass(frozen=True)
class Trial:
    """What would become of a request."""

    refusal: PitstopError | None
    """What it would be answered with; None if it is allowed."""
    nothing_to_do: bool
    """It is allowed, and the job stays as it is: what is asked for holds already."""


def tried(registry: Registry, job: Job, request: Request) -> Trial:
    """Decide about a request without asking for it."""
    operation = Operation(_TRIED, job.id, request)
    try:
        decision = decide(job, operation, now=0.0)
    except AssertionError as defect:
        return Trial(undecidable(operation, defect), nothing_to_do=False)
    if decision.job.active and not job.active and (taken := _others_of_its_name(registry, job)):
        return Trial(name_taken(job, taken), nothing_to_do=False)
    answer = next((act for act in decision.actions if isinstance(act, Finish) and act.operation == _TRIED), None)
    if answer is not None and answer.error is not None:
        return Trial(answer.error.error(), nothing_to_do=False)
    return Trial(None, nothing_to_do=answer is not None and decision.job == job)


def an_update(job: Job) -> UpdateJob:
    """A request to update the job, such as could be made."""
    return UpdateJob(job.version.source, {}, "")


def requests_of(job: Job) -> tuple[Request, ...]:
    """One of each kind that a user can make of a job that is there."""
    return (
        Suspend(),
        Resume(),
        Restart(),
        Cancel(),
        Export(""),
        CancelAndExport(""),
        an_update(job),
        # It changes something, as whoever asks for it wants.
        Configure({"suspend_on_failure": not job.version.config.suspend_on_failure}),
        Rollback(),
        Discard(),
    )


def undecidable(operation: Operation, defect: AssertionError) -> EngineError:
    """What those are answered who ask for what cannot be decided."""
    return EngineError(
        f"A defect of Pitstop keeps {operation.verb.value} from being carried out; the job stays as it was: {defect}"
    )


def name_taken(job: Job, others: list[Job]) -> ConflictError:
    """What keeps a job from being active: one of these has its name."""
    return ConflictError(f"Another active job with equal name ({job.name}) exists: {others[0].id if others else 'unknown'}")


def id_taken(job: Job) -> ConflictError:
    """There is a job with the id of a new one."""
    return ConflictError(f"There is a job with the id {job.id}.")


def _others_of_its_name(registry: Registry, job: Job) -> list[Job]:
    return [
        other for other in registry.find_jobs(job.name or "") if other.active and other.id != job.id and other.name == job.name
    ]
