"""The order of a row as text (maps.order), as an expression of Spark's SQL: texts compare as Spark compares the values."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql.types import (
    BinaryType,
    BooleanType,
    CharType,
    DataType,
    DateType,
    DoubleType,
    FloatType,
    IntegralType,
    StringType,
    TimestampNTZType,
    TimestampType,
    VarcharType,
)

from pitstop.pipeline.row_order import EARLY
from pitstop.pipeline.sink import RowOrder
from pitstop.spark.base.naming import quoted
from pitstop.spark.internals.watermarks import WATERMARK_DELAY

ORDER = "__order_of_row"
"""The column that carries a row's order along where the columns that tell it are dropped."""


def order_of(frame: DataFrame, columns: Sequence[str], digest: str = "") -> str | None:
    """Return the order of rows by these columns, the first of which counts most, as SQL; None if Spark cannot order one.

    Null counts as lowest. Orders of different digests are not compared.
    """
    parts = [_part(quoted(column), frame.schema[column].dataType) for column in columns]
    ordered = [part for part in parts if part is not None]
    return _together(ordered, digest) if ordered and len(ordered) == len(parts) else None


def order_of_time(frame: DataFrame, order: RowOrder) -> str | None:
    """Return the order of rows by their own time; None if they have none."""
    columns = _columns_of_time(frame, order)
    if not columns:
        return None
    time = quoted(columns[0])
    parts = [("T", _null_first(time, _whole(f"unix_micros({time})")))]
    if EARLY in columns[1:]:
        parts.append(("B", f"IF({quoted(EARLY)}, '0', '1')"))
    return _together(parts)


def _columns_of_time(frame: DataFrame, order: RowOrder) -> list[str]:
    columns = [column for column in order.columns if column in frame.columns]
    if order.columns and order.columns[0] not in columns:
        # Spark's mark of the event time goes with it when it is renamed.
        marks = [field.name for field in frame.schema.fields if WATERMARK_DELAY in field.metadata]
        columns = marks if len(marks) == 1 else []
    return columns if columns and isinstance(frame.schema[columns[0]].dataType, TimestampType) else []


def _together(parts: Sequence[tuple[str, str]], digest: str = "") -> str:
    form, texts = "".join(letter for letter, _ in parts), ", ',', ".join(text for _, text in parts)
    return f"concat('{form}{digest}:', {texts})"


def _part(column: str, kind: DataType) -> tuple[str, str] | None:
    """Return the letter and the text of one value."""
    form = _not_null(column, kind)
    return None if form is None else (form[0], _null_first(column, form[1]))


def _not_null(column: str, kind: DataType) -> tuple[str, str] | None:
    if isinstance(kind, TimestampType):
        return "T", _whole(f"unix_micros({column})")
    if isinstance(kind, TimestampNTZType):
        return "L", _whole(f"unix_micros(CAST({column} AS TIMESTAMP))")
    if isinstance(kind, DateType):
        return "D", _whole(f"CAST(unix_date({column}) AS BIGINT)")
    if isinstance(kind, BooleanType):
        return "B", f"IF({column}, '1', '0')"
    if isinstance(kind, IntegralType):
        return "I", _whole(f"CAST({column} AS BIGINT)")
    if isinstance(kind, (FloatType, DoubleType)):
        # The bits of a number without its sign compare as numbers do. Adding 0 makes one zero of the two.
        number = f"CAST({column} AS DOUBLE) + CAST(0 AS DOUBLE)"
        bits = f"CAST(reflect('java.lang.Double', 'doubleToLongBits', {number}) AS BIGINT)"
        return "F", _whole(f"transform(array({bits}), b -> IF(b < 0, b ^ {_LARGEST}, b))[0]")
    if isinstance(kind, (StringType, CharType, VarcharType, BinaryType)):
        return "X" if isinstance(kind, BinaryType) else "S", f"hex({column})"
    return None


_LARGEST = "9223372036854775807"


def _whole(number: str) -> str:
    """Return a bigint as 16 digits, with the sign's bit inverted so that negative numbers come first."""
    return f"lpad(hex({number} ^ shiftleft(CAST(1 AS BIGINT), 63)), 16, '0')"


def _null_first(column: str, text: str) -> str:
    return f"IF({column} IS NULL, '0', concat('1', {text}))"
