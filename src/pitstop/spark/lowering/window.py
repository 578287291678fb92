"""Window aggregates in accumulator form, by Spark's native operators.

A tumbling window is one stateful operator (``frames``). A sliding window aggregates frames of its slide
first and combines closed frames into windows with a second one (``windows``), so that an event is touched
once however many windows cover it. A session window is one operator (``sessions``). The window column of each
operator is named after its stage, so that the key of the state tells whose it is. Of several inputs
(co-aggregation) each leaves the accumulators of the others null, which is their neutral element.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import reduce
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from pitstop.errors import PipelineError
from pitstop.kit.durations import text
from pitstop.model.layout import StageKind, StateLayout
from pitstop.pipeline.aggregates import EVENT_TIME, Aggregate
from pitstop.pipeline.combining import Combining, Expression
from pitstop.pipeline.nodes import Node
from pitstop.pipeline.specs import WindowSpec
from pitstop.pipeline.windows import Session, Window
from pitstop.plan.accumulators import COMBINED, LIMITS, TAKEN
from pitstop.spark.base.arithmetic import label
from pitstop.spark.base.naming import quoted, role_column
from pitstop.spark.base.sessions import end_as_shown, timeout_in_state
from pitstop.spark.internals.origins import errors_name
from pitstop.spark.internals.plans import expressions
from pitstop.spark.lowering.event_time import as_key, event_time
from pitstop.spark.lowering.inputs import inputs_of

EVENT = "__event"
GAP = "__gap"


class Aggregation:
    """The aggregates of a stage, over all its inputs, and the names of their accumulators."""

    def __init__(self, node: Node, parts: Sequence[Mapping[str, Aggregate]], strict: bool = False) -> None:
        """Create it; ``strict`` refuses inputs of types that an aggregate does not take."""
        self.node, self.parts, self._strict = node, parts, strict
        self.all: dict[str, Aggregate] = {name: aggregate for part in parts for name, aggregate in part.items()}
        self.combines: dict[str, Combining] = {
            f"{name}__{i}": combine for name, aggregate in self.all.items() for i, combine in enumerate(aggregate.combines)
        }
        """``<result>__<i>`` -> the way in which it is combined, in order."""
        self.taken: dict[str, list[str]] = {}
        """Result column -> what it takes in of a row: as the user says it, and as it is lifted. Known once rows are lifted."""
        self.own_merges: dict[str, str] = {}
        """``<result>__<i>`` -> the SQL that combines it, where its class does not tell. Known once the columns are stable."""

    def lifted(self, frame: DataFrame, part: Mapping[str, Aggregate], timestamp: str | None) -> list[Column]:
        """Return the lifted columns of one input's rows."""
        columns, lifted = [], {}
        for name, aggregate in part.items():
            inputs = inputs_of(self.node, name, aggregate, frame, timestamp, self._strict)
            with self._named(frame.sparkSession, name):
                accumulators = aggregate.lift(F, *inputs)
            if len(accumulators) != len(aggregate.combines):
                raise PipelineError(
                    f"Stage '{self.node.name}' ({self.node.location}): aggregate '{name}' lifts {len(accumulators)} "
                    f"accumulators and combines {len(aggregate.combines)}."
                )
            lifted[name] = (aggregate, inputs, accumulators)
            columns += [column.alias(f"{name}__{i}") for i, column in enumerate(accumulators)]
        self.taken |= _taken(frame, lifted)
        return columns

    def stable(self, lifted: DataFrame) -> tuple[DataFrame, dict[str, str]]:
        """Return the frame with its lifted columns cast so that combining keeps their types, and each accumulator's type as text.

        Saved accumulators are combined again, so a type must not grow with that: the sum of ints is a bigint.
        """
        of_rows = self.columns_of(lifted.sparkSession, {name: c.of_rows for name, c in self.combines.items()})
        for _ in range(5):
            combined = lifted.groupBy().agg(*of_rows)
            kinds = {name: combined.schema[name].dataType for name, c in self.combines.items() if c.gather is None}
            if all(lifted.schema[name].dataType == kind for name, kind in kinds.items()):
                break
            lifted = lifted.withColumns({name: F.col(quoted(name)).cast(kind) for name, kind in kinds.items()})
        own = {name: combining.merge for name, combining in self.combines.items() if combining.own}
        self.own_merges = dict(zip(own, expressions(lifted, self.columns_of(lifted.sparkSession, own)), strict=True))
        return lifted, {name: combined.schema[name].dataType.simpleString() for name in self.combines}

    @property
    def facts(self) -> dict[str, Any]:
        """The facts by which two versions of the stage are compared besides classes and types, as parameters of its layout."""
        limits = {name: combining.limit for name, combining in self.combines.items() if combining.limit is not None}
        noted = {TAKEN: self.taken, COMBINED: self.own_merges, LIMITS: limits}
        return {name: each for name, each in noted.items() if each or name == TAKEN}

    def columns_of(self, spark: SparkSession, expressions: Mapping[str, Expression]) -> list[Column]:
        """Return ``expression(column)`` for each accumulator, under its name."""
        columns = []
        for name, expression in expressions.items():
            with self.named(spark, name):
                columns.append(expression(F, F.col(quoted(name))).alias(name))
        return columns

    def combined(self, frame: DataFrame, keys: tuple[str, ...], span: str, of_rows: bool) -> DataFrame:
        """Return one row for each key and span; ``of_rows``: the frame holds lifted values, else accumulators."""
        functions = {name: c.of_rows if of_rows else c.merge for name, c in self.combines.items()}
        return frame.groupBy(*map(quoted, keys), quoted(span)).agg(*self.columns_of(frame.sparkSession, functions))

    def results(self, spark: SparkSession) -> list[Column]:
        """Return the result columns that the accumulators of a row give."""
        columns = []
        for name, aggregate in self.all.items():
            accumulators = [F.col(quoted(f"{name}__{i}")) for i in range(len(aggregate.combines))]
            with self._named(spark, name):
                columns.append(aggregate.finish(F, *accumulators).alias(name))
        return columns

    def named(self, spark: SparkSession, accumulator: str) -> AbstractContextManager[None]:
        """Make errors of the columns that are created meanwhile name the aggregate of that accumulator."""
        return self._named(spark, accumulator.rpartition("__")[0])

    def _named(self, spark: SparkSession, result: str) -> AbstractContextManager[None]:
        return errors_name(spark, label(self.node, result))


