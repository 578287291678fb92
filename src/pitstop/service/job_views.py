"""Views of a job: its pipeline as a graph, its versions, its options with their origins, and its verbs."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from pitstop.errors import ConflictError, NotFoundError
from pitstop.kit.wire import Moment, described
from pitstop.model.config import OPTIONS, JobConfig
from pitstop.model.job import Job, KeptVersion, Version
from pitstop.model.layout import StageKind
from pitstop.model.operation import Verb
from pitstop.plan.model import Plan, PlanStage

if TYPE_CHECKING:
    from pitstop.control.ports.registry import Registry


@described
@dataclass(frozen=True)
class GraphColumn:
    """A column of the rows that a stage gives."""

    name: str
    """Its name."""
    type: str
    """Its type, in the words of Spark."""


@described
@dataclass(frozen=True)
class GraphNode:
    """A stage of a pipeline."""

    name: str
    """Unique in the pipeline."""
    kind: StageKind
    """The kind of the stage."""
    description: str
    """Its task, in a few words; of a source its kind, of a sink `sink` and its kind."""
    location: str
    """The place of its definition: file and line."""
    keeps_state: bool
    """True if it keeps state from one epoch to the next, which an update has to carry over."""
    columns: list[GraphColumn]
    """Of the rows that it gives."""


@described
@dataclass(frozen=True)
class GraphEdge:
    """The rows of one stage go to another."""

    source: str
    """Name of the stage that gives them."""
    target: str
    """Name of the stage that takes them."""


@described
@dataclass(frozen=True)
class JobGraph:
    """The pipeline of a version of a job."""

    version: int
    """Number of that version."""
    nodes: list[GraphNode]
    """Its stages, each behind those that it reads."""
    edges: list[GraphEdge]
    """The rows that they read of one another."""


class Origin(StrEnum):
    """The origin of an option's value."""

    ASKED = "asked"
    """It was given when the job was submitted, updated or configured."""
    CODE = "code"
    """The job's own code says so."""
    DEFAULT = "default"
    """Nobody has said anything."""


@described
@dataclass(frozen=True)
class OptionInForce:
    """A job option."""

    name: str
    """Its name."""
    value: Any
    """Its value in force; durations are whole milliseconds."""
    origin: Origin
    """The origin of that value."""
    meaning: str
    """Its meaning."""


@described
@dataclass(frozen=True)
class JobVersion:
    """A version that a job has, or had."""

    number: int
    """1 as submitted; each update counts one more."""
    since: Moment
    """The time at which it became the job's."""
    current: bool
    """True if it is the job's now."""
    artifact: str
    """Name of the file with its code."""
    entry: str | None
    """The job in that file; null if the file holds only one."""
    args: list[str]
    """Arguments of the job's function."""
    options: dict[str, Any]
    """The options that were asked for."""


@described
@dataclass(frozen=True)
class JobVerb:
    """Something that can be asked of a job."""

    verb: Verb
    """The name of the request."""
    refused: str | None
    """The sentence that would refuse it now, word for word; null: it is allowed."""
    nothing_to_do: bool
    """True if it is allowed and the job would stay as it is: the result is there already."""


def graph_of(job: Job, version: Version) -> JobGraph:
    """Return the graph of a version of a job. ConflictError if it was never compiled."""
    if version.plan is None:
        raise ConflictError(
            f"The pipeline of version {version.number} of job '{job.display_name}' is not known: it was never compiled."
        )
    stages = Plan.from_dict(version.plan).stages
    edges = [GraphEdge(source, stage.name) for stage in stages for source in stage.inputs]
    return JobGraph(version.number, [_node(stage) for stage in stages], edges)


def versions_of(job: Job, records: list[KeptVersion]) -> list[KeptVersion]:
    """Return all known versions of a job, the newest first."""
    if any(each.version.number == job.version.number for each in records):
        return records
    # The present version began under a release that kept no versions.
    present = KeptVersion(job.version, job.start_time or job.submission_time)
    return sorted([present, *records], key=lambda each: -each.version.number)


def version_of(job: Job, records: list[KeptVersion], number: int) -> Version:
    """Return the version of that number. NotFoundError if there is none, or it is no longer kept."""
    for record in versions_of(job, records):
        if record.version.number == number:
            return record.version
    raise NotFoundError(f"Job '{job.display_name}' has no version {number}: see 'pitstop versions {job.display_name}'.")


def shown(job: Job, record: KeptVersion) -> JobVersion:
    """Return a version in the form that doors show."""
    version, source = record.version, record.version.source
    current, name = version.number == job.version.number, PurePath(source.artifact).name
    return JobVersion(version.number, record.since, current, name, source.entry, list(source.args), version.options)


def options_of(job: Job) -> list[OptionInForce]:
    """Return all options of a job."""
    usual, in_force, own_options = JobConfig().to_dict(), job.version.config.to_dict(), job.version.options
    options = []
    for option in OPTIONS:
        value = in_force[option.field]
        if any(own_options.get(name) is not None for name in option.readers):
            origin = Origin.ASKED
        else:
            origin = Origin.DEFAULT if value == usual[option.field] else Origin.CODE
        options.append(OptionInForce(option.name, value, origin, option.meaning))
    return options


def verbs_of(registry: Registry, job: Job) -> list[JobVerb]:
    """Return the verbs that a user can ask of a job, each with the outcome that it would have now."""
    from pitstop.control.trying import requests_of, tried  # not for clients, which would load the control plane

    verbs = []
    for request in requests_of(job):
        trial = tried(registry, job, request)
        verbs.append(JobVerb(request.verb, trial.refusal.message if trial.refusal else None, trial.nothing_to_do))
    return verbs


def _node(stage: PlanStage) -> GraphNode:
    columns = [GraphColumn(name, kind) for name, kind in stage.columns]
    return GraphNode(stage.name, stage.kind, stage.description, stage.location, stage.layout is not None, columns)
