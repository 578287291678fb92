"""Rows that a new job writes again, beside those of a job that has ended and could go on.

That is no reason to refuse the job: it is a concern of its sinks, for people to read.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable

from pitstop.control.life import Event
from pitstop.control.places import PlannedSink, Stored, sinks_of
from pitstop.control.ports.registry import Registry
from pitstop.model.job import Job, JobState, Progress
from pitstop.model.run import Compiled, Observation
from pitstop.plan.model import Plan

Others = Iterable[tuple[Job, Progress]]
"""Jobs with their progress, the newest submissions first."""


def with_concerns(plan: Stored, others: Callable[[], Others], there_is: bool = False) -> Stored:
    """Return the plan of a new job without saved state, with a concern for each sink whose rows come twice.

    ``others`` gives the jobs that there are, and is asked only if a sink may be concerned. ``there_is``: the new job is among
    them.
    """
    sinks = [sink for sink in sinks_of(plan) if sink.place is not None and sink.adds]
    if not sinks:
        return plan
    jobs = list(others())
    writers = {sink.name: _last_writer(sink, jobs) for sink in sinks}
    concerns = {sink.name: _concern(sink, job, jobs, there_is) for sink in sinks if (job := writers[sink.name]) is not None}
    if not concerns:
        return plan
    stages = [stage | ({"concern": concerns[stage["name"]]} if stage["name"] in concerns else {}) for stage in plan["stages"]]
    return plan | {"stages": stages}


def concerned(job: Job, event: Event, registry: Registry) -> Event:
    """Return the event; if a new job is compiled, with the concerns of its sinks in the plan."""
    fact = event.fact if isinstance(event, Observation) and event.token == job.token else None
    if not isinstance(event, Observation) or not isinstance(fact, Compiled):
        return event
    is_new = job.version.number == 1 and job.version.plan is None and fact.config.initial_snapshot is None
    if not is_new or fact.config.allow_shared:
        return event
    plan = with_concerns(fact.plan, registry.overview, there_is=True)
    if plan is fact.plan:
        return event
    before = Plan.from_dict(fact.plan).concerns
    concerns = tuple(concern for concern in Plan.from_dict(plan).concerns if concern not in before)
    return dataclasses.replace(event, fact=dataclasses.replace(fact, plan=plan, concerns=concerns))


def _last_writer(sink: PlannedSink, others: Others) -> Job | None:
    """Return the job that ended last of those that have written where the sink writes, and could go on."""
    writers = [job for job, progress in others if _could_go_on(job, progress) and sink.place in _places(job)]
    return max(writers, key=lambda job: job.completion_time or 0.0, default=None)


def _could_go_on(job: Job, progress: Progress) -> bool:
    """Return True if a job has ended, has committed an epoch, and keeps its state."""
    return job.state is JobState.FAILED and not job.state_dropped and not job.version.bounded and progress.epoch >= 0


def _places(job: Job) -> list[str | None]:
    return [sink.place for sink in sinks_of(job.version.plan)]


def _concern(sink: PlannedSink, other: Job, jobs: list[tuple[Job, Progress]], there_is: bool) -> str:
    """Return the concern of a sink, as a clause."""
    word = _word(other, jobs)
    ways = f"'pitstop update {word} FILE' or 'pitstop resume {word}'"
    goes_on = f"{ways} goes on where that job stopped"
    advice = f"To go on where that job stopped, cancel this one, then {ways}" if there_is else goes_on
    return (
        f"writes into {sink.place}, as job '{other.display_name}' ({other.id}) did, which is {other.display_status} and keeps "
        "its state: a new job begins without state, so rows of the same input are written again beside those that are there. "
        f"{advice}; or give the sink a place of its own."
    )


def _word(job: Job, jobs: list[tuple[Job, Progress]]) -> str:
    """Return the word by which commands mean the job: its name, unless they would take another one by that."""
    same = [other for other, _ in jobs if other.name == job.name and other.id != job.id]
    hidden = any(other.active or other.submission_time >= job.submission_time for other in same)
    return job.id if job.name is None or hidden else job.name
