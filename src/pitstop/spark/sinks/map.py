"""The map sink: rows and the mark of their epoch in one transaction of the store."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from functools import partial
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, MapType, StructType

from pitstop.errors import EngineError
from pitstop.kit.wire import from_json_text, json_text
from pitstop.maps.json_form import IN_MICROSECONDS, WITH_NULLS
from pitstop.maps.ports import EpochId
from pitstop.model.config import ProcessingGuarantee
from pitstop.pipeline.sinks import MapSink
from pitstop.spark.base.columns import to_column
from pitstop.spark.base.naming import quoted
from pitstop.spark.sinks import STORE, EpochContext, SinkKind


def write_map(sink: MapSink, rows: DataFrame, context: EpochContext) -> int:
    """Apply one epoch's rows, in the order of the rows, to the map; how many had a key."""
    run = context.run
    if run.maps is None:
        raise EngineError(f"Sink '{context.stage}' writes to a map, and this run has no store of maps.")
    changes = changes_of(sink, rows, context)
    exactly_once = run.guarantee is not ProcessingGuarantee.AT_LEAST_ONCE
    epoch = EpochId(context.lineage, context.stage, context.epoch) if exactly_once else None
    if sink.function is not None:
        write = partial(run.maps.update_epoch, sink.map, changes, _on_values(sink.function), epoch, run.fence)
    else:
        write = partial(run.maps.write_epoch, sink.map, changes, epoch, run.fence)
    run.ownership.patiently(write)
    return len(changes)


def check_columns(sink: MapSink, rows: DataFrame) -> None:
    """Spark's own errors tell of a key or value that is no column or expression of these rows."""
    wanted = [sink.key] if sink.value is None else [sink.key, sink.value]
    _ = rows.select(*[to_column(rows, value) for value in wanted]).schema


def changes_of(sink: MapSink, rows: DataFrame, context: EpochContext) -> list[tuple[str, str | None]]:
    """Keys and new values as JSON text (None removes), in the order of the rows. Rows without a key are left out, and told."""
    key = to_column(rows, sink.key).cast("string").alias("key")
    if sink.mode == "delete":
        keys = rows.select(key).toArrow().column(0).to_pylist()
        values: list[Any] = [None] * len(keys)
    else:
        everything = sink.value is None or sink.mode == "update"
        value = F.to_json(F.struct(*map(quoted, rows.columns)), WITH_NULLS) if everything else json_of(rows, sink.value)
        table = rows.select(key, value.alias("value")).toArrow()
        keys, values = table.column(0).to_pylist(), table.column(1).to_pylist()
    changes = [(at, value) for at, value in zip(keys, values, strict=True) if at is not None]
    if len(changes) < len(keys):
        # Such a row would fail every epoch that reads it.
        sample = values[keys.index(None)]
        context.run.log(
            "WARN",
            "pitstop.sink.map",
            f"{len(keys) - len(changes)} rows for sink '{context.stage}' have no key ({sink.key} is null) and are left out, such "
            f"as: {sample!r}",
        )
    return changes


def json_of(rows: DataFrame, value: Any) -> Column:
    """A column's value as JSON text; null stays null."""
    column = to_column(rows, value)
    kind = rows.select(column.alias("v")).schema["v"].dataType
    if isinstance(kind, (StructType, ArrayType, MapType)):
        return F.to_json(column, WITH_NULLS)
    # to_json takes no plain value: wrap it in an object, {"v":...}, and take the wrapping off.
    wrapped = F.to_json(F.struct(column.alias("v")), IN_MICROSECONDS)
    return F.when(column.isNotNull(), F.substring(wrapped, F.lit(6), F.length(wrapped) - 6))


def _on_values(function: Callable[[Any, Any], Any]) -> Callable[[str | None, str | None], str | None]:
    """The user's function sees Python objects, the store JSON text."""

    def change(old: str | None, new: str | None) -> str | None:
        before = None if old is None else from_json_text(old)
        after = None if new is None else json.loads(new)
        result = function(before, after)
        return None if result is None else json_text(_as_spark_writes(result), f"What {function.__name__} has made")

    return change


def _as_spark_writes(value: Any) -> Any:
    """NaN and infinities as text, as ``to_json`` writes them: JSON has no such numbers."""
    if isinstance(value, float) and not math.isfinite(value):
        return {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}[str(value)]
    if isinstance(value, dict):
        return {key: _as_spark_writes(part) for key, part in value.items()}
    return [_as_spark_writes(part) for part in value] if isinstance(value, list | tuple) else value


def collect_changes(sink: MapSink, rows: DataFrame, context: EpochContext) -> None:
    """Work out the changes, and make none."""
    changes_of(sink, rows, context)


KIND = SinkKind(write_map, check_columns, collect_changes, rank=STORE, transactional=True)