def _taken(frame: DataFrame, parts: Mapping[str, tuple[Aggregate, list[Column], Sequence[Column]]]) -> dict[str, list[str]]:
    """Return the inputs of each aggregate in two forms: as the user says them, and as they are lifted.

    A release may lift the same input in another way, and the user may write it in another way. ``parts``: result column -> the
    aggregate, its inputs, and the columns that are lifted from them.
    """
    texts = iter(expressions(frame, [column for _, inputs, lifted in parts.values() for column in (*inputs, *lifted)]))
    inputs_by_result = {}
    for name, (aggregate, inputs, lifted) in parts.items():
        as_written, as_lifted = ([next(texts) for _ in columns] for columns in (inputs, lifted))
        words = [f"event time {text}" if v is EVENT_TIME else text for v, text in zip(aggregate.inputs, as_written, strict=True)]
        kind = " ".join(aggregate.kinds)
        how = ", ".join(as_lifted)
        inputs_by_result[name] = [how if aggregate.own else f"{kind}({', '.join(words)})", how]
    return inputs_by_result


def lower_window(
    node: Node,
    spec: WindowSpec,
    inputs: list[DataFrame],
    nulls_in: Callable[[DataFrame], DataFrame],
    restored: dict[str, DataFrame] | None = None,
    strict: bool = False,
) -> tuple[DataFrame, StateLayout]:
    """Return the stage's result rows and the layout of its state.

    ``nulls_in`` makes columns of rows that go into state nullable as far as the state's may be null. ``restored``: role -> rows
    of saved accumulators (columns: keys, window column, accumulators), which are taken in beside the live rows. ``strict``
    refuses inputs of types that an aggregate does not take.
    """
    restored = restored or {}
    aggregation = Aggregation(node, spec.aggregates, strict)
    keys, window = spec.keys[0], spec.window
    live, types = _live(node, spec, inputs, aggregation, nulls_in)
    if isinstance(window, Session):
        span = role_column(node.name, "sessions")
        result = aggregation.combined(_sessions(live, restored.get("sessions"), window, span), keys, span, of_rows=True)
    else:
        span, result = _framed(node, live, restored, window, aggregation, keys)
    layout = _layout(spec, result, aggregation, types)
    return finished(result, spec, span, aggregation, is_early=False if spec.early_ms else None), layout


def finished(frame: DataFrame, spec: WindowSpec, span: str, aggregation: Aggregation, is_early: bool | None) -> DataFrame:
    """Return rows of accumulators as rows of results; ``is_early`` None leaves that column out."""
    start, end = F.col(f"{quoted(span)}.start"), F.col(f"{quoted(span)}.end")
    if isinstance(spec.window, Session):
        end = end_as_shown(end)
    flag = [] if is_early is None else [F.lit(is_early).alias("is_early")]
    keys = map(quoted, spec.keys[0])
    columns: list[Column | str] = [*keys, start.alias("window_start"), end.alias("window_end"), *flag]
    return frame.select(*columns, *aggregation.results(frame.sparkSession))


