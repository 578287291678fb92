"""Lower a pipeline's nodes to DataFrames, with one function for each kind of stage."""

from __future__ import annotations

import time
from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass, field
from functools import partial, singledispatch
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import TimestampType

from pitstop.errors import PipelineError
from pitstop.model.config import MAX_AHEAD_MS
from pitstop.model.layout import StateLayout
from pitstop.model.left_out import LeftOut
from pitstop.pipeline.chains import carries_on, streams
from pitstop.pipeline.nodes import Node
from pitstop.pipeline.row_specs import DropSpec, ExplodeSpec, FilterByFunctionSpec, FlatMapSpec, RenameSpec, SplitSpec
from pitstop.pipeline.specs import (
    DeadLettersSpec,
    DistinctSpec,
    FarAheadSpec,
    FilterSpec,
    HandledSpec,
    HashJoinSpec,
    IngestionTimestampsSpec,
    JoinSpec,
    LateSpec,
    MapStatefulSpec,
    MergeSpec,
    NotAheadSpec,
    OwnCodeSpec,
    ParsedSpec,
    RollingSpec,
    SelectSpec,
    SinkSpec,
    SourceSpec,
    Spec,
    TimestampsSpec,
    TransformSpec,
    UnhandledSpec,
    WindowSpec,
    WithColumnsSpec,
)
from pitstop.pipeline.windows import Session
from pitstop.plan.kinds.rolling import COLUMNS
from pitstop.spark.base.columns import to_column
from pitstop.spark.base.environment import SourceSettings
from pitstop.spark.base.failures import errors_of_stage
from pitstop.spark.base.naming import ROWS_IN, ROWS_OUT
from pitstop.spark.base.session import cached
from pitstop.spark.internals.nulls import with_nulls
from pitstop.spark.internals.plans import check_streamable, explodes, has_watermark, stand_in, stateful_nodes
from pitstop.spark.internals.watermarks import watermark_id
from pitstop.spark.lowering import letters
from pitstop.spark.lowering import source as lower_source
from pitstop.spark.lowering.batch_functions import lower_filter, lower_map
from pitstop.spark.lowering.event_time import (
    Bound,
    Observe,
    event_time_if_there,
    observe_stream,
    with_event_time,
    with_event_time_of,
)
from pitstop.spark.lowering.join import lower_distinct, lower_hash_join, lower_join
from pitstop.spark.lowering.keyed import lower_map_stateful, lower_rolling_as_text
from pitstop.spark.lowering.late import lower_late
from pitstop.spark.lowering.own_code import lower_own_code
from pitstop.spark.lowering.rolling import lower_rolling
from pitstop.spark.lowering.row_order import with_order
from pitstop.spark.lowering.row_steps import check_once, lower_drop, lower_explode, lower_rename, lower_split
from pitstop.spark.lowering.ways_out import left_out
from pitstop.spark.lowering.window import lower_window
from pitstop.spark.sources import source_kind

OpenSource = Callable[[Node], DataFrame]


