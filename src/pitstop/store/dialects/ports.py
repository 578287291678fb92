"""What the store needs of a database."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Protocol

from sqlalchemy import Connection, Engine, Executable, Table

from pitstop.control.ports import Wake


class Cursor(Protocol):
    """A cursor of the driver. Statements have ``?`` for their arguments; a driver with other marks translates them."""

    for_update: str
    """Behind a SELECT: nobody else may write or lock its rows until the transaction ends."""
    for_share: str
    """Behind a SELECT: nobody may write its rows until the transaction ends; others may share them."""

    def execute(self, sql: str, arguments: Sequence[Any] = ..., /) -> Cursor: ...

    def executemany(self, sql: str, arguments: Iterable[Sequence[Any]], /) -> Cursor:
        """Of an INSERT with ON CONFLICT, no two rows may have the same key."""
        ...

    def keyed(self, table: str, map_id: int, keys: Sequence[str]) -> tuple[str, list[Any]]:
        """What stands behind FROM for the rows of a map that have these keys, its WHERE included, and the arguments of that.

        Each key is looked up by the table's index, however large the table and whatever is known of it.
        """
        ...

    def fetchone(self) -> Any: ...

    def fetchall(self) -> list[Any]: ...

    def __iter__(self) -> Iterator[Any]: ...


class Dialect(Protocol):
    """One database. Connections of its engine are in no transaction until one of the ``begin`` methods is called."""

    driver_error: type[Exception]
    """What its driver raises, where statements go to it past SQLAlchemy."""
    longest_key: int | None
    """How many bytes the key of a map's entry may have; None: any number."""

    def engine(self, url: str) -> Engine:
        """An engine whose connections have all settings that the store relies on."""
        ...

    def place(self, url: str) -> object | None:
        """What the URL leads to now, cheaply: another value once the store was removed or replaced.

        None: there is nothing, or the database keeps watch over that itself.
        """
        ...

    def begin_read(self, connection: Connection) -> None:
        """Begin a transaction whose statements all see the store at one moment, and keep no writer waiting."""
        ...

    def begin_write(self, connection: Connection) -> None:
        """Begin a transaction that no other such one can make fail: wait for those before, and keep later ones waiting."""
        ...

    def begin_write_beside(self, connection: Connection) -> None:
        """Begin a write that may go on beside others: it locks the rows that it relies on."""
        ...

    def now(self, connection: Connection) -> float:
        """Seconds since the epoch, by the one clock that all who share the store go by."""
        ...

    def in_transaction(self, connection: Connection) -> bool:
        """False if the database has ended the transaction by itself because of an error."""
        ...

    def upsert(self, table: Table, key: Sequence[str], values: dict[str, Any]) -> Executable:
        """Insert a row, or overwrite these values of the row that has the same key."""
        ...

    def json_text(self, column: str, field: str) -> str:
        """SQL for the text of a field of the object in a JSON column."""
        ...

    def cursor(self, connection: Connection) -> Cursor:
        """A cursor of the driver in the connection's transaction, for statements where each microsecond a row counts."""
        ...

    def give_back_space(self, connection: Connection) -> None:
        """Give the system the space back that was freed, if it is much, and that keeps writers waiting for a moment only."""
        ...

    def wake(self, engine: Engine, url: str) -> Wake | None:
        """How processes that share the store wake one another through it; None if it cannot."""
        ...

    def explain(self, error: Exception, url: str) -> str | None:
        """A sentence for a person on why the store cannot be used.

        None for a broken rule of the schema (a name taken twice): the caller explains that.
        """
        ...
