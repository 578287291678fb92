"""Open the store: read and write transactions, migrations."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import Connection, Engine, inspect, text
from sqlalchemy.exc import DBAPIError

from pitstop.errors import EngineError, StoreError
from pitstop.store.dialects.ports import Cursor, Dialect, VersionReader
from pitstop.store.dialects.sqlite import Sqlite

HEAD = "0006"
"""The newest migration; kept here so that opening a current store needs no alembic."""


class Database:
    """A store that many processes and threads share."""

    def __init__(self, engine: Engine, url: str, dialect: Dialect) -> None:
        self.engine, self.url, self.dialect = engine, url, dialect
        self._local = threading.local()
        self._place: object | None = None
        """What the URL led to when the store was opened; None while it is being opened."""
        self._watch_lock = threading.Lock()
        self._watching: VersionReader | None = None

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
            self.dialect.begin_read(connection)
            yield connection

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """A write transaction. It waits for the writers before it, so it never fails half-way for another writer.

        Within another one of the same thread it is part of that one: both happen wholly or not at all, and if this
        one raises, it alone is undone when the outer one goes on.
        """
        outer: Connection | None = getattr(self._local, "connection", None)
        if outer is not None:
            with self._savepoint(outer):
                yield outer
            return
        with self._told(), self.engine.connect() as connection:
            self.dialect.begin_write(connection)
            self._local.connection = connection
            try:
                yield connection
                connection.exec_driver_sql("COMMIT")
            except BaseException:
                if self.dialect.in_transaction(connection):
                    connection.exec_driver_sql("ROLLBACK")
                raise
            finally:
                self._local.connection = None

    @contextmanager
    def read_rows(self) -> Iterator[Cursor]:
        """As :meth:`read`, for statements that go to the driver."""
        with self.read() as connection:
            yield self.dialect.cursor(connection)

    @contextmanager
    def write_rows(self) -> Iterator[Cursor]:
        """As :meth:`write`, for statements that go to the driver."""
        with self.write() as connection:
            yield self.dialect.cursor(connection)

    def data_version(self) -> int:
        """A number that changes when anybody, in any process, has committed to the store.

        It costs a few microseconds: a follower compares it many times a second and reads only when it has changed.
        """
        with self._watch_lock, self._told():
            if self._watching is None:
                self._watching = self.dialect.version_reader(self.url)
            return self._watching.read()

    def give_back_space(self) -> None:
        """Give back space that was freed; not within a transaction."""
        with self._told(), self.engine.connect() as connection:
            self.dialect.give_back_space(connection)

    def close(self) -> None:
        with self._watch_lock:
            if self._watching is not None:
                self._watching.close()
                self._watching = None
        self.engine.dispose()

    @contextmanager
    def _told(self) -> Iterator[None]:
        """What the database says becomes one sentence; broken rules of the schema stay for the caller to explain."""
        self._check_place()
        try:
            yield
        except (DBAPIError, self.dialect.driver_error) as error:
            cause = error.orig if isinstance(error, DBAPIError) else error
            sentence = self.dialect.explain(cause, self.url) if isinstance(cause, Exception) else None
            if sentence is not None:
                raise StoreError(sentence) from error
            raise

    def settle(self) -> None:
        """Note what has been opened: from now on the store is away if that is not in its place any more."""
        self._place = self.dialect.place(self.url)

    def _check_place(self) -> None:
        if self._place is not None and self.dialect.place(self.url) != self._place:
            raise StoreError(
                f"The store {self.url} was removed or replaced while it was in use: put it back, or restart the server."
            )

    @contextmanager
    def _savepoint(self, connection: Connection) -> Iterator[None]:
        connection.exec_driver_sql("SAVEPOINT inner_write")
        try:
            yield
        except BaseException:
            if self.dialect.in_transaction(connection):
                connection.exec_driver_sql("ROLLBACK TO SAVEPOINT inner_write")
                connection.exec_driver_sql("RELEASE SAVEPOINT inner_write")
            raise
        connection.exec_driver_sql("RELEASE SAVEPOINT inner_write")


def open_database(url: str) -> Database:
    """Open the store at a SQLAlchemy URL (``sqlite:////abs/path.db``) and bring it to the current schema.

    Raises EngineError if the store cannot be opened, or a later release has written it.
    """
    if not url.startswith("sqlite"):
        raise EngineError(f"The store at {url.split('@')[-1]} is no SQLite file: this release keeps its store in SQLite.")
    dialect = Sqlite()
    database = Database(dialect.engine(url), url, dialect)
    migrate(database)
    database.settle()
    return database


def sqlite_url(path: Path) -> str:
    """The URL of a SQLite store in a file."""
    return f"sqlite:///{path.resolve()}"


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
