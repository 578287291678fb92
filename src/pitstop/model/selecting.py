"""Requests to the process that carries out SELECT, and its answers: a JSON object a line each way."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

USUAL_SECONDS = 600.0
QUERY_SECONDS, VIEWER_SECONDS, HOUR_SECONDS = "--query-seconds", "--viewer-query-seconds", "--viewer-seconds-per-hour"
"""The options of the server that limit the time of a query, of a viewer's query, and of all queries of one viewer."""
USUAL_HOUR_SECONDS = 14_400.0
MOST_ROWS = 1_000_000
BEGIN_ANEW = 75
"""The exit code of a process in whose place another one is to come."""


@dataclass(frozen=True)
class Asker:
    """The one who asks a query, as far as bounds go."""

    viewer: bool = False
    """True for users who may only look: their queries have a process of their own."""
    user: str = ""
    """One of the viewers: a user of the server's machine, or another machine. A client cannot choose it."""


OPERATOR = Asker()


@dataclass(frozen=True)
class StoredStage:
    """The state of a stage in a snapshot, by where it is."""

    snapshot: str
    """Name of the snapshot."""
    stage: str
    folder: str
    """The folder of the snapshot."""


@dataclass(frozen=True)
class OwnTable:
    """Rows that the server knows: a table of information_schema."""

    name: str
    columns: list[tuple[str, str]]
    """Name and Spark type."""
    rows: list[list[Any]]


@dataclass(frozen=True)
class Select:
    """A query, with all that its names mean."""

    id: int
    query: str
    line: int
    column: int
    """Line and column at which the query begins in the text that a user has written."""
    names: list[str] = field(default_factory=list)
    """The CREATE MAPPING and CREATE VIEW of what it may read."""
    states: list[StoredStage] = field(default_factory=list)
    tables: list[OwnTable] = field(default_factory=list)
    most_rows: int = MOST_ROWS
    seconds: float = USUAL_SECONDS
    """The time that a query of fixed data may take; a query of a stream goes on until nobody asks for its rows any more."""
    limit: str = QUERY_SECONDS
    """The option of the server that gives it so many seconds."""


@dataclass(frozen=True)
class Cancel:
    """Nobody asks for the rows of a query any more."""

    id: int
