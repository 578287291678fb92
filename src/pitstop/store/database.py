"""Open the store: engine, pragmas, write transactions, migrations."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event, inspect, text
from sqlalchemy.exc import OperationalError

from pitstop.errors import EngineError

HEAD = "0001"
"""The newest migration; kept here so that opening a current store needs no alembic."""


class Database:
    """A store that many processes and threads share."""

    def __init__(self, engine: Engine, url: str) -> None:
        self.engine = engine
        self.url = url
        self._local = threading.local()

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """Read; inside :meth:`write` of the same thread, what it has written so far."""
        open_one: Connection | None = getattr(self._local, "connection", None)
        if open_one is not None:
            yield open_one
            return
        with self.engine.connect() as connection:
            yield connection

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """A write transaction. It takes the write lock at once, so it never fails half-way for another writer.

        Within another one of the same thread it is part of that one: all or nothing.
        """
        outer: Connection | None = getattr(self._local, "connection", None)
        if outer is not None:
            yield outer
            return
        with self.engine.connect() as connection:
            connection.exec_driver_sql("BEGIN IMMEDIATE")
            self._local.connection = connection
            try:
                yield connection
            except BaseException:
                connection.exec_driver_sql("ROLLBACK")
                raise
            finally:
                self._local.connection = None
            connection.exec_driver_sql("COMMIT")

    def close(self) -> None:
        self.engine.dispose()


def open_database(url: str) -> Database:
    """Open the store at a SQLAlchemy URL (``sqlite:////abs/path.db``) and bring it to the current schema.

    SQLite runs in WAL mode with ``synchronous=NORMAL``: a commit survives the death of any process at once, and
    a loss of power may undo the last commits but never damages the file. ``PITSTOP_SYNCHRONOUS=FULL`` syncs each commit.
    """
    if not url.startswith("sqlite"):
        raise EngineError(f"The store at {url.split('@')[-1]} is no SQLite file: this release keeps its store in SQLite.")
    engine = create_engine(url, connect_args={"timeout": 30, "check_same_thread": False, "isolation_level": None})
    event.listen(engine, "connect", _prepare)
    database = Database(engine, url)
    try:
        migrate(database)
    except OperationalError as error:
        raise EngineError(f"The store {url} cannot be opened: {error.orig}.") from error
    return database


def sqlite_url(path: Path) -> str:
    """The URL of a SQLite store in a file."""
    return f"sqlite:///{path.resolve()}"


def _prepare(connection: Any, _record: Any) -> None:
    import os

    level = os.environ.get("PITSTOP_SYNCHRONOUS", "NORMAL").upper()
    cursor = connection.cursor()
    for pragma in (
        "journal_mode=WAL",
        f"synchronous={'FULL' if level == 'FULL' else 'NORMAL'}",
        "busy_timeout=30000",
        "cache_size=-65536",
    ):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


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
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    with _migrating, database.write() as connection:
        if revision == "head" and _revision_of(connection) == HEAD:
            return
        config.attributes["connection"] = connection
        if revision == "head":
            command.upgrade(config, "head")
        else:
            command.downgrade(config, revision)


def _revision(database: Database) -> str | None:
    with database.read() as connection:
        return _revision_of(connection)


def _revision_of(connection: Connection) -> str | None:
    if not inspect(connection).has_table("alembic_version"):
        return None
    row = connection.execute(text("SELECT version_num FROM alembic_version")).first()
    return str(row[0]) if row else None
