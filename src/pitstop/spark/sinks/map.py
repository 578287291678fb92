"""The map sink: rows and the mark of their epoch in one transaction of the store, the newest row of a key last."""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as compute
from pyspark.sql import DataFrame
from pyspark.sql.types import ArrayType, MapType, StructType

from pitstop.errors import EngineError
from pitstop.kit.counts import counted
from pitstop.kit.wire import from_json_text, json_text
from pitstop.maps.json_form import OPTIONS
from pitstop.maps.model import SHOWN, is_too_long
from pitstop.maps.ports import EpochId, MapStore
from pitstop.model.config import ProcessingGuarantee
from pitstop.model.left_out import LeftOut
from pitstop.pipeline.sink import MapSink
from pitstop.plan.places import map_place
from pitstop.spark.base.columns import to_column
from pitstop.spark.base.naming import quoted
from pitstop.spark.base.row_order import ORDER, order_of, order_of_time
from pitstop.spark.base.stars import stars_without
from pitstop.spark.sinks import STORE, AtOnce, EpochContext, SinkKind

_KEY, _VALUE = "__key_of_entry", "__value_of_entry"


def write_map(sink: MapSink, rows: DataFrame, context: EpochContext) -> int:
    """Apply one epoch's rows, in their order, to the map; return the number of rows with a key."""
    run, maps = context.run, _maps(context)
    changes = changes_of(sink, rows, context)
    epoch = _epoch_of(context)
    if sink.function is not None:
        write = partial(maps.update_epoch, sink.map, changes.pairs, _on_values(sink.function), epoch, run.fence)
    else:
        write = partial(maps.write_epoch, sink.map, changes.pairs, epoch, run.fence, changes.orders)
    run.begins()
    written = run.ownership.patiently(write)
    if written is not None and written.older:
        run.left_out(context.stage, LeftOut.OLDER, written.older)
        if written.older == len(changes.pairs):
            run.log(
                "WARN",
                "pitstop.sink.map",
                f"all {written.older} rows of an epoch for sink '{context.stage}' are left out: map '{sink.map}' has newer ones",
            )
    return len(changes.pairs)


def _write_rows(sink: MapSink, rows: pa.Table, context: EpochContext) -> int:
    """Apply rows of an epoch in real time, in their order, to the map; return the number of those with a key."""
    run = context.run
    changes = _changes_in(sink, rows, context)
    write = partial(_maps(context).write_epoch, sink.map, changes.pairs, None, run.fence, changes.orders)
    written = run.ownership.patiently(write)
    if written is not None and written.older:
        run.left_out(context.stage, LeftOut.OLDER, written.older)
    return len(changes.pairs)


def _mark_epoch(sink: MapSink, context: EpochContext) -> None:
    run = context.run
    run.ownership.patiently(partial(_maps(context).write_epoch, sink.map, [], _epoch_of(context), run.fence))


def _maps(context: EpochContext) -> MapStore:
    if context.run.maps is None:
        raise EngineError(f"Sink '{context.stage}' writes to a map, and this run has no store of maps.")
    return context.run.maps


def _refuses_rows(sink: MapSink) -> str | None:
    if sink.function is not None:
        return f"computes entries from the ones before ({sink.mode}), and would see some rows twice after a failure"
    if sink.takes_order.columns and sink.comes.shuffled:
        # The aggregate takes rows in as they come: the row with the highest event time need not be the last one.
        return (
            f"keeps the row of a key with the highest {sink.takes_order.columns[0]}, which need not have the last result of the "
            "stage with state. Keep the row that comes last, with order_by=()"
        )
    return None


def _epoch_of(context: EpochContext) -> EpochId | None:
    run = context.run
    exactly_once = run.guarantee is not ProcessingGuarantee.AT_LEAST_ONCE
    return EpochId(context.lineage, context.stage, context.epoch, run.known_as, context.digest) if exactly_once else None


@dataclass(frozen=True)
class Changes:
    """The changes that one epoch makes to a map."""

    pairs: list[tuple[str, str | None]]
    """Keys and new values as JSON text (None removes), in the order in which the changes are made. Changes without a key are left
    out at the end."""
    orders: list[str] | None
    """The order of each change; None if the last one of a key is the newest."""

    def only(self, passes: Callable[[str | None], bool]) -> Changes:
        """Return the changes whose key passes."""
        places = [at for at, (key, _) in enumerate(self.pairs) if passes(key)]
        return Changes([self.pairs[at] for at in places], None if self.orders is None else [self.orders[at] for at in places])


