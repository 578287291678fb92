"""Rolling aggregates: each row with the accumulators of its key so far, which Spark folds in the JVM.

A row is taken into its key's accumulators by expressions of Spark's (``Combining.step``), so no row goes through Python, and
sums, orders and nulls are Spark's own. The state of a key is a row of its accumulators.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import LongType, StructField, StructType

from pitstop.model.layout import StageKind, StateLayout
from pitstop.pipeline.combining import Combining
from pitstop.pipeline.nodes import Node
from pitstop.pipeline.specs import RollingSpec
from pitstop.plan.kinds.rolling import COLUMNS
from pitstop.spark.base.naming import quoted
from pitstop.spark.base.type_texts import type_of
from pitstop.spark.internals.rolling import ROLLED, Fold, rolled
from pitstop.spark.internals.watermarks import WATERMARK_DELAY
from pitstop.spark.lowering.event_time import event_time_if_there, marked
from pitstop.spark.lowering.grouped import key_columns, key_names, layout_of, refuse_doubled
from pitstop.spark.lowering.window import Aggregation, check_columns
from pitstop.spark.state.codec import LAST
from pitstop.spark.state.key_text import FIELDS

ROW, SAVED, AT = "__row", "__saved", "__at"


def lower_rolling(
    node: Node,
    spec: RollingSpec,
    frame: DataFrame,
    restored: DataFrame | None = None,
    strict: bool = False,
    row_by_row: bool = False,
) -> tuple[DataFrame, StateLayout]:
    """Return each row with the results of its key so far, and the layout of the state.

    ``restored`` holds saved state to begin with. ``strict``: inputs of types that an aggregate does not take are refused.
    ``row_by_row``: rows are taken in as they come, and not those of an epoch by their event times.
    """
    aggregation, lifted, fields, timestamp = lifted_rows(node, spec, frame, strict)
    at = F.unix_millis(F.col(quoted(timestamp))) if timestamp is not None else F.lit(None).cast("bigint")
    rows = lifted.withColumn(AT, at).withColumnsRenamed({name: _lifted(name) for name in aggregation.combines})
    state = StructType([*fields.fields, StructField(LAST, LongType())])
    fold = Fold(_steps(rows, aggregation, fields), rows.schema, state, ordered=spec.timestamp is not None and not row_by_row)
    columns = [*key_columns(rows, spec.keys), F.struct(*map(quoted, rows.columns)).alias(ROW)]
    coming = rows.select(*columns)
    if restored is not None:
        coming = coming.withColumn(SAVED, F.lit(None).cast(state))
        accumulators = [F.col(FIELDS).getField(name).cast(field.dataType).alias(name) for name, field in _named(fields)]
        saved = F.struct(*accumulators, F.col(LAST))
        old = restored.select(*key_columns(restored, spec.keys), saved.alias(SAVED))
        coming = coming.unionByName(old, allowMissingColumns=True)
    rolled_rows = rolled(coming, len(key_names(spec.keys)), fold)
    return results(rolled_rows.select(f"{ROLLED}.*"), frame, timestamp, aggregation), rolling_layout(
        spec, frame, aggregation, fields, {"form": COLUMNS}
    )


def lifted_rows(
    node: Node, spec: RollingSpec, frame: DataFrame, strict: bool = False
) -> tuple[Aggregation, DataFrame, StructType, str | None]:
    """Return (the aggregates, rows with their lifted values, the accumulators' fields, the event-time column if there is one)."""
    aggregation = Aggregation(node, (spec.aggregates,), strict)
    check_columns(node, frame, spec.keys)
    refuse_doubled(node, frame.columns, aggregation.all)
    timestamp = event_time_if_there(node, frame, spec.timestamp)
    lifted = frame.select("*", *aggregation.lifted(frame, spec.aggregates, timestamp))
    lifted, types = aggregation.stable(lifted)
    fields = StructType([StructField(name, type_of(kind)) for name, kind in types.items()])
    return aggregation, lifted, fields, timestamp


def results(rows: DataFrame, frame: DataFrame, timestamp: str | None, aggregation: Aggregation) -> DataFrame:
    """Return the columns of the stage's input, with the event time marked as it was, and the results of the accumulators."""
    columns = [
        marked(name, frame.schema[name].metadata.get(WATERMARK_DELAY, 0)) if name == timestamp else F.col(quoted(name))
        for name in frame.columns
    ]
    return rows.select(*columns, *aggregation.results(frame.sparkSession))


def rolling_layout(
    spec: RollingSpec, frame: DataFrame, aggregation: Aggregation, fields: StructType, form: Mapping[str, str]
) -> StateLayout:
    """Return the layout of the stage's state; ``form`` says how it is kept."""
    classes = tuple((name, aggregate.state_class) for name, aggregate in aggregation.all.items())
    return layout_of(spec.keys, frame, StageKind.ROLLING, fields, {"text": "rolling", **aggregation.facts, **form}, classes)


def _steps(rows: DataFrame, aggregation: Aggregation, fields: StructType) -> DataFrame:
    """Return the accumulators after a row, selected from a frame that holds the accumulators before it and the row's fields."""
    both = rows.select(*[F.lit(None).cast(field.dataType).alias(name) for name, field in _named(fields)], "*")
    with _exact_decimals(rows.sparkSession):
        after = []
        for name, combine in aggregation.combines.items():
            with aggregation.named(rows.sparkSession, name):
                after.append(_step(name, combine).alias(name))
        steps = both.select(*after)
        columns = [column.cast(fields[name].dataType) for name, column in zip(aggregation.combines, after, strict=True)]
        return steps if _types(steps.schema) == _types(fields) else both.select(*columns)


def _step(name: str, combine: Combining) -> Column:
    assert combine.step is not None  # checked when the stage was defined
    step: Column = combine.step(F, F.col(quoted(name)), F.col(quoted(_lifted(name))))
    return step


def _lifted(name: str) -> str:
    """Return the name of the column that holds what a row brings to the accumulator of that name."""
    return f"{name}__lifted"


def _types(schema: StructType) -> list[str]:
    return [field.dataType.simpleString() for field in schema.fields]


def _named(schema: StructType) -> list[tuple[str, StructField]]:
    return [(field.name, field) for field in schema.fields]


@contextmanager
def _exact_decimals(spark: SparkSession) -> Iterator[None]:
    """Make expressions that are created meanwhile add decimals without giving up digits behind the point."""
    setting = "spark.sql.decimalOperations.allowPrecisionLoss"
    before = spark.conf.get(setting)
    spark.conf.set(setting, "false")
    try:
        yield
    finally:
        spark.conf.set(setting, str(before))