@dataclass
class Lowering:
    """A lowering of one pipeline's nodes, each once, so that Spark sees one relation for one source.

    ``frames`` holds frames that stand in for nodes: the rows of an epoch for its cut. ``restored`` holds saved accumulators by
    (stage, role).
    """

    spark: SparkSession
    settings: SourceSettings = field(default_factory=SourceSettings)
    streaming: bool = True
    open_source: OpenSource | None = None
    frames: dict[int, DataFrame] = field(default_factory=dict)
    restored: dict[tuple[str, str], DataFrame] = field(default_factory=dict)
    saved_layouts: Mapping[str, StateLayout] = field(default_factory=dict)
    """Stage -> the form in which the checkpoint keeps its state. The state of other stages is kept in today's form."""
    layouts: dict[str, StateLayout] = field(default_factory=dict)
    row_by_row: bool = False
    """True if stages with state take rows as they come, in real time; else those of an epoch together."""
    tables: dict[str, DataFrame] = field(default_factory=dict)
    """Hash join stage -> its table, if it has been read already or is asked for."""
    keeps_tables: bool = True
    """True if tables that it reads stay in memory until the caller drops them."""
    event_times: dict[str, Node] = field(default_factory=dict)
    """Id of a watermark operator -> the stage that sets the event time there."""
    count_rows: bool = False
    """True if the rows that sources give, and that stages with state take and give, are counted."""
    strict: bool = False
    """True to refuse what is not accepted any more. A version that runs already goes on as it was, and is not refused."""
    followers: set[str] = field(default_factory=set)
    """Ids of watermark operators that pass on the watermark of those above. The rows that they see must not count."""
    max_ahead_ms: int | None = MAX_AHEAD_MS
    """The longest that times may be ahead of the clock, in milliseconds, where the code does not say (option max_ahead); None: no
    limit."""
    now_ms: Callable[[], int] = lambda: round(time.time() * 1000)
    """The clock for rows that are no stream."""
    observe: Observe | None = None
    """The observer of rows that are no stream; None if nobody asks what is left out of them."""
    observe_table: Observe | None = None
    """The observer of the rows of a hash join's table; None if nobody asks."""
    observed: Container[int] = ()
    """Ids of nodes whose rows are observed elsewhere."""

    def frame(self, node: Node) -> DataFrame:
        """Return the DataFrame of a node."""
        if id(node) not in self.frames:
            inputs = [self.frame(parent) for parent in node.streams]
            if node.spec.stateful:
                pairs = list(zip(node.streams, map(self.nulls_in(node), inputs), strict=True))
                inputs = [self._apart(node, parent, self._timed(node, parent, rows)) for parent, rows in pairs]
                inputs = [self._taken(node, number, rows) for number, rows in enumerate(inputs)]
            with errors_of_stage(node, inputs[0] if inputs else None):
                result = lower(node.spec, self, node, inputs)  # Spark analyses it now, while we know whose fault it is
            counts = _counts(node) or self._explodes(node, result, inputs)
            self.frames[id(node)] = self._counted(f"{ROWS_OUT}{node.name}", result, *_lost(node)) if counts else result
        return self.frames[id(node)]

    def nulls_in(self, node: Node) -> Callable[[DataFrame], DataFrame]:
        """Return a function that makes all columns nullable in rows that go into a stage's state, because saved columns may be.

        So a column is kept in the same way by a version of the pipeline that lets it be null and by one that does not.
        """
        saved_layout = self.saved_layouts.get(node.name)
        if saved_layout is not None and saved_layout.never_null is None:
            return _as_they_are
        return partial(with_nulls, filtered=node.spec.stores_input_schema and (saved_layout is None or saved_layout.any_null))

    def observer(self, node: Node, rows: DataFrame) -> Observe | None:
        """Return the observer of the rows of a node; None if they are observed elsewhere, or nobody asks."""
        return observe_stream if rows.isStreaming else None if id(node) in self.observed else self.observe

    def _taken(self, node: Node, number: int, rows: DataFrame) -> DataFrame:
        """Return the rows of an input of a stage with state.

        The rows are counted, and so are those of them that it leaves out.
        """
        if not self.count_rows or not rows.isStreaming:
            return rows
        return self._counted(f"{ROWS_IN}{number}:{node.name}", rows, *left_out(node, number, rows))

    def _counted(self, name: str, rows: DataFrame, *more: Column) -> DataFrame:
        return rows.observe(name, F.count(F.lit(1)).alias("rows"), *more) if self.count_rows and rows.isStreaming else rows

    def _explodes(self, node: Node, result: DataFrame, inputs: list[DataFrame]) -> bool:
        """Return True if a step of columns changes the number of rows, so that they are counted where they come out."""
        columns = isinstance(node.spec, (SelectSpec, WithColumnsSpec, ExplodeSpec))
        return columns and self.count_rows and result.isStreaming and explodes(result, inputs[0])

    def _timed(self, node: Node, parent: Node, rows: DataFrame) -> DataFrame:
        """Return the rows of an input of a stage with state. Behind functions that keep state Spark has no watermark any more."""
        if not rows.isStreaming or not any(other.spec.loses_watermark for other in parent.upstream()):
            return rows
        column = event_time_if_there(node, rows, parent.event_time)
        if column is None or has_watermark(rows):
            return rows
        timed = with_event_time(rows, column, 0)
        self.followers.add(watermark_id(timed))
        return timed

    def _apart(self, node: Node, parent: Node, rows: DataFrame) -> DataFrame:
        """Return the rows of an input, shuffled where a session would otherwise share a task with another stage of the same keys.

        A task that reads one state store and then writes another fails: Spark takes them for the same store.
        """
        before = [other for other in parent.upstream() if other.spec.stateful]
        if not rows.isStreaming or not before or not any(map(_sessions, [node, *before])):
            return rows
        return rows.repartition(int(str(self.spark.conf.get("spark.sql.shuffle.partitions"))))

    def table(self, spec: HashJoinSpec, node: Node) -> DataFrame:
        """Return the table of a hash join, kept in memory once it is read."""
        if node.name not in self.tables:
            table = self.unread_table(spec, node)
            self.tables[node.name] = cached(table) if self.keeps_tables and not table.isStreaming else table
        return self.tables[node.name]

    def unread_table(self, spec: HashJoinSpec, node: Node) -> DataFrame:
        """Return the table of a hash join, read when its rows are asked for."""
        if spec.function is None:
            static = Lowering(
                self.spark,
                self.settings,
                streaming=False,
                max_ahead_ms=self.max_ahead_ms,
                observe=self.observe_table,
                observe_table=self.observe_table,
                keeps_tables=False,
            )
            return static.frame(node.inputs[1])
        table = spec.function(self.spark)
        if not isinstance(table, DataFrame):
            raise PipelineError(f"The table of stage '{node.name}' ({node.location}) is not a DataFrame.")
        return table


