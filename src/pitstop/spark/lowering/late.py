"""Dead letters of windows: the rows that a stage leaves out because they are late, or have no event time."""

from __future__ import annotations

from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from pitstop.pipeline.nodes import Node
from pitstop.pipeline.specs import LateSpec
from pitstop.pipeline.windows import Session
from pitstop.spark.base.naming import LETTERS, quoted
from pitstop.spark.internals.late_rows import last_late
from pitstop.spark.lowering.event_time import event_time
from pitstop.spark.lowering.ways_out import ending

ROWS, KEPT = "rows", "kept"


def lower_late(node: Node, spec: LateSpec, inputs: list[DataFrame]) -> DataFrame:
    """Return the letters of all inputs: ``stage string, key string, text string, error string, time timestamp``."""
    return reduce(DataFrame.unionByName, [_of_input(node, spec, number, rows) for number, rows in enumerate(inputs)])


def _of_input(node: Node, spec: LateSpec, number: int, rows: DataFrame) -> DataFrame:
    column = event_time(node, rows, spec.window.timestamps[number])
    time = F.col(quoted(column))
    columns = [F.col(quoted(name)) for name in rows.columns]
    keys = [F.col(quoted(name)) for name in spec.window.keys[number]]
    error = F.lit(f"its event time {column} is null")
    left_out = time.isNull()
    if rows.isStreaming:
        window, grid_us, gap_us = ending(spec.stage, spec.window)
        late = last_late(time, window, grid_us, gap_us)
        marked = rows.select(*columns, late)
        last = F.col(quoted(marked.columns[-1]))
        left_out = left_out | last.isNotNull()
        # Spark moves no condition below an observation, where the number stands in for the watermark until an epoch is planned.
        counts = F.count(F.lit(1)).alias(ROWS), F.count(F.when(left_out, True)).alias(KEPT)
        rows = marked.observe(f"{LETTERS}{number}:{spec.stage}", *counts)
        error = F.when(last.isNotNull(), _late(spec, column, last + F.lit(gap_us))).otherwise(error)
    return rows.where(left_out).select(
        F.lit(spec.stage).alias("stage"),
        (_json(keys) if keys else F.lit("{}")).alias("key"),
        _json(columns).alias("text"),
        error.alias("error"),
        F.current_timestamp().alias("time"),
    )


def _late(spec: LateSpec, column: str, closed_us: Column) -> Column:
    """Return a column that says why a row is late; ``closed_us`` is the time up to which windows have been closed."""
    windows = "sessions" if isinstance(spec.window.window, Session) else "windows"
    time, closed = (moment.cast("string") for moment in (F.col(quoted(column)), F.timestamp_micros(closed_us)))
    return F.concat(F.lit(f"late: {column} is "), time, F.lit(f", and {windows} were closed up to "), closed)


def _json(columns: list[Column]) -> Column:
    return F.to_json(F.struct(*columns), {"ignoreNullFields": "false"})
