"""Columns as users give them: by name, as SQL, or as Spark's own."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, StructType

from pitstop.spark.base.naming import quoted


def to_column(frame: DataFrame, value: str | Column) -> Column:
    """Return a column name of the frame, a SQL expression, or a Spark Column, as a Column."""
    if isinstance(value, str):
        return F.col(quoted(value)) if value in frame.columns else F.expr(value)
    return value


def struct_of(ddl: str) -> StructType:
    """Return the columns of a DDL text such as ``id bigint, name string``. ValueError if it is the text of one type only."""
    kind = DataType.fromDDL(ddl)
    if not isinstance(kind, StructType):
        raise ValueError(f"{ddl!r} names no columns")
    return kind
