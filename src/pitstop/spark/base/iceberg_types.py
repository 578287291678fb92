"""Types of rows as Iceberg tables have them, and types of tables as rows have them."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

from pyspark.sql import types as S
from pyspark.sql.types import ArrayType, DataType, DecimalType, MapType, StructField, StructType

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyiceberg.schema import Schema
    from pyiceberg.types import IcebergType, NestedField


def rows_schema(schema: StructType) -> Schema:
    """Return the columns of rows as a table has them; all of them may be null. ValueError names a type that it cannot have."""
    from pyiceberg.schema import Schema

    numbers = count(1)
    return Schema(*_fields(schema, lambda: next(numbers)))


def _fields(schema: StructType, number: Callable[[], int]) -> list[NestedField]:
    from pyiceberg.types import NestedField

    return [NestedField(number(), field.name, _type(field.dataType, number), required=False) for field in schema.fields]


def _type(kind: DataType, number: Callable[[], int]) -> IcebergType:
    from pyiceberg import types as T

    if isinstance(kind, StructType):
        if not kind.fields:
            raise ValueError("struct<>")
        return T.StructType(*_fields(kind, number))
    if isinstance(kind, ArrayType):
        return T.ListType(number(), _type(kind.elementType, number), element_required=False)
    if isinstance(kind, MapType):
        return T.MapType(number(), _type(kind.keyType, number), number(), _type(kind.valueType, number), value_required=False)
    if isinstance(kind, DecimalType):
        return T.DecimalType(kind.precision, kind.scale)
    plain: dict[str, IcebergType] = {
        **{"string": T.StringType(), "long": T.LongType(), "binary": T.BinaryType(), "boolean": T.BooleanType()},
        **dict.fromkeys(("integer", "short", "byte"), T.IntegerType()),
        **{"float": T.FloatType(), "double": T.DoubleType(), "date": T.DateType()},
        **{"timestamp": T.TimestamptzType(), "timestamp_ntz": T.TimestampType()},
    }
    if kind.typeName() not in plain:
        raise ValueError(kind.simpleString())
    return plain[kind.typeName()]


def spark_type(kind: IcebergType) -> DataType:
    """Return a type of a table as rows have it; every part of it may be null. ValueError names a type that rows do not have."""
    from pyiceberg import types as T

    if isinstance(kind, T.StructType):
        return StructType([StructField(field.name, spark_type(field.field_type)) for field in kind.fields])
    if isinstance(kind, T.ListType):
        return ArrayType(spark_type(kind.element_type))
    if isinstance(kind, T.MapType):
        return MapType(spark_type(kind.key_type), spark_type(kind.value_type))
    if isinstance(kind, T.DecimalType):
        return DecimalType(kind.precision, kind.scale)
    plain: dict[type[IcebergType], DataType] = {
        **{T.StringType: S.StringType(), T.LongType: S.LongType(), T.IntegerType: S.IntegerType(), T.BinaryType: S.BinaryType()},
        **{T.BooleanType: S.BooleanType(), T.FloatType: S.FloatType(), T.DoubleType: S.DoubleType(), T.DateType: S.DateType()},
        **{T.TimestamptzType: S.TimestampType(), T.TimestampType: S.TimestampNTZType()},
    }
    if type(kind) not in plain:
        raise ValueError(str(kind))
    return plain[type(kind)]
