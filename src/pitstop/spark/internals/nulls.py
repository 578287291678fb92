"""Columns of which Spark is told that they may be null, whatever it can tell of them itself.

Where Spark knows that a column is never null, it does not look whether a value is. Of saved state it knows that by the code that
reads it, which need not be the code that has written it.
"""

from __future__ import annotations

from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql.types import ArrayType, DataType, MapType, StructField, StructType

from pitstop.spark.internals.jvm import analyzed, classes


def with_nulls(frame: DataFrame) -> DataFrame:
    """The same rows, with the same columns, of which each, and each field of a struct, may be null.

    Of an array or a map, Spark's optimizer finds out again whether its elements can be null.
    """
    if frame.schema == _nullable(frame.schema):
        return frame
    given = analyzed(frame).output()
    return frame.select(*[_column(frame, given.apply(place), field) for place, field in enumerate(frame.schema.fields)])


def strict_columns(schema: StructType) -> tuple[str, ...]:
    """Names of the columns, and of fields in them (``column.field``), that Spark knows to be never null."""
    found: list[str] = []

    def look(name: str, kind: DataType) -> None:
        if isinstance(kind, StructType):
            for field in kind.fields:
                own = f"{name}.{field.name}" if name else field.name
                found.extend([own] if not field.nullable else [])
                look(own, field.dataType)

    look("", schema)
    return tuple(found)


def _column(frame: DataFrame, given: Any, field: StructField) -> Column:
    sql = classes(frame.sparkSession).org.apache.spark.sql
    expression = given if field.nullable else sql.catalyst.expressions.KnownNullable(given)
    column, wanted = Column(sql.classic.ExpressionUtils.column(expression)), _nullable(field.dataType)
    return (column if field.dataType == wanted else column.cast(wanted)).alias(field.name, metadata=field.metadata)


def _nullable(kind: DataType) -> DataType:
    if isinstance(kind, StructType):
        fields = [StructField(field.name, _nullable(field.dataType), True, field.metadata) for field in kind.fields]
        return StructType(fields)
    if isinstance(kind, ArrayType):
        return ArrayType(_nullable(kind.elementType), True)
    if isinstance(kind, MapType):
        return MapType(_nullable(kind.keyType), _nullable(kind.valueType), True)
    return kind
