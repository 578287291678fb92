"""Columns that Spark must treat as nullable, whatever it can tell of them itself.

Where Spark knows that a column is never null, it does not check if a value is. For saved state it takes that from the code that
reads it, which may differ from the code that wrote it.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DataType, MapType, StructField, StructType

from pitstop.spark.internals.jvm import analyzed, classes, items


def with_nulls(frame: DataFrame, filtered: bool = False) -> DataFrame:
    """Return the rows with the same columns, of which each, and everything in them, may be null.

    ``filtered`` does this also for an operator that uses what Spark knows at run time. That is more than the frame tells: it
    includes what a filter has let through.
    """
    if frame.schema == _nullable(frame.schema) and not filtered:
        return frame
    fields = frame.schema.fields
    sql = classes(frame.sparkSession).org.apache.spark.sql
    expressions, known_nullable = sql.classic.ExpressionUtils, sql.catalyst.expressions.KnownNullable

    def maybe_null(value: Column) -> Column:
        return Column(expressions.column(known_nullable(expressions.expression(value._jc))))

    columns = [Column(expressions.column(attribute)) for attribute in items(analyzed(frame).output())]
    # Of a constant the optimizer finds out again that it is not null, unless that hangs on what only a task knows.
    some = maybe_null(F.spark_partition_id())
    always = some.isNull() | some.isNotNull()

    def loose(column: Column, field: StructField) -> Column:
        kind, target = field.dataType, _nullable(field.dataType)
        # It also removes a cast by which nothing but the elements of a list or a map may be null.
        if isinstance(kind, ArrayType) and not kind.containsNull:
            column = F.transform(column, maybe_null)
        if isinstance(kind, MapType) and not kind.valueContainsNull:
            column = F.transform_values(column, lambda key, value: maybe_null(value))
        if kind != target:
            column = column.cast(target)
        if not field.nullable:
            column = F.when(always, column)
        elif filtered:
            column = maybe_null(column)
        return column.alias(field.name, metadata=field.metadata)

    return frame.select(*map(loose, columns, fields))


def strict_columns(schema: StructType) -> tuple[str, ...]:
    """Return the names of columns, fields (``column.field``) and elements (``column[]``) that are never null to Spark."""
    names: list[str] = []

    def look(name: str, kind: DataType) -> None:
        if isinstance(kind, StructType):
            for field in kind.fields:
                own = f"{name}.{field.name}" if name else field.name
                names.extend([own] if not field.nullable else [])
                look(own, field.dataType)
        if isinstance(kind, (ArrayType, MapType)):
            element, strict = (
                (kind.elementType, not kind.containsNull)
                if isinstance(kind, ArrayType)
                else (kind.valueType, not kind.valueContainsNull)
            )
            names.extend([f"{name}[]"] if strict else [])
            look(f"{name}[]", element)

    look("", schema)
    return tuple(names)


def _nullable(kind: DataType) -> DataType:
    if isinstance(kind, StructType):
        fields = [StructField(field.name, _nullable(field.dataType), True, field.metadata) for field in kind.fields]
        return StructType(fields)
    if isinstance(kind, ArrayType):
        return ArrayType(_nullable(kind.elementType), True)
    if isinstance(kind, MapType):
        return MapType(_nullable(kind.keyType), _nullable(kind.valueType), True)
    return kind
