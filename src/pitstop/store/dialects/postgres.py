"""PostgreSQL: one server that the processes of several machines share.

Decisions of the control plane (``begin_write``) take one advisory lock, and so come one after another, as on SQLite. No isolation
level would make a read that leads to a write safe without trying again. Writes of runs (``begin_write_beside``) go on beside
decisions and beside one another. A write of a run locks the row of its job, which fences it, and the row of the map that it
changes, until it commits. Both are READ COMMITTED, where a locked row is read as it was committed last.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain, islice
from typing import Any

import psycopg
from psycopg.types.string import TextLoader
from sqlalchemy import Connection, Engine, Executable, Table, create_engine, event
from sqlalchemy.dialects.postgresql import insert

from pitstop.store.dialects.notify import NotifyWake
from pitstop.store.dialects.postgres_url import driver_url

BUSY_SECONDS = 30
"""The longest that a writer waits for the writers before it, in seconds."""
IDLE_SECONDS = 60
"""The longest that a process in a transaction may be silent, as a stopped one is, in seconds. Then the server undoes the
transaction and releases its locks. A sink's update function works in there, too."""
DECIDING_SECONDS = 5
"""The longest silence in a decision, in seconds: a successor to a hanging control plane must not wait for longer."""
POOLED = 16
"""The number of connections that are kept open, as with SQLite; as many again may be opened for a while."""
SETTINGS = {
    "lock_timeout": f"{BUSY_SECONDS}s",
    "idle_in_transaction_session_timeout": f"{IDLE_SECONDS}s",
    "tcp_keepalives_idle": "3",
    "tcp_keepalives_interval": "2",
    "tcp_keepalives_count": "3",
    "timezone": "UTC",
}
"""The settings of each session. By them the server, too, notices a client that is cut off, and releases its locks."""
LONGEST_KEY = 2_600
"""The longest key, in bytes. A row of an index takes a third of a page at most, 2,704 bytes, including the numbers beside a map's
key."""
_BEYOND_LIMITS = "54"
"""The class of errors about too large or too many things, which waiting does not mend."""
ROWS = 500
"""The number of rows written by one statement."""
DECISIONS = 7_074_701
"""The advisory lock of decisions."""

_AWAY = (psycopg.OperationalError, psycopg.InterfaceError, psycopg.InternalError, psycopg.errors.InsufficientPrivilege)


class RowCursor:
    """dialects.ports.Cursor over a cursor of psycopg."""

    for_update, for_share = " FOR UPDATE", " FOR SHARE"

    def __init__(self, cursor: psycopg.Cursor[Any]) -> None:
        self._cursor = cursor
        # As SQLite gives it: who reads a thousand jobs knows most of them by their texts.
        cursor.adapters.register_loader("json", TextLoader)

    def execute(self, sql: str, arguments: Sequence[Any] = (), /) -> RowCursor:
        self._cursor.execute(_with_marks(sql), arguments)
        return self

    def executemany(self, sql: str, arguments: Iterable[Sequence[Any]], /) -> RowCursor:
        head, row, tail = _parts(_with_marks(sql))
        if not row:
            self._cursor.executemany(head, arguments)
            return self
        if not tail:
            fixed = [field for field in row[1:-1].split(", ") if field != "%s"]  # they come first
            with self._cursor.copy(f"COPY {head.removeprefix('INSERT INTO ').removesuffix(' VALUES ')} FROM STDIN") as copy:
                for each in arguments:
                    copy.write_row((*fixed, *each))
            return self
        # Many rows a statement: one each takes three times as long.
        remaining_rows = iter(arguments)
        while some := list(islice(remaining_rows, ROWS)):
            rows = ", ".join([row] * len(some))
            self._cursor.execute(head + rows + tail, list(chain.from_iterable(some)), prepare=len(some) == ROWS)
        return self

    def keyed(self, table: str, map_id: int, keys: Sequence[str]) -> tuple[str, list[Any]]:
        # A table that is new has no statistics, and the planner would go through all rows of the map for each few keys. It
        # cannot take a subquery with an OFFSET apart, and so has to look up one key after another.
        each = f"SELECT * FROM {table} WHERE map_id = ? AND key = wanted_key OFFSET 0"
        return f"unnest(?::text[]) AS wanted(wanted_key) CROSS JOIN LATERAL ({each}) AS found WHERE true", [list(keys), map_id]

    def fetchone(self) -> Any:
        return self._cursor.fetchone()

    def fetchall(self) -> list[Any]:
        return self._cursor.fetchall()

    def __iter__(self) -> Iterator[Any]:
        return iter(self._cursor)


