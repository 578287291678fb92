"""Joins: of two streams within a time bound, and of a stream with a table in memory; and distinct rows."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as compute
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, DecimalType, DoubleType, FloatType, IntegralType, StringType

from pitstop.errors import PipelineError
from pitstop.kit.durations import text
from pitstop.model.layout import StageKind, StateLayout
from pitstop.pipeline.chains import bears_starts
from pitstop.pipeline.nodes import Node
from pitstop.pipeline.specs import DistinctSpec, HashJoinSpec, JoinSpec
from pitstop.spark.base.naming import quoted
from pitstop.spark.internals.watermarks import WATERMARK_DELAY
from pitstop.spark.lowering.event_time import event_time, event_time_if_there, marked, unmarked
from pitstop.spark.lowering.grouped import with_one_zero
from pitstop.spark.lowering.window import check_columns

RIGHT = "__right_"
_NUMBER = "__number"
_SPARK_NAMES = {"full": "full_outer", "semi": "left_semi"}


def lower_join(node: Node, spec: JoinSpec, left: DataFrame, right: DataFrame) -> tuple[DataFrame, StateLayout]:
    """Return pairs of rows with equal keys whose event times are at most ``within_ms`` apart."""
    keys = spec.on
    check_columns(node, left, keys)
    check_columns(node, right, keys)
    left_time, right_time = (event_time(node, side, declared) for side, declared in zip((left, right), spec.times, strict=True))
    if spec.how != "semi":
        _check_names(node, left, right, keys)
    for key in keys:
        kinds = [side.schema[key].dataType.simpleString() for side in (left, right)]
        if kinds[0] != kinds[1]:
            raise PipelineError(
                f"Stage '{node.name}' ({node.location}): '{key}' is {kinds[0]} on its left and {kinds[1]} on its right: cast one."
            )
    other = right.select(*[F.col(quoted(column)).alias(RIGHT + column) for column in right.columns])
    bound = F.expr(f"INTERVAL {spec.within_ms} MILLISECONDS")
    mine, theirs = F.col(quoted(left_time)), F.col(quoted(RIGHT + right_time))
    # Said aloud, so that Spark sees of a row by itself that it has no partner: of a left join it comes at once. Else it would
    # stay in the state for ever, which no watermark passes.
    condition = mine.isNotNull() & theirs.isNotNull() & (theirs >= mine - bound) & (theirs <= mine + bound)
    for key in keys:
        condition = (F.col(quoted(key)) == F.col(quoted(RIGHT + key))) & condition
    if spec.how == "full":
        # Spark looks a key up in the state as it is, and would take two nulls for equal. Of inner and left joins its optimizer
        # keeps them away.
        for key in keys:
            condition = condition & F.col(quoted(key)).isNotNull() & F.col(quoted(RIGHT + key)).isNotNull()
    joined = left.join(other, condition, _SPARK_NAMES.get(spec.how, spec.how))
    # Of two event times the left one goes on: the right one loses its mark.
    shown = [
        F.col(quoted(RIGHT + column)).alias(column, metadata={})
        if column == right_time
        else F.col(quoted(RIGHT + column)).alias(column)
        for column in right.columns
        if column not in keys
    ]
    own = [F.col(quoted(column)) for column in left.columns]
    if spec.how == "full":
        # A row of the right side alone has its key, and no time of the left side.
        own = [_of_either(column, keys, left_time) for column in left.columns]
    result = joined.select(*own, *([] if spec.how == "semi" else shown))
    sides = tuple((name, side.schema.simpleString()) for name, side in (("left", left), ("right", right)))
    layout = StateLayout(
        kind=StageKind.JOIN,
        keys=tuple((key, left.schema[key].dataType.simpleString()) for key in keys),
        accumulators=sides,
        parameters={"how": spec.how, "within_ms": spec.within_ms, "text": f"join within {text(spec.within_ms)}"},
        roles=("join", 0, 1),
    )
    return result, layout


def _of_either(column: str, keys: tuple[str, ...], time: str) -> Column:
    """Return a column of the left side of a full join: a key is that of the side that is there, and no column is event time."""
    own = F.col(quoted(column))
    if column in keys:
        return F.coalesce(own, F.col(quoted(RIGHT + column))).alias(column, metadata={})
    return own.alias(column, metadata={}) if column == time else own


def lower_hash_join(node: Node, spec: HashJoinSpec, stream: DataFrame, side: DataFrame, strict: bool = False) -> DataFrame:
    """Return each row with the row of the table that has its keys; the table's other columns are added.

    ``strict`` refuses keys that can be compared only by a cast that may fail, or lose digits.
    """
    keys = spec.on
    check_columns(node, stream, keys)
    check_columns(node, side, keys)
    if side.isStreaming:
        raise PipelineError(
            f"Stage '{node.name}' ({node.location}): the table of a hash join must end, and this one is a stream: use join."
        )
    _check_names(node, stream, side, keys)
    for key in keys if strict else ():
        mine, other = (rows.schema[key].dataType for rows in (stream, side))
        if not _comparable(mine, other):
            raise PipelineError(
                f"Stage '{node.name}' ({node.location}): '{key}' is {mine.simpleString()} in its rows and "
                f"{other.simpleString()} in its table: cast one."
            )
    return stream.join(F.broadcast(side), list(keys), spec.how).select(
        *[F.col(quoted(column)) for column in stream.columns],
        *[F.col(quoted(column)) for column in side.columns if column not in keys],
    )


def lower_distinct(node: Node, spec: DistinctSpec, frame: DataFrame) -> tuple[DataFrame, StateLayout]:
    """Return one row of each key, from the first epoch that has one."""
    keys, within_ms, timestamp = spec.keys, spec.within_ms, spec.timestamp
    check_columns(node, frame, keys)
    frame = with_one_zero(frame, keys)
    if within_ms is None:
        timestamp = event_time_if_there(node, frame, timestamp)
    elif timestamp is not None:
        timestamp = event_time(node, frame, timestamp)
    if not frame.isStreaming:
        result = _distinct_at_once(frame, keys, timestamp, within_ms)
    elif within_ms is None or timestamp is None:  # a bound needs event time: checked when the stage was defined
        forgets = _marks(frame).keys() & set(keys) and not bears_starts(node)
        result = frame.dropDuplicates(list(keys)) if forgets else _distinct_for_ever(frame, keys)
    else:
        # Spark forgets a key when the watermark has passed its event time by the delay in the column's mark.
        delay = frame.schema[timestamp].metadata.get(WATERMARK_DELAY, 0)
        bounded = frame.withColumn(timestamp, marked(timestamp, within_ms))
        result = bounded.dropDuplicatesWithinWatermark(list(keys)).withColumn(timestamp, marked(timestamp, delay))
    described = "distinct" if within_ms is None else f"distinct within {text(within_ms)}"
    layout = StateLayout(
        kind=StageKind.DISTINCT,
        keys=tuple((key, frame.schema[key].dataType.simpleString()) for key in keys),
        parameters={"within_ms": within_ms, "text": described},
        roles=("seen", 0),
    )
    return result, layout


def _distinct_for_ever(frame: DataFrame, keys: tuple[str, ...]) -> DataFrame:
    """Return one row of each key, with the marks of event time taken off meanwhile.

    If Spark found an event time it would drop late rows, and forget keys if it is one of them. No key is forgotten here, so no
    row is too late.
    """
    marks = _marks(frame)
    plain = frame.withColumns({name: unmarked(name) for name in marks}).dropDuplicates(list(keys))
    return plain.withColumns({name: marked(name, delay) for name, delay in marks.items()})


def _marks(frame: DataFrame) -> dict[str, int]:
    """Return the columns with an event time, and their delays in milliseconds."""
    return {field.name: field.metadata[WATERMARK_DELAY] for field in frame.schema.fields if WATERMARK_DELAY in field.metadata}


def _distinct_at_once(frame: DataFrame, keys: tuple[str, ...], timestamp: str | None, within_ms: int | None) -> DataFrame:
    """Return the distinct rows of a bounded pipeline, over all its rows at once, in the order of event time if there is one."""
    if timestamp is None:
        return frame.dropDuplicates(list(keys))
    if within_ms is None:
        in_order = Window.partitionBy(*map(quoted, keys)).orderBy(F.col(quoted(timestamp)).asc_nulls_last())
        return frame.withColumn(_NUMBER, F.row_number().over(in_order)).where(F.col(_NUMBER) == 1).drop(_NUMBER)
    within_us = within_ms * 1000

    def kept(rows: pa.Table) -> pa.Table:
        # As numbers: pandas knows the years 1678 to 2262 only.
        times = rows.column(timestamp).combine_chunks().cast(pa.int64())
        chosen, last = [], None
        for place in compute.sort_indices(times).to_pylist():
            at = times[place].as_py()
            if last is None or (at is not None and at - last >= within_us):
                chosen.append(place)
                last = at
            if at is None:
                break
        return rows.take(chosen)

    return frame.groupBy(*map(quoted, keys)).applyInArrow(kept, frame.schema)


def _comparable(one: DataType, other: DataType) -> bool:
    """Return True if Spark compares values of these types as they are, or by a cast that never fails and loses nothing."""
    alike = ((IntegralType, DecimalType), (FloatType, DoubleType), (StringType,))
    return one.simpleString() == other.simpleString() or any(isinstance(one, k) and isinstance(other, k) for k in alike)


def _check_names(node: Node, left: DataFrame, right: DataFrame, keys: tuple[str, ...]) -> None:
    both = [column for column in right.columns if column in left.columns and column not in keys]
    if both:
        raise PipelineError(
            f"Stage '{node.name}' ({node.location}): both sides have a column '{both[0]}': rename it on one side, or join on it."
        )
