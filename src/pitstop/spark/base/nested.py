"""Changes of values that may stand deep within arrays, structs and maps."""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DataType, MapType, StructType

Change = Callable[[Column, DataType], Column]


def changed_within(column: Column, kind: DataType, types: tuple[type[DataType], ...], change: Change) -> Column:
    """Return a column of type ``kind`` with each value of one of these types changed, at any depth; keys of maps stay.

    ``change`` takes a value and its type. A part without such a value is not taken apart, and a null stays one.
    """
    if isinstance(kind, types):
        return change(column, kind)
    if not has_within(kind, types):
        return column
    if isinstance(kind, ArrayType):
        return F.transform(column, lambda item: changed_within(item, kind.elementType, types, change))
    if isinstance(kind, MapType):
        return F.transform_values(column, lambda key, value: changed_within(value, kind.valueType, types, change))
    assert isinstance(kind, StructType)
    fields = [changed_within(column.getField(each.name), each.dataType, types, change).alias(each.name) for each in kind.fields]
    return F.when(column.isNotNull(), F.struct(*fields))


def has_within(kind: DataType, types: tuple[type[DataType], ...]) -> bool:
    """Return True if a value of type ``kind`` is, or has within it, a value of one of these types; keys of maps do not count."""
    if isinstance(kind, ArrayType):
        return has_within(kind.elementType, types)
    if isinstance(kind, MapType):
        return has_within(kind.valueType, types)
    if isinstance(kind, StructType):
        return any(has_within(field.dataType, types) for field in kind.fields)
    return isinstance(kind, types)