def _live(
    node: Node,
    spec: WindowSpec,
    inputs: list[DataFrame],
    aggregation: Aggregation,
    nulls_in: Callable[[DataFrame], DataFrame],
) -> tuple[DataFrame, dict[str, str]]:
    """Return the lifted rows of all inputs: keys (named as those of the first), event time, lifted columns."""
    parts, keys = [], spec.keys[0]
    for frame, own, declared, aggregates in zip(inputs, spec.keys, spec.timestamps, spec.aggregates, strict=True):
        check_columns(node, frame, own)
        timestamp = event_time(node, frame, declared)
        named = [as_key(frame, column, name) for column, name in zip(own, keys, strict=True)]
        event = F.col(quoted(timestamp)).alias(EVENT)
        parts.append(frame.select(*named, event, *aggregation.lifted(frame, aggregates, timestamp)))
    for number, other in enumerate(parts[1:], 1):
        for name in keys:
            kinds = [frame.schema[name].dataType.simpleString() for frame in (parts[0], other)]
            if kinds[0] != kinds[1]:
                raise PipelineError(
                    f"Stage '{node.name}' ({node.location}): key '{name}' is {kinds[0]} in its first input and {kinds[1]} in "
                    f"input {number + 1}: cast one of them."
                )
    together = reduce(lambda a, b: a.unionByName(b, allowMissingColumns=True), parts)
    return aggregation.stable(nulls_in(together))


def check_columns(node: Node, frame: DataFrame, columns: tuple[str, ...]) -> None:
    """Raise PipelineError unless the frame has these columns."""
    for column in columns:
        if column not in frame.columns:
            raise PipelineError(
                f"Stage '{node.name}' ({node.location}): there is no column '{column}'. There are: {', '.join(frame.columns)}."
            )


def _framed(
    node: Node,
    live: DataFrame,
    restored: dict[str, DataFrame],
    window: Window,
    aggregation: Aggregation,
    keys: tuple[str, ...],
) -> tuple[str, DataFrame]:
    """Return (window column, accumulators by window) of a tumbling or sliding window."""
    frames, windows = role_column(node.name, "frames"), role_column(node.name, "windows")
    spans = F.window(F.col(EVENT), text(window.slide_ms)).alias(frames)
    framed = live.select(*map(quoted, keys), spans, *map(quoted, aggregation.combines))
    result = aggregation.combined(_beside(framed, restored.get("frames")), keys, frames, of_rows=True)
    if window.tumbling:
        return frames, result
    covering = F.window(F.window_time(F.col(quoted(frames))), text(window.size_ms), text(window.slide_ms))
    spread = result.select(*map(quoted, keys), covering.alias(windows), *map(quoted, aggregation.combines))
    return windows, aggregation.combined(_beside(spread, restored.get("windows")), keys, windows, of_rows=False)


def _sessions(live: DataFrame, saved: DataFrame | None, window: Session, span: str) -> DataFrame:
    """Return rows with their session column. A saved session goes in as a row at its start whose timeout is its length."""
    timeout = timeout_in_state(window.timeout_ms)
    if saved is None:
        return live.withColumn(span, F.session_window(F.col(EVENT), timeout))
    length = F.unix_micros(F.col(f"{quoted(span)}.end")) - F.unix_micros(F.col(f"{quoted(span)}.start"))
    old = saved.withColumns(
        {EVENT: F.col(f"{quoted(span)}.start"), GAP: F.concat(length.cast("string"), F.lit(" microseconds"))}
    ).drop(span)
    both = _beside(live.withColumn(GAP, F.lit(timeout)), old)
    return both.withColumn(span, F.session_window(F.col(EVENT), F.col(GAP)))


def _beside(live: DataFrame, saved: DataFrame | None) -> DataFrame:
    # The live rows come first: a union takes its columns' event-time marks from its first child.
    return live if saved is None else live.unionByName(saved)


def _layout(spec: WindowSpec, frame: DataFrame, aggregation: Aggregation, types: dict[str, str]) -> StateLayout:
    window = spec.window
    roles: tuple[str, ...]
    if isinstance(window, Session):
        kind, roles, parameters = StageKind.SESSION, ("sessions",), {"timeout_ms": window.timeout_ms}
    else:
        kind, roles = StageKind.WINDOW, ("frames",) if window.tumbling else ("windows", "frames")
        parameters = {"size_ms": window.size_ms, "slide_ms": window.slide_ms}
    return StateLayout(
        kind=kind,
        keys=tuple((key, frame.schema[key].dataType.simpleString()) for key in spec.keys[0]),
        accumulators=tuple(types.items()),
        aggregates=tuple((name, aggregate.state_class) for name, aggregate in aggregation.all.items()),
        parameters=parameters | {"text": window.describe()} | aggregation.facts,
        roles=(*roles, *range(len(spec.keys))),
    )
