"""Open the store: read and write transactions, migrations."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import Connection, Engine, inspect, text
from sqlalchemy.exc import DBAPIError

from pitstop.control.ports.wake import Wake
from pitstop.errors import EngineError, StoreError
from pitstop.kit.clock import Clock
from pitstop.store.dialects import dialect_of
from pitstop.store.dialects.ports import Cursor, Dialect

HEAD = "0021"
"""The newest migration; kept here so that opening a current store needs no alembic."""


class Database:
    """A store that many processes and threads share."""

    def __init__(self, engine: Engine, url: str, dialect: Dialect) -> None:
        self.engine, self.url, self.dialect = engine, url, dialect
        self._local = threading.local()
        self._place: object | None = None
        """The place that the URL led to when the store was opened; None while it is being opened."""
        self._may_write: Callable[[Connection], None] = lambda _: None

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """Begin a read transaction: all statements within it see the store at one moment.

        Inside :meth:`write` of the same thread, they see what it has written so far.
        """
        outer: Connection | None = getattr(self._local, "connection", None)
        if outer is not None:
            yield outer
            return
        with self._explained(), self.engine.connect() as connection:
            self.dialect.begin_read(connection)
            yield connection

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """Begin a write transaction, for decisions. It waits for those before it, so none fails half-way because of another.

        A transaction within another one of the same thread is part of it: both happen wholly or not at all. If the inner one
        raises, it alone is undone when the outer one goes on.
        """
        with self._write(self._begin_write) as connection:
            yield connection

    def _begin_write(self, connection: Connection) -> None:
        self.dialect.begin_write(connection)
        self._may_write(connection)

    @contextmanager
    def write_beside(self) -> Iterator[Connection]:
        """Begin a write transaction as :meth:`write`, but beside other writers where the database can.

        It locks the rows that it relies on.
        """
        with self._write(self.dialect.begin_write_beside) as connection:
            yield connection

    @contextmanager
    def _write(self, begin: Callable[[Connection], None]) -> Iterator[Connection]:
        outer: Connection | None = getattr(self._local, "connection", None)
        if outer is not None:
            with self._savepoint(outer):
                yield outer
            return
        with self._explained(), self.engine.connect() as connection:
            self._local.connection = connection
            try:
                begin(connection)
                yield connection
                connection.exec_driver_sql("COMMIT")
            except BaseException:
                if self.dialect.in_transaction(connection):
                    connection.exec_driver_sql("ROLLBACK")
                raise
            finally:
                self._local.connection = None

    def fenced(self, may_write: Callable[[Connection], None]) -> Database:
        """Return the store for a holder who may lose the right to decide.

        Each :meth:`write` begins with ``may_write``, which raises once the right is lost.
        """
        fenced = Database(self.engine, self.url, self.dialect)
        fenced._place, fenced._may_write = self._place, may_write
        return fenced

    @contextmanager
    def read_rows(self) -> Iterator[Cursor]:
        """Begin a read transaction as :meth:`read`, for statements that go to the driver."""
        with self.read() as connection:
            yield self.dialect.cursor(connection)

    @contextmanager
    def write_rows(self) -> Iterator[Cursor]:
        """Begin a write transaction as :meth:`write_beside`, for statements that go to the driver."""
        with self.write_beside() as connection:
            yield self.dialect.cursor(connection)

    def give_back_space(self) -> None:
        """Give back space that was freed; not within a transaction."""
        with self._explained(), self.engine.connect() as connection:
            self.dialect.give_back_space(connection)

    def wake(self) -> Wake | None:
        """Return the means by which processes that share the store wake one another through it; None if it is a file."""
        return self.dialect.wake(self.engine, self.url)

    def close(self) -> None:
        self.engine.dispose()

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Turn the database's errors into one sentence; broken rules of the schema stay for the caller to explain."""
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
        """Note what has been opened. From now on the store is away if that is not in its place any more."""
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
    """Open the store at a URL (``sqlite:////abs/path.db``, ``postgresql://host/name``) and bring it to the current schema.

    Raises EngineError if the store cannot be opened, or a later release has written it.
    """
    dialect = dialect_of(url)
    database = Database(dialect.engine(url), url, dialect)
    migrate(database)
    database.settle()
    return database


def store_clock(database: Database, clock: Clock | None = None) -> Callable[[Connection], float]:
    """Return the clock by which leases go: the store's own, which is the same for all hosts, or the one given, in tests."""
    return database.dialect.now if clock is None else lambda _: clock.now()


def sqlite_url(path: Path) -> str:
    """Return the URL of a SQLite store in a file."""
    return f"sqlite:///{path.resolve()}"


_migrating = threading.Lock()


def migrate(database: Database, revision: str = "head") -> None:
    """Bring the schema up (or down) to a revision, quickly if there is nothing to do. Safe in several processes at once."""
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
