"""The verbs of a stage that keep no state and look at one row, or one batch of rows, at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

from pitstop.errors import PipelineError, UsageError
from pitstop.pipeline.expecting import expect_function
from pitstop.pipeline.key_columns import key_columns
from pitstop.pipeline.nodes import Rows
from pitstop.pipeline.row_specs import (
    DropSpec,
    ExplodeSpec,
    FilterByFunctionSpec,
    FlatMapSpec,
    MapSpec,
    RenameSpec,
    SplitSpec,
)
from pitstop.pipeline.schemas import ddl
from pitstop.pipeline.specs import FilterSpec, SelectSpec, TransformSpec, WithColumnsSpec

_A_FUNCTION = "def name(batch): ... and give name"
_A_TRANSFORMATION = "def name(frame): ... and give name"


class RowVerbs(Rows):
    """Rows with the verbs that need no other row."""

    def select(self, *columns: Any, name: str | None = None) -> Self:
        """Keep or compute these columns. A name or SQL expression, or a Spark Column."""
        return self._then(SelectSpec(columns), name)

    def filter(self, condition: Any, name: str | None = None) -> Self:
        """Keep the rows for which the condition is true.

        It is the name of a boolean column, SQL, a Spark Column, or a Python function that gets a ``pyarrow.RecordBatch`` and
        returns one boolean for each of its rows: an Arrow array, or a list.
        """
        spec = FilterByFunctionSpec(condition) if _is_function(condition) else FilterSpec(condition)
        return self._then(spec, name)

    def with_columns(self, name: str | None = None, /, **columns: Any) -> Self:
        """Add or replace columns: ``with_columns(speed="distance / hours")``."""
        return self._then(WithColumnsSpec(columns), name)

    def rename(self, columns: Mapping[str, str], name: str | None = None) -> Self:
        """Give columns other names: ``rename({"vin": "vehicle"})``. The others stay as they are."""
        if not columns or not isinstance(columns, Mapping):
            raise UsageError("rename takes a dict of old and new names: rename({'vin': 'vehicle'}).")
        return self._then(RenameSpec(dict(columns)), name)

    def drop(self, *columns: str, name: str | None = None) -> Self:
        """Keep all columns but these."""
        if not columns:
            raise UsageError("drop takes the names of columns: drop('vin', 'speed').")
        return self._then(DropSpec(columns), name)

    def explode(self, column: Any, into: str | Sequence[str] = (), keep_empty: bool = False, name: str | None = None) -> Self:
        """Give one row for each element of an array, or each entry of a map.

        ``column`` is the name of the array or map, SQL, or a Spark Column. A named column is replaced by its element. ``into``
        names the element, or key and value of an entry; without it the element has the column's name, and an entry ``key`` and
        ``value``. A row whose array is null or empty gives no row, or one with null if ``keep_empty`` is true.
        """
        names = (into,) if isinstance(into, str) else tuple(into)
        return self._then(ExplodeSpec(column, names, keep_empty), name)

    def split(self, *conditions: Any, names: Sequence[str] | None = None) -> tuple[Self, ...]:
        """Split rows by conditions, and return a stage for each of them and one for the rest::

            errors, slow, others = requests.split("status >= 500", "millis > 1000")

        A row goes to the first condition that is true for it, and to the rest if none is. Conditions are names, SQL or Spark
        Columns, and give the same for the same row: no random numbers. ``names`` are those of the stages, the rest included.
        A stage that you do not need may be left alone, unless you need none.
        """
        if not conditions:
            raise UsageError("split takes one condition or more: large, small = rows.split('amount > 100').")
        if names is not None and len(names) != len(conditions) + 1:
            raise UsageError(f"split of {len(conditions)} conditions makes {len(conditions) + 1} stages, not {len(names)}.")
        parts = range(len(conditions) + 1)
        return tuple(self._then(SplitSpec(conditions, part), None if names is None else names[part]) for part in parts)

    def map(self, function: Callable[[Any], Any], output: Any, name: str | None = None) -> Self:
        """Make one row of each row by a Python function over Arrow batches.

        ``function(batch)`` gets a ``pyarrow.RecordBatch`` of any size and returns as many rows, in their order: a RecordBatch, a
        Table, or a dict of columns (Arrow arrays, or lists). ``output`` are its columns: DDL, a StructType or a dataclass. Rows
        keep their event time if its column is among them. A function that raises ends the epoch.
        """
        expect_function(function, f"The rows of stage '{self.name}' are mapped by a function", _A_FUNCTION)
        return self._then(MapSpec(function, ddl(output)), name)

    def flat_map(self, function: Callable[[Any], Any], output: Any, name: str | None = None) -> Self:
        """Make any number of rows of each batch by a Python function, as :meth:`map` does.

        The function may also be a generator that yields its rows in several parts.
        """
        expect_function(function, f"The rows of stage '{self.name}' are mapped by a function", _A_FUNCTION)
        return self._then(FlatMapSpec(function, ddl(output)), name)

    def transform(self, function: Callable[[Any], Any], name: str | None = None) -> Self:
        """Apply any stateless ``DataFrame -> DataFrame``. Stateful operators in it are refused."""
        expect_function(function, f"The rows of stage '{self.name}' go through a function", _A_TRANSFORMATION)
        return self._then(TransformSpec(function), name)

    def _with_computed(self, columns: Any, what: str) -> tuple[Self, tuple[str, ...]]:
        """Return the rows with the columns among these that have to be computed, and the names of all."""
        try:
            keys = key_columns(columns)
        except UsageError as error:
            raise PipelineError(f"{what} of stage '{self.name}': {error.message}") from None
        return self._then(WithColumnsSpec(keys.computed), None) if keys.computed else self, keys.names


def _is_function(condition: Any) -> bool:
    return callable(condition) and not isinstance(condition, str) and type(condition).__name__ != "Column"
