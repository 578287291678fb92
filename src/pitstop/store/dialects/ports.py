"""The interface between the store and its database."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Protocol

from sqlalchemy import Connection, Engine, Executable, Table

from pitstop.control.ports.wake import Wake


class Cursor(Protocol):
    """A cursor of the driver. Statements have ``?`` for their arguments; a driver with other marks translates them."""

    for_update: str
    """The clause behind a SELECT by which nobody else may write or lock its rows until the transaction ends."""
    for_share: str
    """The clause behind a SELECT by which nobody may write its rows until the transaction ends; others may share them."""

    def execute(self, sql: str, arguments: Sequence[Any] = ..., /) -> Cursor: ...

    def executemany(self, sql: str, arguments: Iterable[Sequence[Any]], /) -> Cursor:
        """Execute a statement for each row. In an INSERT with ON CONFLICT, no two rows may have the same key."""
        ...

    def keyed(self, table: str, map_id: int, keys: Sequence[str]) -> tuple[str, list[Any]]:
        """Return the SQL behind FROM, with its WHERE, for the rows of a map with these keys; and the arguments of that SQL.

        Each key is looked up by the table's index, however large the table is and whatever the database knows of it.
        """
        ...

    def fetchone(self) -> Any: ...

    def fetchall(self) -> list[Any]: ...

    def __iter__(self) -> Iterator[Any]: ...


class Dialect(Protocol):
    """One database. Connections of its engine are in no transaction until one of the ``begin`` methods is called."""

    driver_error: type[Exception]
    """The error that the driver raises when a statement goes to it past SQLAlchemy."""
    longest_key: int | None
    """The most bytes in the key of a map's entry; None: any number."""

    def engine(self, url: str) -> Engine:
        """Return an engine whose connections have all settings that the store relies on."""
        ...

    def place(self, url: str) -> object | None:
        """Return, cheaply, the place that the URL leads to now: another value once the store was removed or replaced.

        None: there is nothing, or the database watches over that itself.
        """
        ...

    def begin_read(self, connection: Connection) -> None:
        """Begin a transaction whose statements all see the store at one moment, and keep no writer waiting."""
        ...

    def begin_write(self, connection: Connection) -> None:
        """Begin a transaction that no other such one can make fail: it waits for those before, and keeps later ones waiting."""
        ...

    def begin_write_beside(self, connection: Connection) -> None:
        """Begin a write that may go on beside others: it locks the rows that it relies on."""
        ...

    def now(self, connection: Connection) -> float:
        """Return the seconds since the epoch, by the one clock of all processes that share the store."""
        ...

    def in_transaction(self, connection: Connection) -> bool:
        """Return False if the database has ended the transaction by itself because of an error."""
        ...

    def upsert(self, table: Table, key: Sequence[str], values: dict[str, Any]) -> Executable:
        """Insert a row, or overwrite these values of the row that has the same key."""
        ...

    def json_text(self, column: str, field: str) -> str:
        """Return SQL for the text of a field of the object in a JSON column."""
        ...

    def cursor(self, connection: Connection) -> Cursor:
        """Return a cursor of the driver in the connection's transaction, for statements where each microsecond a row counts."""
        ...

    def give_back_space(self, connection: Connection) -> None:
        """Give freed space back to the system if there is much of it. Writers wait for a moment only."""
        ...

    def wake(self, engine: Engine, url: str) -> Wake | None:
        """Return the means by which processes that share the store wake one another through it; None if it has none."""
        ...

    def explain(self, error: Exception, url: str) -> str | None:
        """Return a sentence for a person on why the store cannot be used.

        None for a broken rule of the schema (a name taken twice): the caller explains that.
        """
        ...
