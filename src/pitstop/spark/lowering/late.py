"""Dead letters of stages with state: the rows that one leaves out because they are late, or have no event time or key."""

from __future__ import annotations

from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from pitstop.pipeline.nodes import Node
from pitstop.pipeline.specs import JoinSpec, LateSpec, WindowSpec
from pitstop.pipeline.windows import Session
from pitstop.spark.base.naming import KEPT, LETTERS, LOOKED_AT, quoted
from pitstop.spark.internals.late_rows import last_late
from pitstop.spark.lowering.ways_out import WaysOut, ways_out


def lower_late(node: Node, spec: LateSpec, inputs: list[DataFrame]) -> DataFrame:
    """Return the letters of all inputs: ``stage string, key string, text string, error string, time timestamp``."""
    return reduce(DataFrame.unionByName, [_of_input(node, spec, number, rows) for number, rows in enumerate(inputs)])


def _of_input(node: Node, spec: LateSpec, number: int, rows: DataFrame) -> DataFrame:
    ways = ways_out(node, spec.stage, spec.work, number, rows)
    columns = [F.col(quoted(name)) for name in rows.columns]
    keys = [F.col(quoted(name)) for name in _keys(spec, number)]
    left_out, error = ways.untimed | ways.keyless, _missing(ways)
    late_time = ways.late_time
    if rows.isStreaming and late_time is not None:
        bound = ways.bound
        marked = rows.select(*columns, last_late(late_time, bound.operator, bound.grid_us, bound.gap_us))
        last = F.col(quoted(marked.columns[-1]))
        left_out = left_out | last.isNotNull()
        error = F.when(last.isNotNull(), _late(spec, ways, last)).otherwise(error)
        rows = marked
    if rows.isStreaming:
        # Spark moves no condition below an observation, where the number stands in for the watermark until an epoch is planned.
        counts = F.count(F.lit(1)).alias(LOOKED_AT), F.count(F.when(left_out, True)).alias(KEPT)
        rows = rows.observe(f"{LETTERS}{number}:{spec.stage}", *counts)
    return rows.where(left_out).select(
        F.lit(spec.stage).alias("stage"),
        (_json(keys) if keys else F.lit("{}")).alias("key"),
        _json(columns).alias("text"),
        error.alias("error"),
        F.current_timestamp().alias("time"),
    )


def _keys(spec: LateSpec, number: int) -> tuple[str, ...]:
    work = spec.work
    if isinstance(work, WindowSpec):
        return work.keys[number]
    return work.on if isinstance(work, JoinSpec) else work.keys


def _missing(ways: WaysOut) -> Column:
    """Return a column that says what a row lacks that is left out and not late."""
    keyless = F.lit(f"its key has a null: {', '.join(ways.needs_keys)}")
    return F.when(ways.keyless, keyless).otherwise(F.lit(f"its event time {ways.needs_time} is null"))


def _late(spec: LateSpec, ways: WaysOut, last: Column) -> Column:
    """Return a column that says why a row is late; ``last`` is the last late time in microseconds."""
    time = F.col(quoted(ways.late_by or "")).cast("string")
    ended = F.timestamp_micros(last + F.lit(ways.bound.gap_us)).cast("string")
    clause = "the watermark had reached "
    if isinstance(spec.work, WindowSpec):
        clause = f"{'sessions' if isinstance(spec.work.window, Session) else 'windows'} were closed up to "
    return F.concat(F.lit(f"late: {ways.late_by} is "), time, F.lit(f", and {clause}"), ended)


def _json(columns: list[Column]) -> Column:
    return F.to_json(F.struct(*columns), {"ignoreNullFields": "false"})
