"""Event-time columns: Spark marks them in their metadata, and the mark goes with them when they are renamed."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import TimestampType

from pitstop.errors import PipelineError
from pitstop.kit.durations import text
from pitstop.pipeline.nodes import Node
from pitstop.spark.base.naming import AHEAD, quoted
from pitstop.spark.internals.watermarks import WATERMARK_DELAY

FAR = "__far_ahead"


def with_event_time(frame: DataFrame, column: str, lag_ms: int) -> DataFrame:
    """Make a column the event time; rows of a bounded frame only get the mark."""
    if frame.isStreaming:
        return frame.withWatermark(quoted(column), text(lag_ms))
    return frame.withColumn(column, marked(column, lag_ms))


def with_event_time_of(frame: DataFrame, column: str) -> DataFrame:
    """Make a column the event time of rows that have a watermark: only the mark moves to it."""
    others = [field.name for field in frame.schema.fields if WATERMARK_DELAY in field.metadata]
    without = {name: unmarked(name) for name in others}
    own = {name: F.col(quoted(name)) for name in frame.columns} | without | {column: marked(column, 0)}
    return frame.select(*own.values())


def unmarked(column: str) -> Column:
    """The column without a mark: none of its rows is late."""
    return F.col(quoted(column)).alias(column, metadata={})


def as_key(frame: DataFrame, column: str, name: str) -> Column:
    """A column of the frame as a key of that name: Spark takes no second event time beside the one of a stage's rows."""
    key = F.col(quoted(column))
    return key.alias(name, metadata={}) if WATERMARK_DELAY in frame.schema[column].metadata else key.alias(name)


def marked(column: str, delay_ms: int) -> Column:
    """The column with a mark of that delay."""
    return F.col(quoted(column)).alias(column, metadata={WATERMARK_DELAY: delay_ms})


def not_ahead(frame: DataFrame, column: str, most_ms: int, stage: str) -> DataFrame:
    """The rows whose time is at most so far ahead of the clock; what is left out of a stream is observed."""
    if not frame.isStreaming:
        return frame.where(~_is_ahead(column, most_ms))
    told = frame.withColumn(FAR, _is_ahead(column, most_ms))
    # As text: a time may lie beyond what Python can tell.
    farthest = F.max(F.when(F.col(FAR), F.col(quoted(column)))).cast("string").alias("farthest")
    observed = told.observe(f"{AHEAD}{stage}", F.count_if(F.col(FAR)).alias("rows"), farthest)
    return observed.where(~F.col(FAR)).drop(FAR)


def far_ahead(frame: DataFrame, column: str, most_ms: int, stage: str) -> DataFrame:
    """The rows that :func:`not_ahead` leaves out, as dead letters."""
    text = F.to_json(F.struct("*"), {"ignoreNullFields": "false"})
    return frame.where(_is_ahead(column, most_ms)).select(
        F.lit(stage).alias("stage"), text.alias("text"), F.current_timestamp().alias("time")
    )


def _is_ahead(column: str, most_ms: int) -> Column:
    # In microseconds: the latest timestamps leave no room for a sum. A row without a time is not ahead.
    latest = F.unix_micros(F.current_timestamp()) + F.lit(most_ms * 1000)
    return F.coalesce(F.unix_micros(F.col(quoted(column))) > latest, F.lit(False))


def event_time_if_there(node: Node, frame: DataFrame, declared: str | None) -> str | None:
    """The same for stages that can do without: None if the column is gone."""
    marks = [field for field in frame.schema.fields if WATERMARK_DELAY in field.metadata]
    if declared is None or (declared not in frame.columns and len(marks) != 1):
        return None
    return event_time(node, frame, declared)


def event_time(node: Node, frame: DataFrame, declared: str) -> str:
    """The frame's event-time column: the declared one, or what it was renamed to. PipelineError if it is gone."""
    column = declared
    if declared not in frame.columns:
        found = [field.name for field in frame.schema.fields if WATERMARK_DELAY in field.metadata]
        if len(found) != 1:
            raise PipelineError(
                f"Stage '{node.name}' ({node.location}): the event time '{declared}' is not among its columns any more: "
                f"{', '.join(frame.columns)}."
            )
        column = found[0]
    if not isinstance(frame.schema[column].dataType, TimestampType):
        raise PipelineError(f"Stage '{node.name}' ({node.location}): column '{column}' is no timestamp.")
    return column
