"""Event-time columns. Spark marks them in their metadata, and the mark stays with them when they are renamed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import TimestampType

from pitstop.errors import PipelineError
from pitstop.kit.durations import text, words
from pitstop.pipeline.nodes import Node
from pitstop.spark.base.naming import AHEAD, quoted
from pitstop.spark.internals.watermarks import WATERMARK_DELAY

FAR = "__far_ahead"


class Observe(Protocol):
    """Has Spark compute some aggregates of rows while they go by."""

    def __call__(self, frame: DataFrame, name: str, /, *columns: Column) -> DataFrame: ...


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
    """Return the column without a mark, so that none of its rows is late."""
    return F.col(quoted(column)).alias(column, metadata={})


def as_key(frame: DataFrame, column: str, name: str) -> Column:
    """Return a column of the frame as a key of that name: Spark takes no second event time beside that of a stage's rows."""
    key = F.col(quoted(column))
    return key.alias(name, metadata={}) if WATERMARK_DELAY in frame.schema[column].metadata else key.alias(name)


def marked(column: str, delay_ms: int) -> Column:
    """Return the column with a mark of that delay."""
    return F.col(quoted(column)).alias(column, metadata={WATERMARK_DELAY: delay_ms})


@dataclass(frozen=True)
class Bound:
    """The longest that the times of a column may be ahead of the clock."""

    column: str
    most_ms: int | None
    """The longest time ahead in milliseconds; None: no limit."""
    now_ms: Callable[[], int]
    """The clock for rows that are no stream. A stream's clock is the time of its epoch."""

    def within(self, frame: DataFrame, stage: str, observe: Observe | None) -> DataFrame:
        """Return the rows that are within the bound. Those that are left out are observed, unless that is done elsewhere."""
        if self.most_ms is None:
            return frame
        if observe is None:
            return frame.where(~self._is_ahead(frame))
        marked = frame.withColumn(FAR, self._is_ahead(frame))
        # As text: a time may lie beyond what Python can tell.
        farthest = F.max(F.when(F.col(FAR), F.col(quoted(self.column)))).cast("string").alias("farthest")
        observed = observe(marked, f"{AHEAD}{stage}", F.count_if(F.col(FAR)).alias("rows"), farthest)
        return observed.where(~F.col(FAR)).drop(FAR)

    def beyond(self, frame: DataFrame, stage: str) -> DataFrame:
        """Return the rows beyond the bound, as dead letters."""
        row = F.to_json(F.struct("*"), {"ignoreNullFields": "false"})
        time = F.col(quoted(self.column)).cast("string")
        error = F.concat(F.lit(f"{self.column} is "), time, F.lit(f", more than {words(self.most_ms or 0)} ahead of the clock"))
        return frame.where(self._is_ahead(frame)).select(
            F.lit(stage).alias("stage"), row.alias("text"), F.current_timestamp().alias("time"), error.alias("error")
        )

    def _is_ahead(self, frame: DataFrame) -> Column:
        if self.most_ms is None:
            return F.lit(False)
        now = F.unix_micros(F.current_timestamp()) if frame.isStreaming else F.lit(self.now_ms() * 1000)
        # In microseconds: the latest timestamps leave no room for a sum. A row without a time is not ahead.
        return F.coalesce(F.unix_micros(F.col(quoted(self.column))) > now + F.lit(self.most_ms * 1000), F.lit(False))


def observe_stream(frame: DataFrame, name: str, *columns: Column) -> DataFrame:
    """Observe rows of a stream. An epoch's observation comes with its progress."""
    return frame.observe(name, *columns)


def event_time_if_there(node: Node, frame: DataFrame, declared: str | None) -> str | None:
    """Return the frame's event-time column, for stages that can do without it: None if the column is gone."""
    marks = [field for field in frame.schema.fields if WATERMARK_DELAY in field.metadata]
    if declared is None or (declared not in frame.columns and len(marks) != 1):
        return None
    return event_time(node, frame, declared)


def event_time(node: Node, frame: DataFrame, declared: str) -> str:
    """Return the frame's event-time column: the declared one, or the one it was renamed to. PipelineError if it is gone."""
    column = declared
    if declared not in frame.columns:
        candidates = [field.name for field in frame.schema.fields if WATERMARK_DELAY in field.metadata]
        if len(candidates) != 1:
            raise PipelineError(
                f"Stage '{node.name}' ({node.location}): the event time '{declared}' is not among its columns any more: "
                f"{', '.join(frame.columns)}."
            )
        column = candidates[0]
    if not isinstance(frame.schema[column].dataType, TimestampType):
        raise PipelineError(f"Stage '{node.name}' ({node.location}): column '{column}' is not a timestamp.")
    return column
