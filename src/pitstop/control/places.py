"""The places that jobs write into.

Two active jobs share no place, also not a folder and one below it. No job reads its own output. A user may allow both (option
allow_shared).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from pitstop.control.life import Event
from pitstop.control.ports.registry import Registry
from pitstop.errors import ConflictError
from pitstop.model.config import JobConfig
from pitstop.model.job import Job, JobState, Starting, Version, Watched
from pitstop.model.layout import StageKind
from pitstop.model.operation import Operation, Resume, UpdateJob
from pitstop.model.run import Compiled, Failed, Observation
from pitstop.plan.places import lies_within

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
    adds: bool = False
    """True if its rows come beside those that the place has already, also if they are the same."""

    def may_write_where(self, other: PlannedSink) -> bool:
        """Return True if both may write into one place. If one does not tell its place, their names are compared."""
        if self.place is None or other.place is None:
            return self.name == other.name
        return self.place == other.place


def sinks_of(plan: Stored | None) -> list[PlannedSink]:
    """Return the sinks of a plan."""
    stages = [stage for stage in (plan or {}).get("stages", ()) if stage["kind"] == StageKind.SINK]
    return [
        PlannedSink(
            stage["name"],
            stage.get("location", ""),
            stage["description"].partition(",")[0],
            stage.get("place"),
            stage.get("adds", False),
        )
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
            _refuse(job, sinks_of(job.version.plan), registry.jobs(include_ended=False), isinstance(request, UpdateJob))
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
    """Raise ConflictError if a version of a job with this plan writes where another active job writes, or reads its own rows.

    A place that the job has already is its own: it goes on there, whoever was let in later. So is a circle.
    """
    whose = f"of job '{job.display_name}' "
    circle = _circle(plan, list(_versions(job)), whose)
    if circle is not None:
        raise ConflictError(circle)
    own = [sink for version in _versions(job) for sink in sinks_of(version.plan)]
    _refuse(job, [sink for sink in sinks_of(plan) if not any(_goes_on(sink, before) for before in own)], others)


def why_no_job(plan: Stored, others: Iterable[Job]) -> str | None:
    """Return why a new job with this plan would fail: it writes where an active job does, or reads its own rows; else None."""
    return _circle(plan, [], "") or _clash(sinks_of(plan), others, "")


def _goes_on(sink: PlannedSink, before: PlannedSink) -> bool:
    return sink.may_write_where(before) and sink.connector == before.connector


def _allows(job: Job, request: Resume | UpdateJob) -> bool:
    options = request.options if isinstance(request, UpdateJob) else {}
    return JobConfig.from_options({"allow_shared": options.get("allow_shared")}, base=job.version.config).allow_shared


def _refuse(job: Job, sinks: list[PlannedSink], others: Iterable[Job], may_allow: bool = True) -> None:
    """Raise ConflictError if one of the sinks writes where another active job writes.

    ``may_allow``: whether the request can say ``--allow-shared``. One that cannot is refused for the same place alone: a job that
    was accepted before folders within folders were refused comes back as it was.
    """
    whose = f"of job '{job.display_name}' "
    clash = _clash(sinks, (other for other in others if other.id != job.id), whose, may_allow)
    if clash is not None:
        raise ConflictError(clash)


def _clash(sinks: list[PlannedSink], others: Iterable[Job], whose: str, may_allow: bool = True) -> str | None:
    """Return a sentence about the first of the sinks that writes where another active job writes; None if there is none."""
    placed = [(sink, sink.place) for sink in sinks if sink.place is not None]
    for other in others if placed else ():
        if not other.active:
            continue
        places = {sink.place for version in _versions(other) for sink in sinks_of(version.plan) if sink.place is not None}
        for sink, place in placed:
            clause = next((_taken(place, theirs, other) for theirs in sorted(places) if _meet(place, theirs, may_allow)), None)
            if clause is not None:
                allowed = "let both write there by" if may_allow else "update it with"
                return (
                    f"Sink '{sink.name}' ({sink.location}) {whose}writes into {place}, {clause}: give it a "
                    f"place of its own, or {allowed} --allow-shared (option allow_shared, in SQL allowShared)."
                )
    return None


def _meet(place: str, other: str, within: bool) -> bool:
    return place == other or (within and (lies_within(place, other) or lies_within(other, place)))


def _taken(place: str, theirs: str, other: Job) -> str:
    """Return in which way a place of another job is taken, as a clause."""
    who = f"job '{other.display_name}' ({other.id})"
    if place == theirs:
        return f"as {who} does, which is {other.state}"
    return f"{'which is below' if lies_within(place, theirs) else 'above'} {theirs} of {who}, which is {other.state}"


def _circle(plan: Stored, versions: list[Version], whose: str) -> str | None:
    """Return a sentence about a source that reads what a sink of the plan writes, if none of the job's versions does so.

    Plans of older releases do not say what their sources read: such a source goes on.
    """
    own = {pair for version in versions for pair in _circles(version.plan)}
    silent = {name for version in versions for name in _silent_sources(version.plan)}
    for source, sink in _circles(plan):
        if (source, sink) not in own and source not in silent:
            stages = {stage["name"]: stage for stage in plan["stages"]}
            return (
                f"Source '{source}' ({stages[source].get('location', '')}) {whose}reads what its sink "
                f"'{sink}' writes into {stages[sink].get('place')}, so each epoch makes rows for the next one: give the sink "
                "another place, or the source a narrower pattern, or allow it by --allow-shared (option allow_shared, in SQL "
                "allowShared)."
            )
    return None


def _circles(plan: Stored | None) -> list[tuple[str, str]]:
    return [(stage["name"], sink) for stage in (plan or {}).get("stages", ()) for sink in stage.get("reads_sinks", ())]


def _silent_sources(plan: Stored | None) -> list[str]:
    stages = (plan or {}).get("stages", ())
    return [stage["name"] for stage in stages if stage["kind"] == StageKind.SOURCE and "reads_sinks" not in stage]


def _versions(job: Job) -> Iterator[Version]:
    """Yield the versions by which a job writes, or to which it may go back."""
    yield job.version
    yield job.saved
    phase = job.update.phase if job.update is not None else None
    if isinstance(phase, Starting | Watched):
        yield phase.previous
