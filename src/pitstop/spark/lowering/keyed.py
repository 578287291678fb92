"""Stages that keep state by key with a Python function: ``map_stateful``, and rolling aggregates as older releases had them.

Both are Spark's ``applyInPandasWithState``. A row travels as one struct, so that pandas changes no value in it, and
saved state that another layout must take over comes in as rows beside the live ones.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.streaming.state import GroupStateTimeout
from pyspark.sql.types import DataType, StructField, StructType

from pitstop.errors import PipelineError
from pitstop.kit.durations import text
from pitstop.model.layout import StageKind, StateLayout
from pitstop.pipeline.nodes import Node
from pitstop.pipeline.specs import MapStatefulSpec, RollingSpec
from pitstop.spark.base.failures import first_line
from pitstop.spark.base.naming import quoted
from pitstop.spark.internals.arrow import arrow_rows
from pitstop.spark.internals.jvm import JavaError
from pitstop.spark.lowering.event_time import event_time, event_time_if_there
from pitstop.spark.lowering.grouped import key_columns, key_names, layout_of, refuse_doubled
from pitstop.spark.lowering.key_functions import AT, ROW, SAVED, EndOfRows, Items, KeyedFunction
from pitstop.spark.lowering.letters import LETTER, LETTER_TYPE, Letters, output_rows, told
from pitstop.spark.lowering.rolling import lifted_rows, results, rolling_layout
from pitstop.spark.lowering.row_functions import Fold, FoldInto, UserFunction, never
from pitstop.spark.lowering.window import check_columns
from pitstop.spark.state.codec import KEPT, LAST, STATE, StateCodec
from pitstop.spark.state.key_text import FIELDS, TEXT, text_of
from pitstop.spark.state.row_shape import RowShape


def lower_map_stateful(
    node: Node, spec: MapStatefulSpec, frame: DataFrame, restored: DataFrame | None = None
) -> tuple[DataFrame, StateLayout]:
    """Return the rows that the user's function makes, and the layout of its state."""
    fields, output = _schema(node, "state", spec.state), _schema(node, "output", spec.output)
    names = tuple(output.fieldNames())
    refuse_doubled(node, spec.keys, names)
    evict = UserFunction(spec.on_evict, names, node.name).once if spec.on_evict is not None else never
    function = KeyedFunction(
        spec.keys,
        StateCodec(node.name, fields),
        RowShape(frame.schema),
        names,
        UserFunction(spec.function, names, node.name).each,
        evict,
        spec.ttl_ms,
        spec.timestamp is not None,
        Letters(node.name, spec.keys, frame.schema, output, spec.dead_letters),
    )
    result = told(_apply(node, spec, frame, function, output, restored), node)
    result = result if spec.dead_letters else output_rows(result)
    described = {"ttl_ms": spec.ttl_ms, "text": "state" + (f", ttl {text(spec.ttl_ms)}" if spec.ttl_ms else "")}
    return result, layout_of(spec.keys, frame, StageKind.MAPPED, fields, described)


def lower_rolling_as_text(node: Node, spec: RollingSpec, frame: DataFrame) -> tuple[DataFrame, StateLayout]:
    """Return a rolling aggregate on a checkpoint of an older release, which keeps its state as text.

    The rows are those of :func:`~pitstop.spark.lowering.rolling.lower_rolling`, folded in Python.
    """
    aggregation, lifted, fields, timestamp = lifted_rows(node, spec, frame)
    carried = tuple(column for column in frame.columns if column not in spec.keys)
    folds = tuple(FoldInto(name, _fold_of(c), c.gather is not None) for name, c in aggregation.combines.items())
    outputs = StructType([*(frame.schema[column] for column in carried), *fields.fields])
    function = KeyedFunction(
        spec.keys,
        StateCodec(node.name, fields),
        RowShape(lifted.schema, named=False),
        tuple(outputs.fieldNames()),
        Fold(folds, tuple(frame.columns.index(column) for column in carried)),
        never,
        None,
        spec.timestamp is not None,
        Letters(node.name, spec.keys, lifted.schema, outputs, False),
    )
    rows = output_rows(told(_apply(node, spec, lifted, function, outputs, None), node))
    return results(rows, frame, timestamp, aggregation), rolling_layout(spec, frame, aggregation, fields, {})


