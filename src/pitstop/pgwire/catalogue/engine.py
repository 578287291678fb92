"""An SQLite in memory that can only read its own tables. Each query ends within bounds."""

from __future__ import annotations

import functools
import math
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from pg_mimic import PgError

from pitstop.pgwire.catalogue.tables import Rows, Table, World, fixed_rows, rows, tables

SYNTAX, UNKNOWN_TABLE, UNKNOWN_COLUMN, UNKNOWN_FUNCTION = "42601", "42P01", "42703", "42883"
NOT_SUPPORTED, TOO_MUCH, ENDED, WRONG_PATTERN, WRONG_VALUE = "0A000", "54000", "57014", "2201B", "22023"

MOST_HEAP = 256 << 20
"""The most bytes that SQLite takes in this process, for all clients together."""
_LIMITS = {
    sqlite3.SQLITE_LIMIT_LENGTH: 100_000,
    sqlite3.SQLITE_LIMIT_SQL_LENGTH: 1 << 20,
    sqlite3.SQLITE_LIMIT_COLUMN: 500,
    sqlite3.SQLITE_LIMIT_EXPR_DEPTH: 200,
    sqlite3.SQLITE_LIMIT_COMPOUND_SELECT: 50,
    sqlite3.SQLITE_LIMIT_VDBE_OP: 200_000,
    sqlite3.SQLITE_LIMIT_FUNCTION_ARG: 30,
    sqlite3.SQLITE_LIMIT_ATTACHED: 0,
    sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH: 100,
    sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER: 1000,
    sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH: 0,
    sqlite3.SQLITE_LIMIT_WORKER_THREADS: 0,
}


@dataclass(frozen=True)
class Bounds:
    """The bounds of one query."""

    seconds: float = 5.0
    rows: int = 100_000
    bytes: int = 32 << 20


class Engine:
    """The tables of the catalogue. A query may call ``functions``, and the functions of SQLite in ``plain``."""

    def __init__(self, world: World, functions: dict[str, Callable[..., Any]], plain: frozenset[str], bounds: Bounds) -> None:
        self._bounds, self._until = bounds, math.inf
        self._failure: Exception | None = None
        self._connection = _empty()
        with _COPYING:
            _fixed(World({}, world.user, world.database)).backup(self._connection)
        self._readable = frozenset(each.inside for each in tables().values())
        self._callable = plain | functions.keys()
        _fill(self._connection, rows(world))
        for name, function in functions.items():
            self._connection.create_function(name, -1, self._guarded(function), deterministic=False)
        self._connection.execute(f"PRAGMA hard_heap_limit = {MOST_HEAP}")
        self._connection.execute("PRAGMA temp_store = MEMORY")
        self._connection.execute("PRAGMA trusted_schema = OFF")
        self._connection.execute("PRAGMA query_only = ON")
        for limit, most in _LIMITS.items():
            self._connection.setlimit(limit, most)
        self._connection.set_progress_handler(self._is_over, 1000)
        self._connection.set_authorizer(self._allowed)

    def answer(self, query: str, values: list[Any]) -> list[tuple[Any, ...]]:
        """Return the rows of a query of SQLite. PgError if the query cannot be answered, or is not allowed."""
        self._until, self._failure = time.monotonic() + self._bounds.seconds, None
        rows: list[tuple[Any, ...]] = []
        size = 0
        try:
            for row in self._connection.execute(query, values):
                rows.append(row)
                size += sum(len(value) if isinstance(value, (str, bytes)) else 8 for value in row)
                if len(rows) > self._bounds.rows or size > self._bounds.bytes:
                    raise PgError(TOO_MUCH, f"The catalogue answers with {self._bounds.rows:,} rows at most")
        except (sqlite3.Error, sqlite3.Warning, MemoryError, OverflowError, ValueError) as error:
            raise self._as_pg_error(error) from None
        return rows

    def end(self) -> None:
        """End the query that another thread is computing."""
        self._until = 0.0
        self._connection.interrupt()

    def _as_pg_error(self, error: Exception) -> PgError:
        if isinstance(self._failure, PgError):
            return self._failure
        if time.monotonic() >= self._until:
            return PgError(ENDED, f"The catalogue's answer takes longer than {self._bounds.seconds:g} s: request less")
        if isinstance(error, MemoryError):
            return PgError(TOO_MUCH, "The catalogue's answer takes too much memory: request less")
        return PgError(NOT_SUPPORTED, f"The catalogue cannot answer this: {error}")

    def _guarded(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def called(*values: Any) -> Any:
            if self._is_over():
                raise TimeoutError
            try:
                return function(*values)
            except PgError as error:
                self._failure = error
            except Exception as error:  # clients pass values of any kind to functions of the catalogue
                self._failure = PgError(WRONG_VALUE, f"{type(error).__name__}: a function cannot take this value")
            raise ValueError

        return called

    def _is_over(self) -> bool:
        return time.monotonic() >= self._until

    def _allowed(self, action: int, first: str | None, second: str | None, schema: str | None, inside: str | None) -> int:
        match action:
            case sqlite3.SQLITE_SELECT | sqlite3.SQLITE_RECURSIVE:
                return sqlite3.SQLITE_OK
            case sqlite3.SQLITE_READ if first in self._readable:
                return sqlite3.SQLITE_OK
            case sqlite3.SQLITE_READ if second == "" and (first is None or first.startswith(CTE)):
                # A sub-query of which no column is needed.
                return sqlite3.SQLITE_OK
            case sqlite3.SQLITE_FUNCTION if second in self._callable:
                return sqlite3.SQLITE_OK
        return sqlite3.SQLITE_DENY


_COPYING = threading.Lock()


@functools.lru_cache(8)
def _fixed(world: World) -> sqlite3.Connection:
    """Return the tables that all worlds of a user and a database share. They are copied, since filling them takes 0.1 seconds."""
    database = _empty()
    for each in tables().values():
        database.execute(f"CREATE TABLE {quoted(each.inside)} ({', '.join(_columns(each))})")
    _fill(database, fixed_rows(world))
    return database


def _empty() -> sqlite3.Connection:
    return sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None, cached_statements=0)


def _fill(connection: sqlite3.Connection, tables: Rows) -> None:
    connection.execute("BEGIN")
    for table, each in tables:
        names = list(table.columns)
        places = ", ".join("?" * len(names))
        connection.executemany(
            f"INSERT INTO {quoted(table.inside)} VALUES ({places})", ([row.get(name) for name in names] for row in each)
        )
    connection.execute("COMMIT")


CTE = "with "
"""The prefix of the names of clients' CTEs, so that none equals the name of a table."""


def quoted(name: str) -> str:
    """Return a name quoted for SQLite, with any letters."""
    return '"' + name.replace('"', '""') + '"'


INTEGERS = frozenset({"oid", "bigint", "integer", "smallint", "boolean", "xid", "regproc", "regtype"})


def _columns(table: Table) -> Iterable[str]:
    for name, kind in table.columns.items():
        yield f"{quoted(name)} {'INTEGER' if kind in INTEGERS else 'REAL' if kind == 'real' else 'TEXT'}"