class Postgres:
    """dialects.ports.Dialect of PostgreSQL, version 13 or later."""

    driver_error: type[Exception] = psycopg.Error
    longest_key: int | None = LONGEST_KEY

    def engine(self, url: str) -> Engine:
        engine = create_engine(
            driver_url(url), isolation_level="AUTOCOMMIT", pool_size=POOLED, max_overflow=POOLED, pool_pre_ping=True
        )
        event.listen(engine, "connect", _prepare)
        return engine

    def place(self, url: str) -> object | None:
        return None

    def begin_read(self, connection: Connection) -> None:
        connection.exec_driver_sql("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")

    def begin_write(self, connection: Connection) -> None:
        connection.exec_driver_sql(
            f"BEGIN; SET LOCAL idle_in_transaction_session_timeout = '{DECIDING_SECONDS}s'; "
            f"SELECT pg_advisory_xact_lock({DECISIONS})"
        )

    def begin_write_beside(self, connection: Connection) -> None:
        connection.exec_driver_sql("BEGIN")

    def now(self, connection: Connection) -> float:
        # Not the time at which the transaction began: it may have waited since.
        return float(connection.exec_driver_sql("SELECT extract(epoch FROM clock_timestamp())").scalar_one())

    def in_transaction(self, connection: Connection) -> bool:
        if connection.invalidated:  # the server, or the way to it, has ended the session
            return False
        status = _driver(connection).info.transaction_status
        return status in (psycopg.pq.TransactionStatus.INTRANS, psycopg.pq.TransactionStatus.INERROR)

    def upsert(self, table: Table, key: Sequence[str], values: dict[str, Any]) -> Executable:
        others = {column: value for column, value in values.items() if column not in key}
        return insert(table).values(**values).on_conflict_do_update(index_elements=list(key), set_=others)

    def json_text(self, column: str, field: str) -> str:
        # Texts of users may have a NUL in them, which the server keeps and does not take out again.
        return rf"replace({column}::text, '\u0000', '\u0020')::json ->> '{field}'"

    def give_back_space(self, connection: Connection) -> None:
        """Do nothing: PostgreSQL returns space by itself (autovacuum)."""

    def cursor(self, connection: Connection) -> RowCursor:
        return RowCursor(_driver(connection).cursor())

    def wake(self, engine: Engine, url: str) -> NotifyWake:
        return NotifyWake(engine, url)

    def explain(self, error: Exception, url: str) -> str | None:
        if not isinstance(error, _AWAY) or (getattr(error, "sqlstate", None) or "").startswith(_BEYOND_LIMITS):
            return None
        cause = " ".join(str(error).split())
        if isinstance(error, psycopg.errors.LockNotAvailable):
            return f"The store {url} is busy: another process has been writing for {BUSY_SECONDS} s. End it, or try again."
        if isinstance(error, psycopg.errors.DiskFull):
            return f"The disk of the store {url} is full ({cause}): make room and try again."
        return f"The store {url} cannot be used: {cause}."


@lru_cache(maxsize=128)
def _parts(sql: str) -> tuple[str, str, str]:
    """Return the text before the row of an INSERT, the row, and the text after it; another statement has no row."""
    match = re.fullmatch(r"(INSERT .*? VALUES )(\([^()]*\))(.*)", sql, re.DOTALL)
    return (match[1], match[2], match[3]) if match is not None else (sql, "", "")


@lru_cache(maxsize=1024)
def _with_marks(sql: str) -> str:
    return sql.replace("%", "%%").replace("?", "%s")


def _prepare(connection: psycopg.Connection[Any], _record: object) -> None:
    connection.execute("; ".join(f"SET {name} = '{value}'" for name, value in SETTINGS.items()))


def _driver(connection: Connection) -> psycopg.Connection[Any]:
    driver = connection.connection.driver_connection
    assert isinstance(driver, psycopg.Connection)
    return driver
