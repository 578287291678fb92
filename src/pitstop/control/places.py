"""The places that jobs write into. Two active jobs do not share one, unless a user allows it (option allow_shared)."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from pitstop.control.life import Event
from pitstop.control.ports import Registry
from pitstop.errors import ConflictError
from pitstop.model.config import JobConfig
from pitstop.model.job import Job, JobState, Starting, Version, Watched
from pitstop.model.layout import StageKind
from pitstop.model.operation import Operation, Resume, UpdateJob
from pitstop.model.run import Compiled, Failed, Observation

Stored = dict[str, Any]
"""A compiled plan in its stored form."""


@dataclass(frozen=True)
class PlannedSink:
    """A sink of a plan."""

    name: str
    location: str
    connector: str
    place: str | None
    """The place that it writes into; None if its kind does not tell it, or its plan is of an older release."""

    def may_write_where(self, other: PlannedSink) -> bool:
        """Return True if both may write into one place. If one does not tell its place, their names are compared."""
        if self.place is None or other.place is None:
            return self.name == other.name
        return self.place == other.place


def sinks_of(plan: Stored | None) -> list[PlannedSink]:
    """Return the sinks of a plan."""
    stages = [stage for stage in (plan or {}).get("stages", ()) if stage["kind"] == StageKind.SINK]
    return [
        PlannedSink(stage["name"], stage.get("location", ""), stage["description"].partition(",")[0], stage.get("place"))
        for stage in stages
    ]


def unless_shared(job: Job, event: Event, registry: Registry) -> Event:
    """Return the event, or of a version that writes where another job writes the failure of its run.

    Raises ConflictError for a request that would bring such a job back. It is asked in the transaction that takes the event: of
    two jobs that compile at one moment the second is refused. A version that was accepted before goes on.
    """
    if isinstance(event, Operation):
        request = event.request
        ended = job.state is JobState.FAILED and not job.state_dropped
        if ended and isinstance(request, Resume | UpdateJob) and not _allows(job, request):
            _refuse(job, sinks_of(job.version.plan), registry.jobs(include_ended=False))
        return event
    fact = event.fact if isinstance(event, Observation) and event.token == job.token else None
    if not isinstance(event, Observation) or not isinstance(fact, Compiled):
        return event
    if fact.config.allow_shared or job.version.plan is not None:
        return event
    try:
        refuse_shared(job, fact.plan, registry.jobs(include_ended=False))
    except ConflictError as error:
        return dataclasses.replace(event, fact=Failed(error.problem))
    return event


def refuse_shared(job: Job, plan: Stored, others: Iterable[Job]) -> None:
    """Raise ConflictError if a version of a job with this plan writes where another active job writes.

    A place that the job has already is its own: it goes on there, whoever was let in later.
    """
    own = [sink for version in _versions(job) for sink in sinks_of(version.plan)]
    _refuse(job, [sink for sink in sinks_of(plan) if not any(_goes_on(sink, before) for before in own)], others)


def _goes_on(sink: PlannedSink, before: PlannedSink) -> bool:
    return sink.may_write_where(before) and sink.connector == before.connector


def _allows(job: Job, request: Resume | UpdateJob) -> bool:
    options = request.options if isinstance(request, UpdateJob) else {}
    return JobConfig.from_options({"allow_shared": options.get("allow_shared")}, base=job.version.config).allow_shared


def _refuse(job: Job, sinks: list[PlannedSink], others: Iterable[Job]) -> None:
    places = {sink.place: sink for sink in sinks if sink.place is not None}
    if not places:
        return
    for other in others:
        if other.id == job.id or not other.active:
            continue
        for theirs in (sink for version in _versions(other) for sink in sinks_of(version.plan)):
            sink = places.get(theirs.place) if theirs.place is not None else None
            if sink is not None:
                raise ConflictError(
                    f"Sink '{sink.name}' ({sink.location}) of job '{job.display_name}' writes into {sink.place}, as job "
                    f"'{other.display_name}' ({other.id}) does, which is {other.state}: give it a place of its own, or let both "
                    "write there by --allow-shared (option allow_shared, in SQL allowShared)."
                )


def _versions(job: Job) -> Iterator[Version]:
    """Yield the versions by which a job writes, or to which it may go back."""
    yield job.version
    yield job.saved
    phase = job.update.phase if job.update is not None else None
    if isinstance(phase, Starting | Watched):
        yield phase.previous
