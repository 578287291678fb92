"""SELECT: the meaning of names in a query, and the rows of its result."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Protocol

from pitstop.errors import NotFoundError, UsageError
from pitstop.kit.asker import ended_when_nobody_waits
from pitstop.model.selecting import OPERATOR, Asker, OwnTable, Select, StoredStage
from pitstop.service.api import Service
from pitstop.service.sql_results import Column, Result, Row, SqlType
from pitstop.sql.catalog import Catalog
from pitstop.sql.connectors import IMAP, columns_of, connector_of
from pitstop.sql.keyed import NotPlainError, keyed
from pitstop.sql.mappings import Mapping, Named, View
from pitstop.sql.names import is_endless, reads
from pitstop.sql.statements import Query
from pitstop.sql.types import shown_type

Answer = dict[str, Any]


class Answers(Protocol):
    """A query's answers: ``{"columns": [[name, type], ...]}``, then ``{"rows": [...]}``. Errors are raised in their turn."""

    def __iter__(self) -> Iterator[Answer]: ...

    def __next__(self) -> Answer: ...

    def close(self) -> None:
        """End the query, from any thread. A caller that waits for the next answer finds that there is none."""
        ...


class Queries(Protocol):
    """A service that runs queries."""

    def run(self, make: Callable[[int], Select], asker: Asker = OPERATOR) -> Answers:
        """Begin a query. ``make`` gets the query's number. BusyError if whoever asks, or all of them, have too many."""
        ...


class NoQueries:
    """Refuses every query: nothing here can run one."""

    def run(self, make: Callable[[int], Select], asker: Asker = OPERATOR) -> Answers:
        raise UsageError("This server carries no SELECT out.")


def select(query: Query, service: Service, catalog: Catalog, queries: Queries, asker: Asker = OPERATOR) -> Result:
    """Run a query, and return rows that come as they are asked for. UsageError, with the place, if the query is wrong."""
    things = catalog.all()
    plain = _by_key(query, service, things)
    if plain is not None:
        return plain
    contents = reads([query], things)
    endless = is_endless(contents)
    answers = queries.run(
        lambda number: Select(
            number,
            query.text,
            query.place.line,
            query.place.column,
            [thing.statement() for thing in contents.named.values()],
            [_stored(service, snapshot, stage) for snapshot, stage in sorted(contents.states)],
            [_information(name, service, things) for name in sorted(contents.information)],
        ),
        asker,
    )
    try:
        # Answers that there is nothing yet may come before the columns.
        with ended_when_nobody_waits(answers.close):
            columns = next((answer["columns"] for answer in answers if "columns" in answer), ())
    except BaseException:
        answers.close()
        raise
    shown_columns = tuple(Column(name, SqlType.TIMESTAMP if kind == "timestamp" else shown_type(kind)) for name, kind in columns)
    return Result(shown_columns, _Batches(answers), endless)


def only_maps(query: Query, things: dict[str, Named]) -> bool:
    """True if a query reads only entries of maps and information_schema."""
    contents = reads([query], things)
    return not contents.states and all(connector_of(each) is IMAP for each in contents.mappings)


def _by_key(query: Query, service: Service, things: dict[str, Named]) -> Result | None:
    """Return the result of a query that needs just one entry of a map, and so no other process; None for any other query."""
    lookup = keyed(query, things)
    if lookup is None:
        return None
    entry = service.map_entry(lookup.mapping.outside, lookup.key)
    try:
        rows = [lookup.row(entry.value)] if entry is not None else []
    except NotPlainError:
        return None
    return Result.of(tuple(Column(name, shown_type(column.type)) for name, column in lookup.columns), rows)


class _Batches:
    """The rows of a query, as they come. A close, from any thread, ends the query and every wait for its rows."""

    def __init__(self, answers: Answers) -> None:
        self._answers = answers

    def __iter__(self) -> Iterator[list[Row]]:
        return self

    def __next__(self) -> list[Row]:
        return [tuple(row) for row in next(self._answers).get("rows", ())]

    def close(self) -> None:
        self._answers.close()


def _stored(service: Service, snapshot: str, stage: str) -> StoredStage:
    for record in service.snapshots():
        if record.name == snapshot:
            return StoredStage(snapshot, stage, record.path)
    raise NotFoundError(f"The snapshot doesn't exist: {snapshot}")


def _information(name: str, service: Service, things: dict[str, Named]) -> OwnTable:
    mappings = [thing for thing in things.values() if isinstance(thing, Mapping)]
    match name:
        case "mappings":
            rows: list[list[Any]] = [["public", each.name, each.outside, each.type, each.shown_statement()] for each in mappings]
            return OwnTable(name, _texts("table_schema", "table_name", "external_name", "type", "statement"), rows)
        case "columns":
            rows = [
                ["public", each.name, column.name, column.outside, number, column.type.upper()]
                for each in mappings
                for number, column in enumerate(columns_of(each), 1)
            ]
            texts = _texts("table_schema", "table_name", "column_name", "external_name")
            return OwnTable(name, [*texts, ("ordinal_position", "int"), ("data_type", "string")], rows)
        case "views":
            rows = [["public", each.name, each.query] for each in things.values() if isinstance(each, View)]
            return OwnTable(name, _texts("table_schema", "table_name", "view_definition"), rows)
        case "jobs":
            rows = [[each.id, each.name, each.status.value, each.version] for each in service.jobs(include_ended=True)]
            return OwnTable(name, [*_texts("id", "name", "status"), ("version", "bigint")], rows)
        case "snapshots":
            rows = [[each.name, each.job_id, each.job_name, each.bytes] for each in service.snapshots()]
            return OwnTable(name, [*_texts("name", "job_id", "job_name"), ("bytes", "bigint")], rows)
        case _:
            raise NotFoundError(f"information_schema has mappings, columns, views, jobs and snapshots, and no {name}")


def _texts(*names: str) -> list[tuple[str, str]]:
    return [(name, "string") for name in names]
