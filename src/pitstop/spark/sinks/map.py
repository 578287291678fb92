"""The map sink: rows and the mark of their epoch in one transaction of the store."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from functools import partial
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql.types import ArrayType, MapType, StructType

from pitstop.errors import EngineError
from pitstop.kit.wire import from_json_text, json_text
from pitstop.maps.json_form import OPTIONS
from pitstop.maps.model import SHOWN, is_too_long
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
    epoch = EpochId(context.lineage, context.stage, context.epoch, run.known_as, context.digest) if exactly_once else None
    if sink.function is not None:
        write = partial(run.maps.update_epoch, sink.map, changes, _on_values(sink.function), epoch, run.fence)
    else:
        write = partial(run.maps.write_epoch, sink.map, changes, epoch, run.fence)
    run.begins()
    run.ownership.patiently(write)
    return len(changes)


def check_columns(sink: MapSink, rows: DataFrame) -> None:
    """Spark's own errors tell of a key or value that is no column or expression of these rows."""
    wanted = [sink.key] if sink.value is None else [sink.key, sink.value]
    _ = rows.select(*[to_column(rows, value) for value in wanted]).schema


def changes_of(sink: MapSink, rows: DataFrame, context: EpochContext) -> list[tuple[str, str | None]]:
    """Keys and new values as JSON text (None removes), in the order of the rows.

    Rows without a key, or with one that the store cannot keep, are left out, and told: they would fail every epoch with them.
    """
    columns = rows.columns
    if sink.mode == "delete":
        value = "NULL"
    elif sink.value is None or sink.mode == "update":
        value = f"to_json(struct({', '.join(map(quoted, columns))}), {OPTIONS})"
    else:
        rows, name = _with_column(rows, sink.value, "__value_of_entry")
        value = json_of(rows, name)
    rows, name = _with_column(rows, sink.key, "__key_of_entry")
    # As SQL: each call of Spark's functions from Python would cost an epoch time.
    table = rows.selectExpr(f"CAST({quoted(name)} AS STRING) AS key", f"{value} AS value").toArrow()
    keys, values = table.column(0).to_pylist(), table.column(1).to_pylist()
    changes = [(at, value) for at, value in zip(keys, values, strict=True) if at is not None]
    if len(changes) < len(keys):
        sample = values[keys.index(None)]
        context.run.log(
            "WARN",
            "pitstop.sink.map",
            f"{len(keys) - len(changes)} rows for sink '{context.stage}' have no key ({sink.key} is null) and are left out, such "
            f"as: {sample!r}",
        )
    return _with_short_keys(changes, context)


def _with_short_keys(changes: list[tuple[str, str | None]], context: EpochContext) -> list[tuple[str, str | None]]:
    longest = context.run.maps.longest_key if context.run.maps is not None else None
    if longest is None:
        return changes
    kept = [change for change in changes if not is_too_long(change[0], longest)]
    if len(kept) < len(changes):
        sample = next(key for key, _ in changes if is_too_long(key, longest))
        context.run.log(
            "WARN",
            "pitstop.sink.map",
            f"{len(changes) - len(kept)} rows for sink '{context.stage}' have a key of more than {longest:,} bytes, which this "
            f"store cannot keep, and are left out, such as: '{sample[:SHOWN]}...'",
        )
    return kept


def json_of(rows: DataFrame, column: str) -> str:
    """A column's value as JSON text, as an expression; null stays null."""
    text = quoted(column)
    if isinstance(rows.schema[column].dataType, (StructType, ArrayType, MapType)):
        return f"to_json({text}, {OPTIONS})"
    # to_json takes no plain value: wrap it in an object, {"v":...}, and take the wrapping off.
    wrapped = f"to_json(struct({text} AS v), {OPTIONS})"
    return f"CASE WHEN {text} IS NOT NULL THEN substring({wrapped}, 6, length({wrapped}) - 6) END"


def _with_column(rows: DataFrame, value: Any, name: str) -> tuple[DataFrame, str]:
    """The rows, and what a column is called in them that is given by name, or as SQL, or as Spark's own: then by ``name``."""
    if isinstance(value, str) and value in rows.columns:
        return rows, value
    return rows.withColumn(name, to_column(rows, value)), name


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


KIND = SinkKind(write_map, check_columns, collect_changes, rank=STORE, reads_once=True, transactional=True, handles_epochs=True)
