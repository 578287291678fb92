"""The results of SQL statements."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

Value = str | int | float | bool | datetime | None


class SqlType(StrEnum):
    """The type of a column of our own statements. Columns of queries have Spark's types, in capital letters."""

    VARCHAR = "VARCHAR"
    BOOLEAN = "BOOLEAN"
    BIGINT = "BIGINT"
    TIMESTAMP = "TIMESTAMP WITH TIME ZONE"


@dataclass(frozen=True)
class Column:
    """A column of a result."""

    name: str
    type: str = SqlType.VARCHAR


Row = tuple[Value, ...]


@dataclass(frozen=True)
class Result:
    """The result of a statement: columns, and rows with a value for each column. A statement without rows has neither."""

    columns: tuple[Column, ...] = ()
    batches: Iterable[Sequence[Row]] = ()
    """The rows, in batches as they come; a batch is empty if no row has come for a while. Rows of a query are fetched as they are
    asked for, and can be read once."""
    endless: bool = False
    """True for the rows of a stream: more come as long as they are asked for."""

    @classmethod
    def of(cls, columns: tuple[Column, ...], rows: Sequence[Row]) -> Result:
        """Return a result whose rows are known."""
        return cls(columns, (rows,) if rows else ())

    @property
    def names(self) -> list[str]:
        """The distinct names of the columns: a second ``a`` is ``a_2``."""
        distinct_names: list[str] = []
        for column in self.columns:
            name, number = column.name, 1
            while name in distinct_names:
                number += 1
                name = f"{column.name}_{number}"
            distinct_names.append(name)
        return distinct_names

    @property
    def rows(self) -> Iterator[Row]:
        """All rows, one by one."""
        return itertools.chain.from_iterable(self.batches)

    def close(self) -> None:
        """Stop asking for rows."""
        close = getattr(self.batches, "close", None)
        if close is not None:
            close()


DONE = Result()
