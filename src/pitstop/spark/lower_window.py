"""Window aggregates in accumulator form, by Spark's native operators.

A tumbling window is one stateful operator (``frames``). A sliding window aggregates frames of its slide
first and combines closed frames into windows with a second one (``windows``), so that an event is touched
once however many windows cover it. The window column of each operator is named after its stage, so that
the key of the state tells whose it is.
"""

from __future__ import annotations

from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import TimestampType

from pitstop.errors import PipelineError
from pitstop.kit.durations import text
from pitstop.model.layout import StageKind, StateLayout
from pitstop.pipeline.aggregates import Aggregate
from pitstop.pipeline.nodes import Node
from pitstop.pipeline.windows import Window
from pitstop.spark.columns import to_column
from pitstop.spark.naming import quoted, role_column


def lower_window(node: Node, frame: DataFrame, restored: dict[str, DataFrame] | None = None) -> tuple[DataFrame, StateLayout]:
    """The stage's result rows and the layout of its state.

    ``restored``: role -> rows of saved accumulators (columns: keys, window column, accumulators) to be taken
    in beside the live rows.
    """
    window: Window = node.params["window"]
    keys: tuple[str, ...] = node.params["keys"]
    aggregates: dict[str, Aggregate] = node.params["aggregates"]
    restored = restored or {}
    _check_columns(node, frame, keys)
    frames, windows = role_column(node.name, "frames"), role_column(node.name, "windows")
    names = accumulator_names(aggregates)
    combines = [combine for aggregate in aggregates.values() for combine in aggregate.combines]
    timestamp = F.col(quoted(node.params["timestamp"]))
    spans = F.window(timestamp, text(window.slide_ms)).alias(frames)
    lifted = frame.select(*map(quoted, keys), spans, *_lifted(node, frame, aggregates))
    lifted, types = _stable_types(lifted, names, combines)
    result = _combine(_beside(lifted, restored.get("frames")), keys, frames, names, combines)
    last = frames
    if not window.tumbling:
        covering = F.window(F.window_time(F.col(quoted(frames))), text(window.size_ms), text(window.slide_ms))
        spread = result.select(*map(quoted, keys), covering.alias(windows), *map(quoted, names))
        result = _combine(_beside(spread, restored.get("windows")), keys, windows, names, combines)
        last = windows
    layout = _layout(window, keys, result, aggregates, types)
    return _finished(result, keys, last, aggregates), layout


def accumulator_names(aggregates: dict[str, Aggregate]) -> list[str]:
    """``<result>__<i>``, in order."""
    return [f"{name}__{i}" for name, aggregate in aggregates.items() for i in range(len(aggregate.combines))]


def state_columns(layout: StateLayout, stage: str, role: str) -> list[str]:
    """The columns that restored rows of a role have: keys, window column, accumulators."""
    return [*(name for name, _ in layout.keys), role_column(stage, role), *(name for name, _ in layout.accumulators)]


def _check_columns(node: Node, frame: DataFrame, keys: tuple[str, ...]) -> None:
    timestamp = node.params["timestamp"]
    for column in (*keys, timestamp):
        if column not in frame.columns:
            raise PipelineError(
                f"Stage '{node.name}' ({node.location}): there is no column '{column}'. There are: {', '.join(frame.columns)}."
            )
    if not isinstance(frame.schema[timestamp].dataType, TimestampType):
        raise PipelineError(f"Stage '{node.name}' ({node.location}): column '{timestamp}' is no timestamp.")


def _lifted(node: Node, frame: DataFrame, aggregates: dict[str, Aggregate]) -> list[Column]:
    columns = []
    for name, aggregate in aggregates.items():
        inputs = [to_column(frame, value) for value in aggregate.inputs]
        accumulators = aggregate.lift(F, *inputs)
        if len(accumulators) != len(aggregate.combines):
            raise PipelineError(
                f"Stage '{node.name}' ({node.location}): aggregate '{name}' lifts {len(accumulators)} accumulators "
                f"and combines {len(aggregate.combines)}."
            )
        columns += [column.alias(f"{name}__{i}") for i, column in enumerate(accumulators)]
    return columns


def _stable_types(lifted: DataFrame, names: list[str], combines: list[Any]) -> tuple[DataFrame, dict[str, str]]:
    """Cast accumulators until combining keeps their type, as saved ones are combined again (int -> bigint)."""
    for _ in range(5):
        combined = lifted.groupBy().agg(
            *[combine(F, F.col(quoted(n))).alias(n) for n, combine in zip(names, combines, strict=True)]
        )
        wanted = {name: combined.schema[name].dataType for name in names}
        if all(lifted.schema[name].dataType == wanted[name] for name in names):
            break
        lifted = lifted.select(
            *[F.col(quoted(c)).cast(wanted[c]).alias(c) if c in wanted else F.col(quoted(c)) for c in lifted.columns]
        )
    return lifted, {name: lifted.schema[name].dataType.simpleString() for name in names}


def _beside(live: DataFrame, saved: DataFrame | None) -> DataFrame:
    # The live rows come first: a union takes its columns' event-time marks from its first child.
    return live if saved is None else live.unionByName(saved)


def _combine(frame: DataFrame, keys: tuple[str, ...], span: str, names: list[str], combines: list[Any]) -> DataFrame:
    parts = [combine(F, F.col(quoted(name))).alias(name) for name, combine in zip(names, combines, strict=True)]
    return frame.groupBy(*map(quoted, keys), quoted(span)).agg(*parts)


def _finished(frame: DataFrame, keys: tuple[str, ...], span: str, aggregates: dict[str, Aggregate]) -> DataFrame:
    results = []
    for name, aggregate in aggregates.items():
        accumulators = [F.col(quoted(f"{name}__{i}")) for i in range(len(aggregate.combines))]
        results.append(aggregate.finish(F, *accumulators).alias(name))
    start, end = F.col(f"{quoted(span)}.start"), F.col(f"{quoted(span)}.end")
    return frame.select(*map(quoted, keys), start.alias("window_start"), end.alias("window_end"), *results)


def _layout(
    window: Window, keys: tuple[str, ...], frame: DataFrame, aggregates: dict[str, Aggregate], types: dict[str, str]
) -> StateLayout:
    return StateLayout(
        kind=StageKind.WINDOW,
        keys=tuple((key, frame.schema[key].dataType.simpleString()) for key in keys),
        accumulators=tuple(types.items()),
        aggregates=tuple((name, aggregate.state_class) for name, aggregate in aggregates.items()),
        parameters={"size_ms": window.size_ms, "slide_ms": window.slide_ms, "text": window.describe()},
        operators=1 if window.tumbling else 2,
    )
