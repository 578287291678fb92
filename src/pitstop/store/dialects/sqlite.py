"""SQLite: one file that processes of one machine share.

It runs in WAL mode with ``synchronous=NORMAL``: a commit survives the death of any process at once, and a loss of power may
undo the last commits but never damages the file. ``PITSTOP_SYNCHRONOUS=FULL`` syncs each commit.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Sequence
from functools import cache
from typing import Any

from sqlalchemy import Connection, Engine, Executable, Table, create_engine, event, make_url
from sqlalchemy.dialects.sqlite import insert

BUSY_SECONDS = 30
"""The longest that a writer waits for the writers before it, in seconds."""

POOLED = 16
"""The number of connections that are kept open; as many again may be opened for a while. Writers hold one while they wait for
their turn, so the doors let in fewer of them at once (rest.threads) than there are connections."""
PAGE_BYTES = 8192
CHECKPOINT_PAGES = 8192
"""The pages at which the write-ahead log goes to the file, 64 MiB. Measured with 10,000 random upserts of 100,000 entries a
commit: SQLite's own 4 KiB and 1,000 pages write and sync each page again for each commit, which took a third longer."""


MUCH_FREE_BYTES = 16 << 20
MOST_COPIED_BYTES = 256 << 20
"""VACUUM copies what is live, and writers wait meanwhile: 0.07 s with 10 MB and 0.56 s with 40 MB, on a busy machine. Freeing
page by page (``incremental_vacuum``, 256 pages at once) took more than ten minutes there for 90 MB."""
_SIZES = ("page_count", "freelist_count", "page_size")


class RowCursor(sqlite3.Cursor):
    """dialects.ports.Cursor. Whoever writes has the whole file."""

    for_update = for_share = ""

    def keyed(self, table: str, map_id: int, keys: Sequence[str]) -> tuple[str, list[Any]]:
        return f"{table} WHERE map_id = ? AND key IN ({','.join('?' * len(keys))})", [map_id, *keys]


class Sqlite:
    """dialects.ports.Dialect of SQLite."""

    driver_error: type[Exception] = sqlite3.Error
    longest_key: int | None = None

    def engine(self, url: str) -> Engine:
        engine = create_engine(
            url,
            connect_args={"timeout": BUSY_SECONDS, "check_same_thread": False, "isolation_level": None},
            pool_size=POOLED,
            max_overflow=POOLED,
        )
        event.listen(engine, "connect", _prepare)
        return engine

    def place(self, url: str) -> object | None:
        # A process that has the file open goes on with it although nobody else finds it any more.
        try:
            status = os.stat(_file(url))
        except OSError:
            return None
        return status.st_dev, status.st_ino

    def begin_read(self, connection: Connection) -> None:
        connection.exec_driver_sql("BEGIN")

    def begin_write(self, connection: Connection) -> None:
        # Takes the write lock at once: a transaction that reads first would fail if another one wrote meanwhile.
        connection.exec_driver_sql("BEGIN IMMEDIATE")

    def begin_write_beside(self, connection: Connection) -> None:
        self.begin_write(connection)

    def now(self, connection: Connection) -> float:
        return time.time()

    def in_transaction(self, connection: Connection) -> bool:
        # A full disk makes SQLite roll back by itself.
        return _driver(connection).in_transaction

    def upsert(self, table: Table, key: Sequence[str], values: dict[str, Any]) -> Executable:
        others = {column: value for column, value in values.items() if column not in key}
        return insert(table).values(**values).on_conflict_do_update(index_elements=list(key), set_=others)

    def json_text(self, column: str, field: str) -> str:
        return f"json_extract({column}, '$.{field}')"

    def cursor(self, connection: Connection) -> RowCursor:
        return _driver(connection).cursor(RowCursor)

    def give_back_space(self, connection: Connection) -> None:
        driver = _driver(connection)
        pages, free, size = (int(driver.execute(f"PRAGMA {name}").fetchone()[0]) for name in _SIZES)
        live = (pages - free) * size
        if free * size >= MUCH_FREE_BYTES and free * size >= live and live <= MOST_COPIED_BYTES:
            driver.execute("VACUUM")
            driver.execute("PRAGMA wal_checkpoint(PASSIVE)")  # only then the file is smaller

    def wake(self, engine: Engine, url: str) -> None:
        return None

    def explain(self, error: Exception, url: str) -> str | None:
        if not isinstance(error, sqlite3.OperationalError) and type(error) is not sqlite3.DatabaseError:
            return None
        cause = str(error)
        if "locked" in cause:
            return (
                f"The store {url} is busy: another process has been writing for {BUSY_SECONDS} s. End that process, or try again."
            )
        if "full" in cause:
            return f"The disk of the store {url} is full ({cause}): make room and try again."
        if "unable to open" in cause:
            return f"The store {url} cannot be opened: see that its folder exists and may be written."
        return f"The store {url} cannot be used: {cause}."


@cache
def _file(url: str) -> str:
    return make_url(url).database or ""


def _prepare(connection: sqlite3.Connection, _record: object) -> None:
    level = os.environ.get("PITSTOP_SYNCHRONOUS", "NORMAL").upper()
    cursor = connection.cursor()
    for pragma in (
        f"page_size={PAGE_BYTES}",  # of a new file; an existing one keeps its own
        "journal_mode=WAL",
        f"synchronous={'FULL' if level == 'FULL' else 'NORMAL'}",
        f"wal_autocheckpoint={CHECKPOINT_PAGES}",
        f"journal_size_limit={PAGE_BYTES * CHECKPOINT_PAGES}",
        "foreign_keys=ON",
        "cache_size=-65536",
    ):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _driver(connection: Connection) -> sqlite3.Connection:
    driver = connection.connection.driver_connection
    assert isinstance(driver, sqlite3.Connection)
    return driver
