"""What a statement says (jet.md §4.1)."""

from __future__ import annotations

from collections.abc import Mapping as AnyMapping
from dataclasses import dataclass, field
from enum import StrEnum

from pitstop.sql.mappings import Mapping, View
from pitstop.sql.places import Place


class Shown(StrEnum):
    """What SHOW lists."""

    JOBS = "JOBS"
    """Those that have not ended."""
    SNAPSHOTS = "SNAPSHOTS"
    MAPPINGS = "MAPPINGS"
    VIEWS = "VIEWS"


@dataclass(frozen=True)
class Show:
    """The names of things."""

    what: Shown


class JobVerb(StrEnum):
    """What ALTER JOB asks of a job."""

    SUSPEND = "SUSPEND"
    RESUME = "RESUME"
    RESTART = "RESTART"


@dataclass(frozen=True)
class AlterJob:
    """Change options of a suspended job, or ask something of a job, or both."""

    job: str
    options: AnyMapping[str, object] = field(default_factory=dict)
    """As ``model.config`` reads them."""
    verb: JobVerb | None = None


@dataclass(frozen=True)
class DropJob:
    """End a job, exactly at a snapshot if one is named."""

    job: str
    if_exists: bool = False
    snapshot: str | None = None


@dataclass(frozen=True)
class Query:
    """A SELECT, with where it stands in the text of the statements."""

    text: str
    place: Place
    bounded: bool = field(default=True, compare=False)
    """False for one that was accepted once, by whichever release: it is read however large it is."""

    def at(self, line: int, column: int, found: str) -> Place:
        """The place, in the text of the statements, of what is found at that line and column of the query."""
        begin = column + (self.place.column - 1 if line == 1 else 0)
        row = self.place.line + line - 1
        return Place(row, max(1, begin), row, max(1, begin + max(0, len(found) - 1)))

    def at_letter(self, start: int, end: int) -> Place:
        """The place, in the text of the statements, of the query's letters from ``start`` to ``end``."""
        before = self.text[:start]
        line, column = before.count("\n") + 1, start - (before.rfind("\n") + 1) + 1
        return self.at(line, column, self.text[start : end + 1].split("\n")[0])


class Writing(StrEnum):
    """How rows go into a mapping."""

    INSERT = "INSERT"
    """Each is a new one."""
    SINK = "SINK"
    """One of a key that is there takes its place."""


@dataclass(frozen=True)
class Insert:
    """Rows of a query into a mapping."""

    writing: Writing
    mapping: str
    place: Place
    """Of the mapping's name."""
    columns: tuple[str, ...] | None
    """Of the mapping, in the order of the query's; None: all of them."""
    query: Query
    text: str
    """As it was written."""


@dataclass(frozen=True)
class CreateJob:
    """Submit a job."""

    name: str
    options: AnyMapping[str, object]
    """As ``model.config`` reads them."""
    body: tuple[Insert, ...]
    if_not_exists: bool = False


@dataclass(frozen=True)
class UpdateJob:
    """Put a new version in the place of a job's; the old one goes on if it is refused or fails."""

    job: str
    options: AnyMapping[str, object]
    body: tuple[Insert, ...]


@dataclass(frozen=True)
class CheckJob:
    """What would become of a job's state in a new version; nothing is done."""

    job: str
    options: AnyMapping[str, object]
    body: tuple[Insert, ...]


@dataclass(frozen=True)
class ExplainJob:
    """The stages of a job, and which keep state."""

    job: str


@dataclass(frozen=True)
class DescribeJob:
    """How a job is."""

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
    """Of the query."""
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