def check_columns(sink: MapSink, rows: DataFrame) -> str | None:
    """Return why the sink cannot keep the newest row by its order; None if it can.

    Spark's own errors report a key, value or order that is no column or expression of these rows.
    """
    values = [sink.key, *([] if sink.value is None else [sink.value]), *(sink.order_by or ())]
    kinds = rows.select(*[to_column(rows, value) for value in values]).schema.fields
    if sink.order_by is None:
        return None
    for value, field in zip(sink.order_by, kinds[len(kinds) - len(sink.order_by) :], strict=True):
        kind = field.dataType.simpleString()
        if order_of(rows.select(to_column(rows, value).alias(ORDER)), [ORDER]) is None:
            return (
                f"it cannot keep the newest row by {value}, which is {kind}: order_by takes times, whole numbers, floats, texts "
                "and booleans, so cast it."
            )
    return None


def changes_of(sink: MapSink, rows: DataFrame, context: EpochContext) -> Changes:
    """Return the changes that rows make to the map.

    Rows without a key, or with one that the store cannot keep, are left out and reported: they would fail every epoch with them.
    """
    return _changes_in(sink, _in_order(columns_of(sink, rows).toArrow(), sink.comes.shuffled), context)


def columns_of(sink: MapSink, rows: DataFrame) -> DataFrame:
    """Return key and value of each change as texts, and its order if it has one."""
    columns = [column for column in rows.columns if column != ORDER]
    expressions = {_KEY: sink.key, **{f"{ORDER}_{number}": value for number, value in enumerate(sink.order_by or ())}}
    if sink.value is not None and sink.mode not in ("delete", "update"):
        expressions[_VALUE] = sink.value
    rows, names = _with_columns(rows, expressions)
    if sink.mode == "delete":
        value = "NULL"
    elif _VALUE in names:
        value = json_of(rows, names[_VALUE])
    else:
        value = f"to_json(struct({', '.join(map(quoted, columns))}), {OPTIONS})"
    order = _order(sink, rows, [name for column, name in names.items() if column.startswith(ORDER)])
    # As SQL: each call of Spark's functions from Python would cost an epoch time.
    texts = [f"CAST({quoted(names[_KEY])} AS STRING) AS key", f"{value} AS value"]
    return rows.selectExpr(*texts, *([] if order is None else [f"{order} AS ordering"]))


def _changes_in(sink: MapSink, table: pa.Table, context: EpochContext) -> Changes:
    keys, values, *orders = (column.to_pylist() for column in table.columns)
    changes = Changes(list(zip(keys, values, strict=True)), orders[0] if orders else None)
    if table.column("key").null_count:
        changes = _with_keys(changes, sink, context)
    return _with_short_keys(changes, context)


def _order(sink: MapSink, rows: DataFrame, columns: list[str]) -> str | None:
    """Return the order of rows as SQL, by these columns if the sink names some; None: the row that comes last is the newest."""
    if sink.order_by is not None:
        return order_of(rows, columns, _digest(sink.order_by)) if columns else None
    return quoted(ORDER) if ORDER in rows.columns else order_of_time(rows, sink.comes)


def _digest(expressions: tuple[Any, ...]) -> str:
    """Return the name of an order: rows that another version orders by another expression are not compared with this one's."""
    return f"{zlib.crc32(repr([str(each) for each in expressions]).encode()):08x}"


def _in_order(table: pa.Table, shuffled: bool) -> pa.Table:
    """Return rows of key, value and order from the oldest to the newest; of equal ones the later comes last.

    Behind a shuffle no row is later: they come by their values, so that a second run of the epoch has them in the same order.
    """
    if table.num_columns < 3 or table.num_rows < 2:
        return table
    by = [("ordering", "ascending"), ("value", "ascending")] if shuffled else [("ordering", "ascending")]
    orders = table.column("ordering")
    if not shuffled and compute.all(compute.less_equal(orders.slice(0, len(orders) - 1), orders.slice(1))).as_py():
        return table
    return table.take(compute.sort_indices(table, sort_keys=by))  # a stable sort


