"""What a statement of SQL gives (jet.md §4.2)."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

Value = str | int | float | bool | datetime | None


class SqlType(StrEnum):
    """Of a column of our own statements; columns of queries have Spark's types, in capital letters."""

    VARCHAR = "VARCHAR"
    BOOLEAN = "BOOLEAN"
    BIGINT = "BIGINT"
    TIMESTAMP = "TIMESTAMP WITH TIME ZONE"


@dataclass(frozen=True)
class Column:
    """Of a result."""

    name: str
    type: str = SqlType.VARCHAR


Row = tuple[Value, ...]


@dataclass(frozen=True)
class Result:
    """What a statement gives: rows, each with a value for each column, or neither: then it was carried out, and that is all."""

    columns: tuple[Column, ...] = ()
    batches: Iterable[Sequence[Row]] = ()
    """Rows as they come, none of them where none has come for a while. Those of a query come while they are asked for, and can be
    asked for once."""
    endless: bool = False
    """They are those of a stream: there are more as long as somebody asks."""

    @classmethod
    def of(cls, columns: tuple[Column, ...], rows: Sequence[Row]) -> Result:
        """A result that is known."""
        return cls(columns, (rows,) if rows else ())

    @property
    def names(self) -> list[str]:
        """What the columns are called, each another name: a second ``a`` is ``a_2``."""
        found: list[str] = []
        for column in self.columns:
            name, number = column.name, 1
            while name in found:
                number += 1
                name = f"{column.name}_{number}"
            found.append(name)
        return found

    @property
    def rows(self) -> Iterator[Row]:
        """All rows, one by one."""
        return itertools.chain.from_iterable(self.batches)

    def close(self) -> None:
        """Ask for no more rows."""
        close = getattr(self.batches, "close", None)
        if close is not None:
            close()


DONE = Result()