def _as_they_are(rows: DataFrame) -> DataFrame:
    return rows


def _counts(node: Node) -> bool:
    """Return True for stages whose rows are counted where they come out. Sources of text count what they parse anyway."""
    return node.spec.stateful or (isinstance(node.spec, SourceSpec) and not lower_source.can_be_bad(node.source))


def _lost(node: Node) -> list[Column]:
    """Return the column that counts the rows that a source reports as lost."""
    column = source_kind(node).lost if isinstance(node.spec, SourceSpec) else None
    return [F.coalesce(F.sum(column), F.lit(0)).alias(LeftOut.LOST.value)] if column is not None else []


@singledispatch
def lower(spec: Spec, lowering: Lowering, node: Node, inputs: list[DataFrame]) -> DataFrame:
    """Return the rows of a node that does ``spec`` to the rows of its inputs. Below is a function for each kind of stage."""
    raise TypeError(f"Nothing lowers {type(spec).__name__}.")


@lower.register
def _source(spec: SourceSpec, lowering: Lowering, node: Node, inputs: list[DataFrame]) -> DataFrame:
    source = spec.source
    if not lowering.streaming:
        frame = lower_source.read_static(lowering.spark, node, lowering.settings)
    elif lowering.open_source is not None:
        frame = lowering.open_source(node)
    else:
        frame = lower_source.read_stream(lowering.spark, node, lowering.settings)
    if not lower_source.can_be_bad(source):
        return frame
    parsed = lower_source.with_parsed(frame, source)
    observe = lowering.observer(node, parsed)
    if observe is not None:
        parsed = lower_source.counted(parsed, node, observe)
    return parsed if spec.with_bad else lower_source.good_rows(parsed, source)


@lower.register
def _parsed(spec: ParsedSpec, lowering: Lowering, node: Node, inputs: list[DataFrame]) -> DataFrame:
    return lower_source.good_rows(inputs[0], node.inputs[0].source)


@lower.register
def _dead_letters(spec: DeadLettersSpec, lowering: Lowering, node: Node, inputs: list[DataFrame]) -> DataFrame:
    return lower_source.dead_letters(inputs[0], node.inputs[0].name, node.inputs[0].source)


@lower.register
def _select(spec: SelectSpec, lowering: Lowering, node: Node, inputs: list[DataFrame]) -> DataFrame:
    result = inputs[0].select(*[to_column(inputs[0], column) for column in spec.columns])
    check_once(node, result.columns)
    return result


@lower.register
def _filter(spec: FilterSpec, lowering: Lowering, node: Node, inputs: list[DataFrame]) -> DataFrame:
    return inputs[0].where(to_column(inputs[0], spec.condition))


@lower.register
def _with_columns(spec: WithColumnsSpec, lowering: Lowering, node: Node, inputs: list[DataFrame]) -> DataFrame:
    return inputs[0].withColumns({name: to_column(inputs[0], value) for name, value in spec.columns.items()})


def _of_rows(function: Callable[[Node, Any, DataFrame], DataFrame]) -> Callable[..., DataFrame]:
    """Return the function for a stage that looks at its rows alone."""

    def lower_rows(spec: Spec, lowering: Lowering, node: Node, inputs: list[DataFrame]) -> DataFrame:
        return function(node, spec, inputs[0])

    return lower_rows


