"""Statements as values."""

from __future__ import annotations

from collections.abc import Mapping as AnyMapping
from dataclasses import dataclass, field
from enum import StrEnum

from pitstop.sql.mappings import Mapping, View
from pitstop.sql.places import Place


class Shown(StrEnum):
    """The things that SHOW lists."""

    JOBS = "JOBS"
    """The jobs that have not ended."""
    SNAPSHOTS = "SNAPSHOTS"
    MAPPINGS = "MAPPINGS"
    VIEWS = "VIEWS"


@dataclass(frozen=True)
class Show:
    """List the names of things."""

    what: Shown


class JobVerb(StrEnum):
    """The requests that ALTER JOB makes of a job."""

    SUSPEND = "SUSPEND"
    RESUME = "RESUME"
    RESTART = "RESTART"


@dataclass(frozen=True)
class AlterJob:
    """Change options of a suspended job, or make a request of a job, or both."""

    job: str
    options: AnyMapping[str, object] = field(default_factory=dict)
    """The options as ``model.config`` reads them."""
    verb: JobVerb | None = None


@dataclass(frozen=True)
class DropJob:
    """End a job, exactly at a snapshot if one is named."""

    job: str
    if_exists: bool = False
    snapshot: str | None = None


@dataclass(frozen=True)
class Query:
    """A SELECT, with its place in the text of the statements."""

    text: str
    place: Place
    bounded: bool = field(default=True, compare=False)
    """False for a query that this or an earlier release has accepted before: it is read, however large it is."""

    def at(self, line: int, column: int, text: str) -> Place:
        """Return the place, in the text of the statements, of ``text`` at that line and column of the query."""
        begin = column + (self.place.column - 1 if line == 1 else 0)
        row = self.place.line + line - 1
        return Place(row, max(1, begin), row, max(1, begin + max(0, len(text) - 1)))

    def at_letter(self, start: int, end: int) -> Place:
        """Return the place, in the text of the statements, of the query's letters from ``start`` to ``end``."""
        before = self.text[:start]
        line, column = before.count("\n") + 1, start - (before.rfind("\n") + 1) + 1
        return self.at(line, column, self.text[start : end + 1].split("\n")[0])


class Writing(StrEnum):
    """The way in which rows go into a mapping."""

    INSERT = "INSERT"
    """Each row is a new one."""
    SINK = "SINK"
    """A row replaces the one that has its key, if there is one."""


@dataclass(frozen=True)
class Insert:
    """Write the rows of a query into a mapping."""

    writing: Writing
    mapping: str
    place: Place
    """The place of the mapping's name."""
    columns: tuple[str, ...] | None
    """Columns of the mapping, in the order of the query's; None: all of them."""
    query: Query
    text: str
    """The statement as it was written."""


@dataclass(frozen=True)
class CreateJob:
    """Submit a job."""

    name: str
    options: AnyMapping[str, object]
    """The options as ``model.config`` reads them."""
    body: tuple[Insert, ...]
    if_not_exists: bool = False


@dataclass(frozen=True)
class UpdateJob:
    """Replace the version of a job by a new one; the old one goes on if the new one is refused or fails."""

    job: str
    options: AnyMapping[str, object]
    body: tuple[Insert, ...]


@dataclass(frozen=True)
class CheckJob:
    """Tell what would become of a job's state in a new version, and change nothing."""

    job: str
    options: AnyMapping[str, object]
    body: tuple[Insert, ...]


@dataclass(frozen=True)
class ExplainJob:
    """Tell the stages of a job, and which of them keep state."""

    job: str


@dataclass(frozen=True)
class DescribeJob:
    """Describe the condition of a job."""

    job: str


@dataclass(frozen=True)
class CreateSnapshot:
    """Save the state of a job under a name; a snapshot of that name is replaced."""

    name: str
    job: str


@dataclass(frozen=True)
class DropSnapshot:
    """Remove a snapshot."""

    name: str
    if_exists: bool = False


@dataclass(frozen=True)
class CreateMapping:
    """Give rows outside a name and columns."""

    mapping: Mapping
    or_replace: bool = False
    if_not_exists: bool = False


@dataclass(frozen=True)
class CreateView:
    """Give a query a name."""

    view: View
    place: Place
    """The place of the query."""
    or_replace: bool = False
    if_not_exists: bool = False


@dataclass(frozen=True)
class Drop:
    """Forget a mapping, or a view; the rows outside stay."""

    what: type[Mapping | View]
    name: str
    if_exists: bool = False


Statement = (
    Show
    | AlterJob
    | DropJob
    | CreateJob
    | UpdateJob
    | CheckJob
    | ExplainJob
    | DescribeJob
    | CreateSnapshot
    | DropSnapshot
    | CreateMapping
    | CreateView
    | Drop
    | Insert
    | Query
)
