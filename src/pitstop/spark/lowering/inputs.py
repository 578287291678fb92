"""Inputs of aggregates: columns of the types that each aggregate takes."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import (
    BooleanType,
    ByteType,
    DataType,
    DateType,
    DayTimeIntervalType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    NullType,
    NumericType,
    ShortType,
    StringType,
    TimestampNTZType,
    TimestampType,
    YearMonthIntervalType,
)

from pitstop.errors import PipelineError
from pitstop.pipeline.aggregates import EVENT_TIME, Aggregate, Takes
from pitstop.pipeline.nodes import Node
from pitstop.spark.base.columns import to_column
from pitstop.spark.base.naming import quoted
from pitstop.spark.base.nested import changed_within

_BIGINT_DIGITS = 18
"""The most digits of a whole number that surely is a bigint."""


def inputs_of(node: Node, name: str, aggregate: Aggregate, frame: DataFrame, timestamp: str | None, strict: bool) -> list[Column]:
    """Return the inputs of the aggregate whose result is ``name``, as columns; ``timestamp`` is the event time.

    ``strict``: PipelineError if one is of a type that the aggregate does not take.
    """
    columns = [F.col(quoted(timestamp or "")) if each is EVENT_TIME else to_column(frame, each) for each in aggregate.inputs]
    if all(takes is Takes.VALUES for takes in aggregate.takes):
        return columns
    kinds = [field.dataType for field in frame.select(*columns).schema.fields]
    for value, kind, takes in zip(aggregate.inputs, kinds, aggregate.takes, strict=True):
        if strict and not _is_taken(kind, takes):
            called, what = (f"'{value}'", value) if isinstance(value, str) else ("its input", "x")
            raise PipelineError(
                f"Stage '{node.name}' ({node.location}): aggregate '{name}' ({aggregate.kind}) takes {takes.value}, and "
                f"{called} is {kind.simpleString()}: {_instead(kind, what)}."
            )
    return [
        one_zero(column, kind) if takes is Takes.TEXTS else column
        for column, kind, takes in zip(columns, kinds, aggregate.takes, strict=True)
    ]


def one_zero(column: Column, kind: DataType) -> Column:
    """Return the column with 0.0 and -0.0 as one value in its floats and doubles: as text or bytes they are two."""
    return changed_within(column, kind, (FloatType, DoubleType), lambda value, each: value + F.lit(0.0).cast(each))


def _is_taken(kind: DataType, takes: Takes) -> bool:
    if takes in (Takes.VALUES, Takes.TEXTS) or isinstance(kind, NullType):
        return True
    if takes is Takes.WHOLE:
        few = isinstance(kind, DecimalType) and kind.scale == 0 and kind.precision <= _BIGINT_DIGITS
        return few or isinstance(kind, (ByteType, ShortType, IntegerType, LongType))
    intervals = (DayTimeIntervalType, YearMonthIntervalType) if takes is Takes.AMOUNTS else ()
    return isinstance(kind, (NumericType, *intervals))


def _instead(kind: DataType, what: str) -> str:
    """Return the advice for an input of a type that the aggregate does not take."""
    if isinstance(kind, StringType):
        return f'make a number of it, as in "cast({what} as bigint)" or "try_cast({what} as double)"'
    if isinstance(kind, BooleanType):
        return f'make a number of it: "cast({what} as int)"'
    if isinstance(kind, TimestampType):
        return f'make a number of it: "unix_micros({what})" or "unix_millis({what})"'
    if isinstance(kind, TimestampNTZType):
        return f'make a number of it: "unix_micros(cast({what} as timestamp))"'
    if isinstance(kind, DateType):
        return f'make a number of it: "unix_date({what})"'
    if isinstance(kind, NumericType):
        return f'make whole numbers of it, as in "cast(1000 * {what} as bigint)"'
    return "make a number of it first"
