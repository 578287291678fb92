"""Open the store: engine, pragmas, read and write transactions, migrations."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event, inspect, make_url, text
from sqlalchemy.exc import DBAPIError

from pitstop.errors import EngineError

HEAD = "0004"
"""The newest migration; kept here so that opening a current store needs no alembic."""

BUSY_SECONDS = 30
"""How long a writer waits for the writers before it."""

PAGE_BYTES = 8192
CHECKPOINT_PAGES = 8192
"""Commits go to the write-ahead log, and at 64 MiB from there to the file. Measured with 10,000 random upserts of 100,000
entries a commit: SQLite's own 4 KiB and 1,000 pages write and sync each page again for each commit, which took a third longer."""


class Database:
    """A store that many processes and threads share."""

    def __init__(self, engine: Engine, url: str) -> None:
        self.engine = engine
        self.url = url
        self._local = threading.local()
        self._watch_lock = threading.Lock()
        self._watching: sqlite3.Connection | None = None

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """Read; all statements within it see the store at one moment.

        Inside :meth:`write` of the same thread, they see what it has written so far.
        """
        outer: Connection | None = getattr(self._local, "connection", None)
        if outer is not None:
            yield outer
            return
        with self._told(), self.engine.connect() as connection:
            connection.exec_driver_sql("BEGIN")
            yield connection

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """A write transaction. It takes the write lock at once, so it never fails half-way for another writer.

        Within another one of the same thread it is part of that one: both happen wholly or not at all, and if this
        one raises, it alone is undone when the outer one goes on.
        """
        outer: Connection | None = getattr(self._local, "connection", None)
        if outer is not None:
            with _savepoint(outer):
                yield outer
            return
        with self._told(), self.engine.connect() as connection:
            connection.exec_driver_sql("BEGIN IMMEDIATE")
            self._local.connection = connection
            try:
                yield connection
                connection.exec_driver_sql("COMMIT")
            except BaseException:
                # A full disk makes SQLite roll back by itself.
                if _driver(connection).in_transaction:
                    connection.exec_driver_sql("ROLLBACK")
                raise
            finally:
                self._local.connection = None

    def data_version(self) -> int:
        """A number that changes when anybody, in any process, has committed to the store.

        It costs a few microseconds: a follower compares it many times a second and reads only when it has changed.
        """
        with self._watch_lock, self._told():
            if self._watching is None:
                self._watching = sqlite3.connect(
                    make_url(self.url).database or "", timeout=BUSY_SECONDS, check_same_thread=False, isolation_level=None
                )
            return int(self._watching.execute("PRAGMA data_version").fetchone()[0])

    def close(self) -> None:
        with self._watch_lock:
            if self._watching is not None:
                self._watching.close()
                self._watching = None
        self.engine.dispose()

    @contextmanager
    def _told(self) -> Iterator[None]:
        """What SQLite says becomes one sentence; broken rules of the schema stay for the caller to explain."""
        try:
            yield
        except (DBAPIError, sqlite3.Error) as error:
            cause = error.orig if isinstance(error, DBAPIError) else error
            if isinstance(cause, sqlite3.OperationalError) or type(cause) is sqlite3.DatabaseError:
                raise EngineError(_sentence(self.url, str(cause))) from error
            raise


def open_database(url: str) -> Database:
    """Open the store at a SQLAlchemy URL (``sqlite:////abs/path.db``) and bring it to the current schema.

    SQLite runs in WAL mode with ``synchronous=NORMAL``: a commit survives the death of any process at once, and
    a loss of power may undo the last commits but never damages the file. ``PITSTOP_SYNCHRONOUS=FULL`` syncs each commit.
    Raises EngineError if the store cannot be opened, or a later release has written it.
    """
    if not url.startswith("sqlite"):
        raise EngineError(f"The store at {url.split('@')[-1]} is no SQLite file: this release keeps its store in SQLite.")
    engine = create_engine(url, connect_args={"timeout": BUSY_SECONDS, "check_same_thread": False, "isolation_level": None})
    event.listen(engine, "connect", _prepare)
    database = Database(engine, url)
    migrate(database)
    return database


def sqlite_url(path: Path) -> str:
    """The URL of a SQLite store in a file."""
    return f"sqlite:///{path.resolve()}"


def _prepare(connection: Any, _record: Any) -> None:
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


def _sentence(url: str, cause: str) -> str:
    if "locked" in cause:
        return f"The store {url} is busy: another process has been writing for {BUSY_SECONDS} s. End that process, or try again."
    if "full" in cause:
        return f"The disk of the store {url} is full ({cause}): make room and try again."
    if "unable to open" in cause:
        return f"The store {url} cannot be opened: see that its folder exists and may be written."
    return f"The store {url} cannot be used: {cause}."


def _driver(connection: Connection) -> sqlite3.Connection:
    driver = connection.connection.driver_connection
    assert isinstance(driver, sqlite3.Connection)
    return driver


def driver_cursor(connection: Connection) -> sqlite3.Cursor:
    """A cursor of the driver itself in the connection's transaction, for statements where each microsecond a row counts."""
    return _driver(connection).cursor()


@contextmanager
def _savepoint(connection: Connection) -> Iterator[None]:
    connection.exec_driver_sql("SAVEPOINT inner_write")
    try:
        yield
    except BaseException:
        if _driver(connection).in_transaction:
            connection.exec_driver_sql("ROLLBACK TO inner_write")
            connection.exec_driver_sql("RELEASE inner_write")
        raise
    connection.exec_driver_sql("RELEASE inner_write")


_migrating = threading.Lock()


def migrate(database: Database, revision: str = "head") -> None:
    """Bring the schema up (or down) to a revision; nothing to do is quick. Safe in several processes at once."""
    current = _revision(database)
    if revision == "head" and current == HEAD:
        return
    if current is not None and current > HEAD:
        raise EngineError(
            f"The store {database.url} was written by a later release (schema {current}, this one knows {HEAD}): upgrade Pitstop."
        )
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations").replace("%", "%%"))
    with _migrating, database.write() as connection:
        current = _revision_of(connection)
        if revision == "head" and current == HEAD:
            return
        config.attributes["connection"] = connection
        if revision == "base" or (revision != "head" and current is not None and revision < current):
            command.downgrade(config, revision)
        else:
            command.upgrade(config, revision)


def _revision(database: Database) -> str | None:
    with database.read() as connection:
        return _revision_of(connection)


def _revision_of(connection: Connection) -> str | None:
    if not inspect(connection).has_table("alembic_version"):
        return None
    row = connection.execute(text("SELECT version_num FROM alembic_version")).first()
    return str(row[0]) if row else None