def _fold_of(combine: Any) -> Callable[[Any, Any], Any]:
    assert combine.fold is not None  # checked when the stage was defined
    fold: Callable[[Any, Any], Any] = combine.fold
    return fold


def _apply(
    node: Node,
    spec: MapStatefulSpec | RollingSpec,
    frame: DataFrame,
    function: KeyedFunction,
    output: StructType,
    restored: DataFrame | None,
) -> DataFrame:
    """Return the rows that the function makes of a frame, behind the key columns.

    ``restored`` holds saved state to begin with.
    """
    keys, timestamp = spec.keys, spec.timestamp
    check_columns(node, frame, keys)
    if function.ttl_ms is None:
        timestamp = event_time_if_there(node, frame, timestamp)
    elif timestamp is not None:
        timestamp = event_time(node, frame, timestamp)
    kinds = {name: frame.schema[name].dataType for name in keys}
    columns = [*key_columns(frame, keys), F.struct(*map(quoted, frame.columns)).alias(ROW)]
    if timestamp is not None:
        columns.append(F.col(quoted(timestamp)).alias(AT))
    live = frame.select(*columns)
    if restored is not None:
        saved = F.struct(_restored_text(restored).alias(STATE), F.col(LAST)).alias(SAVED)
        old = restored.select(*key_columns(restored, keys), saved)
        live = live.withColumn(SAVED, F.lit(None).cast(f"struct<{STATE}:string,{LAST}:bigint>"))
        live = live.unionByName(old, allowMissingColumns=True)
    fields = [StructField(field.name, field.dataType) for field in output.fields]
    schema = StructType([*(StructField(name, kind) for name, kind in kinds.items()), *fields, StructField(LETTER, LETTER_TYPE)])
    grouped = live.groupBy(*map(quoted, key_names(keys)))
    if not frame.isStreaming:
        return grouped.applyInArrow(_once(function, schema), schema)
    timeout = GroupStateTimeout.NoTimeout if function.ttl_ms is None else GroupStateTimeout.EventTimeTimeout
    return grouped.applyInPandasWithState(function, schema, KEPT, "append", timeout)


def _restored_text(restored: DataFrame) -> Column:
    if TEXT in restored.columns:
        return F.col(TEXT)
    fields = restored.schema[FIELDS].dataType
    assert isinstance(fields, StructType)
    return text_of(F.col(FIELDS), fields)


def _once(function: KeyedFunction, shown: StructType) -> Callable[[tuple[Any, ...], pa.Table], pa.Table]:
    """Return the function for a bounded pipeline, which has all rows of a key at once, and its state ends behind them."""

    def whole(key: tuple[Any, ...], rows: pa.Table) -> pa.Table:
        items = Items([], [])
        for batch in rows.to_batches():
            items.extend(function.of_arrow(batch))
        results = function.of_key(
            tuple(function.keys_of_arrow([pa.array([value]) for value in key])[0]) if key else (), items, EndOfRows()
        )
        return pa.Table.from_batches([arrow_rows(results, shown)])

    return whole


def _schema(node: Node, which: str, ddl: str) -> StructType:
    try:
        schema = DataType.fromDDL(ddl)
    except (PySparkException, JavaError) as error:  # of Java, for a collation that there is not
        complaint = f"its {which} {ddl!r} is not DDL such as 'n bigint, last string'"
        raise PipelineError(f"Stage '{node.name}' ({node.location}): {complaint}: {first_line(error)}") from error
    if not isinstance(schema, StructType) or not schema.fields:
        raise PipelineError(f"Stage '{node.name}' ({node.location}): its {which} {ddl!r} has no fields.")
    return schema
