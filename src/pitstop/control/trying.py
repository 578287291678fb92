"""Tries a request: its handler decides what would become of it now, and nothing is written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from pitstop.control.actions import Finish
from pitstop.control.life import decide
from pitstop.control.ports.registry import Registry
from pitstop.errors import ConflictError, EngineError, PitstopError
from pitstop.model.job import Job
from pitstop.model.operation import (
    PLAIN_REQUESTS,
    REQUESTS,
    CancelAndExport,
    Configure,
    Export,
    Operation,
    Request,
    UpdateJob,
)

_TRIED = -1
"""The number of a trial, which no real operation has."""


@dataclass(frozen=True)
class Trial:
    """The outcome that a request would have."""

    refusal: PitstopError | None
    """The error that the request would be answered with; None if it is allowed."""
    nothing_to_do: bool
    """True if the request is allowed and the job stays as it is, because it asks for what holds already."""


def tried(registry: Registry, job: Job, request: Request) -> Trial:
    """Return what would be decided on a request, without making it."""
    operation = Operation(_TRIED, job.id, request)
    try:
        decision = decide(job, operation, now=0.0)
    except AssertionError as defect:
        return Trial(undecidable(operation, defect), nothing_to_do=False)
    if decision.job.active and not job.active and (others := _others_of_its_name(registry, job)):
        return Trial(name_taken(job, others), nothing_to_do=False)
    answer = next((act for act in decision.actions if isinstance(act, Finish) and act.operation == _TRIED), None)
    if answer is not None and answer.error is not None:
        return Trial(answer.error.error(), nothing_to_do=False)
    return Trial(None, nothing_to_do=answer is not None and decision.job == job)


def an_update(job: Job) -> UpdateJob:
    """Return an example of a request to update the job."""
    return UpdateJob(job.version.source, {}, "")


def requests_of(job: Job) -> tuple[Request, ...]:
    """Return a request of each kind that a user can make of an existing job."""
    examples: tuple[Request, ...] = (
        Export(""),
        CancelAndExport(""),
        an_update(job),
        # It changes something, as whoever asks for it wants.
        Configure({"suspend_on_failure": not job.version.config.suspend_on_failure}),
    )
    requests = {request.verb: request for request in (*examples, *(cast(Request, kind()) for kind in PLAIN_REQUESTS))}
    return tuple(requests[verb] for verb in REQUESTS if verb in requests)


def undecidable(operation: Operation, defect: AssertionError) -> EngineError:
    """Return the error that answers a request on which nothing can be decided."""
    return EngineError(
        f"A defect of Pitstop keeps {operation.verb.value} from being carried out; the job stays as it was: {defect}"
    )


def name_taken(job: Job, others: list[Job]) -> ConflictError:
    """Return the error that keeps a job from being active because another active job has its name."""
    return ConflictError(f"Another active job with equal name ({job.name}) exists: {others[0].id if others else 'unknown'}")


def id_taken(job: Job) -> ConflictError:
    """Return the error for a new job whose id another job has."""
    return ConflictError(f"There is a job with the id {job.id}.")


def _others_of_its_name(registry: Registry, job: Job) -> list[Job]:
    return [
        other for other in registry.find_jobs(job.name or "") if other.active and other.id != job.id and other.name == job.name
    ]
