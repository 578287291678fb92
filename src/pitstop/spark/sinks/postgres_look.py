"""A look at a table of PostgreSQL before a job writes it: columns that it misses, or has of another type, and its key."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pitstop.machine.named_secrets import revealed_url
from pitstop.pipeline.sink import PostgresSink
from pitstop.spark.base.databases import first_line
from pitstop.spark.base.looking import LOOK_SECONDS

if TYPE_CHECKING:
    from psycopg import Cursor

_WHOLE = ("smallint", "integer", "bigint")
_NUMBERS = (*_WHOLE, "numeric", "real", "double precision")
_TEXTS = ("text", "character varying", "character", "bpchar")
_TIMES = ("timestamp with time zone", "timestamp without time zone")
_TAKES: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("tinyint", "smallint", "int", "bigint"), (*_NUMBERS, *_TEXTS)),
    **dict.fromkeys(("float", "double", "decimal"), (*_NUMBERS[3:], *_TEXTS)),
    **dict.fromkeys(("timestamp", "timestamp_ntz"), (*_TIMES, *_TEXTS)),
    "date": ("date", *_TIMES, *_TEXTS),
    "boolean": ("boolean", *_TEXTS),
    "binary": ("bytea", *_TEXTS),
    **dict.fromkeys(("array", "struct", "map"), ("json", "jsonb", *_TEXTS)),
}
"""Type of Spark -> the types of PostgreSQL that hold its values. Any other type is taken for one that can be."""
_NO_TEXTS = (*_NUMBERS, *_TIMES, "date", "boolean", "bytea")
"""Types whose columns do not hold any text."""
_COLUMNS = """
    SELECT a.attname, format_type(coalesce(nullif(t.typbasetype, 0), t.oid), NULL),
           a.attnotnull AND NOT a.atthasdef AND a.attidentity = '' AND a.attgenerated = ''
    FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
    WHERE a.attrelid = to_regclass(%s) AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum
"""
_KEYS = """
    SELECT ARRAY(
        SELECT a.attname::text FROM pg_attribute a
        WHERE a.attrelid = i.indrelid AND a.attnum = ANY((i.indkey::int2[])[0:i.indnkeyatts - 1])
    )
    FROM pg_index i WHERE i.indrelid = to_regclass(%s) AND i.indpred IS NULL AND i.indexprs IS NULL
        AND i.indisunique AND i.indimmediate AND i.indisvalid
"""
"""The columns of each index that ON CONFLICT can go by, without those that it only includes."""


@dataclass(frozen=True)
class _Column:
    type: str
    needed: bool
    """True if each row must have a value for it."""


def look_at_table(sink: PostgresSink, columns: tuple[tuple[str, str], ...], target: str, place: str) -> str:
    """Return what rows of these columns find. ``target``: the table's name as SQL; ``place``: in words."""
    import psycopg

    try:
        with psycopg.connect(revealed_url(sink.url), connect_timeout=LOOK_SECONDS) as connection, connection.cursor() as cursor:
            cursor.execute(f"SET statement_timeout = {LOOK_SECONDS * 1000}")
            cursor.execute("SET TRANSACTION READ ONLY")
            present = _present(cursor, target)
            keys = [set(row[0]) for row in cursor.execute(_KEYS, (target,)).fetchall()]
    except psycopg.OperationalError as error:
        return f"cannot reach {place}: {first_line(error)}"
    if not present:
        return f"writes {place}, which is not there"
    objections = _objections(sink, columns, present, keys)
    return f"writes {place}: {'; '.join(objections) if objections else 'it has all columns, of types that hold them'}"


def _present(cursor: Cursor[Any], target: str) -> dict[str, _Column]:
    return {name: _Column(kind, needed) for name, kind, needed in cursor.execute(_COLUMNS, (target,)).fetchall()}


def _objections(
    sink: PostgresSink, columns: tuple[tuple[str, str], ...], present: dict[str, _Column], keys: list[set[str]]
) -> list[str]:
    missing = [f"column '{name}' ({kind})" for name, kind in columns if name not in present]
    objections = [f"it has no {' and no '.join(missing)}"] if missing else []
    for name, kind in columns:
        if name in present and not _holds(present[name].type, kind):
            objections.append(f"column '{name}' is {present[name].type}, and rows have {kind}")
    names = {name for name, _ in columns}
    for name, column in present.items():
        if column.needed and name not in names:
            objections.append(f"column '{name}' needs a value and has no default, and rows have no such column")
    if sink.key and set(sink.key) not in keys:
        objections.append(f"it has no unique index of the key ({', '.join(sink.key)})")
    return objections


def _holds(kind: str, spark: str) -> bool:
    base = spark.partition("(")[0].partition("<")[0]
    if base == "string":
        return kind not in _NO_TEXTS
    return base not in _TAKES or kind in _TAKES[base]
