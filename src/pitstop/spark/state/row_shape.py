"""Rows for users' functions, made of Arrow's columns: plain Python values, to the microsecond and in every year.

Timestamps are datetimes without a zone, in UTC; nested structs are Rows, maps are dicts, arrays are lists.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

import pyarrow as pa
from pyspark.sql import Row
from pyspark.sql.types import ArrayType, DataType, MapType, StructType

from pitstop.spark.internals.arrow import arrow_schema, python_values

Make = Callable[[Any], Any]

_TUPLE: Callable[[str, list[str]], type] = namedtuple


class RowShape:
    """A maker of rows from the struct in which they travel: Rows, or tuples if they need no names."""

    def __init__(self, schema: StructType, named: bool = True) -> None:
        self._schema, self._named = schema, named

    @property
    def arrow(self) -> pa.DataType:
        """The struct as Arrow's type."""
        return without_zone(pa.struct(list(arrow_schema(self._schema))))

    def rows(self, structs: pa.StructArray) -> list[Any]:
        """Return one row for each struct, None for null."""
        shapers = [_shaper(field.dataType) for field in self._schema.fields]
        columns = [_shaped(plain(column), shape) for column, shape in zip(structs.flatten(), shapers, strict=True)]
        values = zip(*columns, strict=True)
        rows = list(map(_maker(tuple(self._schema.fieldNames())), values)) if self._named else list(values)
        if structs.null_count:
            return [row if valid else None for row, valid in zip(rows, structs.is_valid().to_pylist(), strict=True)]
        return rows


def plain(values: pa.Array) -> list[Any]:
    """Return Arrow's values as Python's, timestamps without their zone."""
    target = without_zone(values.type)
    return python_values(values if target == values.type else values.cast(target))


def without_zone(kind: pa.DataType) -> pa.DataType:
    """Return the type with timestamps, including nested ones, that bear no zone."""
    if pa.types.is_timestamp(kind):
        return pa.timestamp("us")
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(without_zone(field.type)) for field in kind])
    if pa.types.is_map(kind):
        return pa.map_(without_zone(kind.key_type), without_zone(kind.item_type))
    if pa.types.is_list(kind):
        return pa.list_(kind.value_field.with_type(without_zone(kind.value_type)))
    return kind


@lru_cache(maxsize=256)
def _maker(names: tuple[str, ...]) -> Make:
    """Return ``values -> Row`` of a class of Rows with these names, whose fields are found without a search."""
    fields: dict[str, Any] = {"__fields__": list(names)}
    # The attributes of a named tuple are the fastest that there are.
    items = _TUPLE("Items", [f"item{place}" for place in range(len(names))])
    for place, name in reversed(list(enumerate(names))):
        if not hasattr(Row, name) and not name.startswith("__"):
            fields[name] = vars(items)[f"item{place}"]
    return partial(tuple.__new__, type("Row", (Row,), fields))


def _shaped(values: list[Any], shape: Make | None) -> list[Any]:
    return values if shape is None else [None if value is None else shape(value) for value in values]


def _shaper(kind: DataType) -> Make | None:
    """Return a function that makes Rows and dicts of structs and maps in a value of this type; None if there are none."""
    if isinstance(kind, ArrayType):
        item = _shaper(kind.elementType)
        return None if item is None else lambda values: _shaped(values, item)
    if isinstance(kind, MapType):
        of_key, of_value = _shaper(kind.keyType) or _same, _shaper(kind.valueType) or _same
        return lambda pairs: {of_key(key): None if value is None else of_value(value) for key, value in pairs}
    if isinstance(kind, StructType):
        maker, parts = _maker(tuple(kind.fieldNames())), [_shaper(field.dataType) or _same for field in kind.fields]
        return lambda value: maker(
            None if part is None else shape(part) for shape, part in zip(parts, value.values(), strict=True)
        )
    return None


def _same(value: Any) -> Any:
    return value
