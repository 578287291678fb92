"""Specs of steps without state: columns renamed, dropped and exploded, rows split, and Python functions over Arrow batches."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from pitstop.pipeline.schemas import column_names
from pitstop.pipeline.specs import Spec


@dataclass(frozen=True)
class RenameSpec(Spec):
    """Columns under other names."""

    op: ClassVar[str] = "rename"
    passable: ClassVar[bool] = True
    columns: Mapping[str, str]
    """Old name -> new name."""

    def event_time(self, inputs: Sequence[str | None]) -> str | None:
        return None if inputs[0] is None else self.columns.get(inputs[0], inputs[0])


@dataclass(frozen=True)
class DropSpec(Spec):
    """All columns but these."""

    op: ClassVar[str] = "drop"
    passable: ClassVar[bool] = True
    columns: tuple[str, ...]


@dataclass(frozen=True)
class ExplodeSpec(Spec):
    """A row for each element of an array, or each entry of a map."""

    op: ClassVar[str] = "explode"
    passable: ClassVar[bool] = True
    column: Any
    """The array or map: an expression."""
    into: tuple[str, ...]
    """The column of the element, or those of key and value; empty: the column itself, or ``key`` and ``value``."""
    keep_empty: bool
    """True if a row without elements gives one row with null; else it gives none."""


@dataclass(frozen=True)
class SplitSpec(Spec):
    """The rows for which one of several conditions is the first that is true."""

    op: ClassVar[str] = "split"
    passable: ClassVar[bool] = True
    conditions: tuple[Any, ...]
    """Expressions."""
    part: int
    """The number of that condition; the number of conditions: rows for which none is true."""


@dataclass(frozen=True)
class FlatMapSpec(Spec):
    """The rows that a function makes of a batch, any number of them."""

    op: ClassVar[str] = "flat_map"
    passable: ClassVar[bool] = True
    keeps_columns: ClassVar[bool] = False
    function: Callable[[Any], Any]
    """``pyarrow.RecordBatch -> rows``."""
    output: str
    """DDL of the rows."""

    def describe(self) -> str:
        return f"{self.op} by {_name(self.function)}"

    def event_time(self, inputs: Sequence[str | None]) -> str | None:
        return inputs[0] if inputs[0] in column_names(self.output) else None


@dataclass(frozen=True)
class MapSpec(FlatMapSpec):
    """The rows that a function makes of a batch, one for each of its rows."""

    op: ClassVar[str] = "map"


@dataclass(frozen=True)
class FilterByFunctionSpec(Spec):
    """The rows for which a function gives true."""

    op: ClassVar[str] = "filter_by_function"
    passable: ClassVar[bool] = True
    function: Callable[[Any], Any]
    """``pyarrow.RecordBatch -> booleans``, one for each row."""

    def describe(self) -> str:
        return f"filter by {_name(self.function)}"


def _name(function: Callable[[Any], Any]) -> str:
    return getattr(function, "__name__", "function")
