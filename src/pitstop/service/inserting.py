"""INSERT INTO and SINK INTO outside of a job: the rows of a query that ends go into a map at once."""

from __future__ import annotations

from pitstop.errors import ConflictError, NotFoundError, UsageError
from pitstop.maps.json_form import OPTIONS
from pitstop.service.api import Service
from pitstop.service.selecting import Queries, select
from pitstop.sql.catalog import Catalog
from pitstop.sql.connectors import IMAP, connector_of, is_single
from pitstop.sql.mappings import KEY, Mapping
from pitstop.sql.names import streams
from pitstop.sql.places import Place
from pitstop.sql.statements import Insert, Query, Writing
from pitstop.sql.targets import targets_of
from pitstop.sql.types import quoted


def insert_rows(insert: Insert, service: Service, catalog: Catalog, queries: Queries) -> None:
    """Write all rows, or none. An INSERT is refused if a key exists, or comes twice. UsageError for a stream."""
    things = catalog.all()
    mapping = things.get(insert.mapping)
    if not isinstance(mapping, Mapping):
        raise NotFoundError(insert.place.prefix + f"Mapping does not exist: {insert.mapping}")
    connector, prefix = connector_of(mapping), insert.place.prefix
    if connector.sink is None:
        raise UsageError(prefix + f"{insert.writing} INTO clause is not supported for {connector.name}")
    objection = connector.objection(mapping, insert.writing) if connector is not IMAP else None
    if objection is not None:
        raise UsageError(prefix + f"{insert.writing} INTO clause is not supported for {connector.name}{objection}")
    if streams(insert.query, things):
        raise UsageError(prefix + "You must use CREATE JOB statement for a streaming DML query")
    if connector is not IMAP:
        raise UsageError(prefix + f"Only maps are written at once: a mapping of TYPE {connector.name} is written by CREATE JOB")
    new, single, entries = insert.writing is Writing.INSERT, is_single(mapping), dict[str, str]()
    for key, value in select(_entries(insert, mapping), service, catalog, queries).rows:
        if key is None:
            raise UsageError(insert.place.prefix + f"Column '{KEY}' needs a value")
        text = str(key)
        if new and text in entries:
            raise ConflictError(insert.place.prefix + f"Duplicate key: {text}")
        # A value that is no object comes as {"v":...}.
        entries[text] = str(value)[5:-1] if single else str(value)
    if not entries:
        return
    try:
        service.map_put(mapping.outside, entries, expected_version=0 if new else None)
    except ConflictError as error:
        if "key" not in error.details:
            raise
        raise ConflictError(insert.place.prefix + f"Duplicate key: {error.details['key']}") from None


def _entries(insert: Insert, mapping: Mapping) -> Query:
    """Return the query of keys and values, as the JSON that a job would write. Its errors keep their place in the text."""
    types = {column.name: column.type for column in mapping.columns}
    targets = targets_of(insert, types)
    casts = {target: f"CAST(c{number} AS {types[target]})" for number, target in enumerate(targets)}
    single = is_single(mapping)
    fields = ", ".join(
        f"{casts.get(column.name, f'CAST(NULL AS {column.type})')} AS {'v' if single else quoted(column.outside)}"
        for column in mapping.columns
        if column.name != KEY
    )
    value = f"to_json(struct({fields}), {OPTIONS})" if fields else "'{}'"
    names = ", ".join(f"c{number}" for number in range(len(targets)))
    # The user's text on a separate line, indented by as many blanks as before.
    place = insert.query.place
    before = " " * (place.column - 1)
    text = f"SELECT CAST({casts[KEY]} AS STRING), {value} FROM (\n{before}{insert.query.text}\n) AS given ({names})"
    return Query(text, Place(place.line - 1, 1, place.line - 1, 1))