lower.register(RenameSpec, _of_rows(lower_rename))
lower.register(DropSpec, _of_rows(lower_drop))
lower.register(ExplodeSpec, _of_rows(lower_explode))
lower.register(SplitSpec, _of_rows(lower_split))
lower.register(FlatMapSpec, _of_rows(lower_map))
lower.register(FilterByFunctionSpec, _of_rows(lower_filter))


@lower.register
def _transform(spec: TransformSpec, lowering: Lowering, node: Node, inputs: list[DataFrame]) -> DataFrame:
    result = spec.function(inputs[0])
    if not isinstance(result, DataFrame):
        raise PipelineError(f"Stage '{node.name}' ({node.location}) returned no DataFrame.")
    if lowering.streaming and inputs[0].isStreaming:
        added = list(stateful_nodes(result))
        for name in stateful_nodes(inputs[0]):
            if name in added:
                added.remove(name)
        if added:
            raise PipelineError(
                f"Stage '{node.name}' ({node.location}) keeps state ({added[0]}), which a transform must not: use a "
                "named stateful stage, such as group_by(...).window(...).aggregate(...)."
            )
    check_once(node, result.columns)
    return result


@lower.register
def _merge(spec: MergeSpec, lowering: Lowering, node: Node, inputs: list[DataFrame]) -> DataFrame:
    first, result = inputs[0], inputs[0]
    for other, parent in zip(inputs[1:], node.inputs[1:], strict=True):
        if set(first.columns) != set(other.columns):
            odd = sorted(set(first.columns) ^ set(other.columns))
            raise PipelineError(
                f"Stage '{node.name}' ({node.location}): '{node.inputs[0].name}' and '{parent.name}' differ in columns "
                f"({', '.join(odd)}): select the same ones before merging."
            )
        result = result.unionByName(other)
    return result


@lower.register
def _timestamps(spec: TimestampsSpec, lowering: Lowering, node: Node, inputs: list[DataFrame]) -> DataFrame:
    frame = inputs[0]
    _check_time(node, frame, spec.column)
    if carries_on(node):
        return with_event_time_of(frame, spec.column)
    if frame.isStreaming and any(other.spec.loses_watermark for other in node.upstream()) and has_watermark(frame):
        raise PipelineError(
            f"Stage '{node.name}' ({node.location}) sets the event time behind Spark code that has set it: set it there only."
        )
    if spec.usual_bound and streams(node):
        frame = _bound(lowering, spec.column).within(frame, node.name, lowering.observer(node, frame))
    return _with_event_time(lowering, node, frame, spec.column, spec.allowed_lag_ms)


@lower.register
def _not_ahead(spec: NotAheadSpec, lowering: Lowering, node: Node, inputs: list[DataFrame]) -> DataFrame:
    _check_time(node, inputs[0], spec.column)
    bound = _bound(lowering, spec.column, spec.most_ms)
    return bound.within(inputs[0], node.name, lowering.observer(node, inputs[0]))


@lower.register
def _far_ahead(spec: FarAheadSpec, lowering: Lowering, node: Node, inputs: list[DataFrame]) -> DataFrame:
    _check_time(node, inputs[0], spec.column)
    return _bound(lowering, spec.column, spec.most_ms).beyond(inputs[0], node.inputs[0].name)


def _bound(lowering: Lowering, column: str, most_ms: int | None = None) -> Bound:
    return Bound(column, lowering.max_ahead_ms if most_ms is None else most_ms, lowering.now_ms)


def _check_time(node: Node, frame: DataFrame, column: str) -> None:
    if column not in frame.columns:
        raise PipelineError(
            f"Stage '{node.name}' ({node.location}): there is no column '{column}'. There are: {', '.join(frame.columns)}."
        )
    kind = frame.schema[column].dataType
    if not isinstance(kind, TimestampType):
        raise PipelineError(
            f"Stage '{node.name}' ({node.location}): column '{column}' is {kind.simpleString()}; event time is a timestamp."
        )


@lower.register
def _ingestion_timestamps(spec: IngestionTimestampsSpec, lowering: Lowering, node: Node, inputs: list[DataFrame]) -> DataFrame:
    stamped = inputs[0].withColumn(spec.column, F.current_timestamp())
    return _with_event_time(lowering, node, stamped, spec.column, 0)