def _with_keys(changes: Changes, sink: MapSink, context: EpochContext) -> Changes:
    rest = changes.only(lambda key: key is not None)
    context.run.left_out(context.stage, LeftOut.KEYLESS, len(changes.pairs) - len(rest.pairs))
    sample = next(value for key, value in changes.pairs if key is None)
    rows = counted(len(changes.pairs) - len(rest.pairs), "row")
    context.run.log(
        "WARN",
        "pitstop.sink.map",
        f"{rows} for sink '{context.stage}' without a key ({sink.key} is null) left out, such as: {sample!r}",
    )
    return rest


def _with_short_keys(changes: Changes, context: EpochContext) -> Changes:
    longest = context.run.maps.longest_key if context.run.maps is not None else None
    if longest is None or not any(is_too_long(key, longest) for key, _ in changes.pairs):
        return changes
    rest = changes.only(lambda key: not is_too_long(str(key), longest))
    context.run.left_out(context.stage, LeftOut.LONG_KEY, len(changes.pairs) - len(rest.pairs))
    sample = next(key for key, _ in changes.pairs if is_too_long(key, longest))
    rows = counted(len(changes.pairs) - len(rest.pairs), "row")
    context.run.log(
        "WARN",
        "pitstop.sink.map",
        f"{rows} for sink '{context.stage}' with a key of more than {longest:,} bytes, which this store cannot keep, left out, "
        f"such as: '{sample[:SHOWN]}...'",
    )
    return rest


def json_of(rows: DataFrame, column: str) -> str:
    """Return a column's value as JSON text, as an expression; null stays null."""
    text = quoted(column)
    if isinstance(rows.schema[column].dataType, (StructType, ArrayType, MapType)):
        return f"to_json({text}, {OPTIONS})"
    # to_json takes no plain value: wrap it in an object, {"v":...}, and take the wrapping off.
    wrapped = f"to_json(struct({text} AS v), {OPTIONS})"
    return f"CASE WHEN {text} IS NOT NULL THEN substring({wrapped}, 6, length({wrapped}) - 6) END"


def _with_columns(rows: DataFrame, expressions: dict[str, Any]) -> tuple[DataFrame, dict[str, str]]:
    """Return the rows with new columns, each computed from the user's own columns; and the names of all these columns in them.

    ``expressions``: new name -> a column's name, SQL, or a column of Spark's.
    """
    names = {name: value if isinstance(value, str) and value in rows.columns else name for name, value in expressions.items()}
    hidden = ORDER in rows.columns
    computed = {
        name: to_column(rows, stars_without(value, ORDER) if hidden and isinstance(value, str) else value)
        for name, value in expressions.items()
        if names[name] == name
    }
    return rows.withColumns(computed) if computed else rows, names


def _on_values(function: Callable[[Any, Any], Any]) -> Callable[[str | None, str | None], str | None]:
    """Return the user's function as one on JSON text: the function sees Python objects, the store JSON text."""

    def change(old: str | None, new: str | None) -> str | None:
        before = None if old is None else from_json_text(old)
        after = None if new is None else json.loads(new)
        result = function(before, after)
        return None if result is None else json_text(_as_spark_writes(result), f"What {function.__name__} has made")

    return change


def _as_spark_writes(value: Any) -> Any:
    """Return NaN and infinities as text, as ``to_json`` writes them: JSON has no such numbers."""
    if isinstance(value, float) and not math.isfinite(value):
        return {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}[str(value)]
    if isinstance(value, dict):
        return {key: _as_spark_writes(part) for key, part in value.items()}
    return [_as_spark_writes(part) for part in value] if isinstance(value, list | tuple) else value


def collect_changes(sink: MapSink, rows: DataFrame, context: EpochContext) -> None:
    """Work out the changes, and make none."""
    changes_of(sink, rows, context)


def map_of(sink: MapSink) -> str:
    """Return the name of the map, as a place."""
    return map_place(sink.map)


def _adds(sink: MapSink) -> bool:
    """Return True if a row changes the entry that is there, so that the same row counts twice."""
    return sink.function is not None


KIND = SinkKind(
    write_map,
    check_columns,
    collect_changes,
    rank=STORE,
    reads_once=True,
    transactional=True,
    handles_epochs=True,
    at_once=AtOnce(_refuses_rows, columns_of, _write_rows, _mark_epoch),
    place=map_of,
    adds=_adds,
    example=lambda sink, name: map_of(sink),
)