def _with_event_time(lowering: Lowering, node: Node, frame: DataFrame, column: str, lag_ms: int) -> DataFrame:
    result = with_event_time(frame, column, lag_ms)
    if result.isStreaming:
        lowering.event_times[watermark_id(result)] = node
    return result


@lower.register
def _window_aggregate(spec: WindowSpec, lowering: Lowering, node: Node, inputs: list[DataFrame]) -> DataFrame:
    restored = {role: rows for (stage, role), rows in lowering.restored.items() if stage == node.name}
    return _stateful(lowering, node, lower_window(node, spec, inputs, lowering.nulls_in(node), restored, lowering.strict))


@lower.register
def _late(spec: LateSpec, lowering: Lowering, node: Node, inputs: list[DataFrame]) -> DataFrame:
    return lower_late(node, spec, inputs)


@lower.register
def _rolling_aggregate(spec: RollingSpec, lowering: Lowering, node: Node, inputs: list[DataFrame]) -> DataFrame:
    saved_layout = lowering.saved_layouts.get(node.name)
    if saved_layout is not None and saved_layout.form != COLUMNS:
        return _stateful(lowering, node, lower_rolling_as_text(node, spec, inputs[0]))
    restored = lowering.restored.get((node.name, "state"))
    return _stateful(lowering, node, lower_rolling(node, spec, inputs[0], restored, lowering.strict, lowering.row_by_row))


@lower.register
def _map_stateful(spec: MapStatefulSpec, lowering: Lowering, node: Node, inputs: list[DataFrame]) -> DataFrame:
    return _stateful(lowering, node, lower_map_stateful(node, spec, inputs[0], lowering.restored.get((node.name, "state"))))


@lower.register
def _handled(spec: HandledSpec, lowering: Lowering, node: Node, inputs: list[DataFrame]) -> DataFrame:
    return letters.output_rows(inputs[0])


@lower.register
def _unhandled(spec: UnhandledSpec, lowering: Lowering, node: Node, inputs: list[DataFrame]) -> DataFrame:
    return letters.dead_letters(inputs[0], node.inputs[0].name)


@lower.register
def _distinct(spec: DistinctSpec, lowering: Lowering, node: Node, inputs: list[DataFrame]) -> DataFrame:
    return _stateful(lowering, node, lower_distinct(node, spec, inputs[0]))


@lower.register
def _join(spec: JoinSpec, lowering: Lowering, node: Node, inputs: list[DataFrame]) -> DataFrame:
    return _stateful(lowering, node, lower_join(node, spec, inputs[0], inputs[1]))


@lower.register
def _own_code(spec: OwnCodeSpec, lowering: Lowering, node: Node, inputs: list[DataFrame]) -> DataFrame:
    if inputs[0].isStreaming and _beside_other_state(node):
        check_streamable(spec.function(*map(stand_in, inputs)))
    return _stateful(lowering, node, lower_own_code(node, spec, inputs))


def _stateful(lowering: Lowering, node: Node, lowered: tuple[DataFrame, StateLayout | None]) -> DataFrame:
    frame, layout = lowered
    # The query as a whole is not checked (session.STREAM_SETTINGS), so each stage is, with all that leads to it. Of state in
    # Python Spark believes that it must be alone, which held for its older watermark only: pipeline.chains checks that.
    if frame.isStreaming and not _beside_other_state(node):
        check_streamable(frame)
    if layout is not None:
        noted = layout if layout.never_null is not None else layout.noting_never_null(())
        lowering.layouts[node.name] = noted.noting_any_null() if node.spec.stores_input_schema else noted
    return frame


def _sessions(node: Node) -> bool:
    return isinstance(node.spec, WindowSpec) and isinstance(node.spec.window, Session)


def _beside_other_state(node: Node) -> bool:
    """Return True if a stage that Spark wants alone and another one with state follow one another up to this stage."""
    kinds = [other.spec for other in node.upstream() if other.spec.stateful]
    return len(kinds) > 1 and any(spec.stands_alone for spec in kinds)


@lower.register
def _hash_join(spec: HashJoinSpec, lowering: Lowering, node: Node, inputs: list[DataFrame]) -> DataFrame:
    return lower_hash_join(node, spec, inputs[0], lowering.table(spec, node), lowering.strict)


@lower.register
def _sink(spec: SinkSpec, lowering: Lowering, node: Node, inputs: list[DataFrame]) -> DataFrame:
    return with_order(node, inputs[0], lowering.frame, lambda step, stage, rows: lower(step, lowering, stage, [rows]))
