"""Lower a pipeline's nodes to DataFrames, one function an operation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import TimestampType

from pitstop.errors import PipelineError
from pitstop.model.layout import StateLayout
from pitstop.pipeline.nodes import Node, Op
from pitstop.plan.cuts import streams_of
from pitstop.spark.base.columns import to_column
from pitstop.spark.base.environment import SourceSettings
from pitstop.spark.base.failures import errors_of_stage
from pitstop.spark.internals.plans import check_streamable, stateful_nodes
from pitstop.spark.internals.watermarks import watermark_id
from pitstop.spark.lowering import source as lower_source
from pitstop.spark.lowering.event_time import with_event_time
from pitstop.spark.lowering.join import lower_distinct, lower_hash_join, lower_join
from pitstop.spark.lowering.keyed import lower_map_stateful, lower_rolling
from pitstop.spark.lowering.own_code import lower_stateful
from pitstop.spark.lowering.window import lower_window

OpenSource = Callable[[Node], DataFrame]


@dataclass
class Lowering:
    """Lowers the nodes of one pipeline; each node once, so that Spark sees one relation for one source.

    ``given`` holds frames that stand in for nodes: the rows of an epoch for its cut. ``restored`` holds saved
    accumulators by (stage, role).
    """

    spark: SparkSession
    settings: SourceSettings = field(default_factory=SourceSettings)
    streaming: bool = True
    open_source: OpenSource | None = None
    given: dict[int, DataFrame] = field(default_factory=dict)
    restored: dict[tuple[str, str], DataFrame] = field(default_factory=dict)
    layouts: dict[str, StateLayout] = field(default_factory=dict)
    tables: dict[str, DataFrame] = field(default_factory=dict)
    """Hash join stage -> its table."""
    event_times: dict[str, Node] = field(default_factory=dict)
    """Id of a watermark operator -> the stage that sets the event time there."""

    def frame(self, node: Node) -> DataFrame:
        """The DataFrame of a node."""
        if id(node) not in self.given:
            inputs = [self.frame(parent) for parent in streams_of(node)]
            with errors_of_stage(node, inputs[0] if inputs else None):
                result = _LOWER[node.op](self, node, inputs)
                _ = result.schema  # analyse now, while we know whose fault it is
            self.given[id(node)] = result
        return self.given[id(node)]

    def table(self, node: Node) -> DataFrame:
        """The table of a hash join, read now and kept in memory."""
        if node.name not in self.tables:
            function = node.params["function"]
            if function is not None:
                table = function(self.spark)
                if not isinstance(table, DataFrame):
                    raise PipelineError(f"The table of stage '{node.name}' ({node.location}) is no DataFrame.")
            else:
                table = Lowering(self.spark, self.settings, streaming=False).frame(node.inputs[1])
            self.tables[node.name] = table if table.isStreaming else table.persist()
        return self.tables[node.name]


def _source(lowering: Lowering, node: Node, inputs: list[DataFrame]) -> DataFrame:
    source = node.params["source"]
    if not lowering.streaming:
        frame = lower_source.read_static(lowering.spark, node)
    elif lowering.open_source is not None:
        frame = lowering.open_source(node)
    else:
        frame = lower_source.read_stream(lowering.spark, node, lowering.settings)
    if source.parse is None:
        return frame
    parsed = lower_source.with_parsed(frame, source)
    return lower_source.counted(parsed, node) if lowering.streaming else parsed


def _parsed(lowering: Lowering, node: Node, inputs: list[DataFrame]) -> DataFrame:
    return lower_source.good_rows(inputs[0])


def _dead_letters(lowering: Lowering, node: Node, inputs: list[DataFrame]) -> DataFrame:
    return lower_source.dead_letters(inputs[0], node.inputs[0].name)


def _select(lowering: Lowering, node: Node, inputs: list[DataFrame]) -> DataFrame:
    return inputs[0].select(*[to_column(inputs[0], column) for column in node.params["columns"]])


def _filter(lowering: Lowering, node: Node, inputs: list[DataFrame]) -> DataFrame:
    return inputs[0].where(to_column(inputs[0], node.params["condition"]))


def _with_columns(lowering: Lowering, node: Node, inputs: list[DataFrame]) -> DataFrame:
    columns = node.params["columns"]
    return inputs[0].withColumns({name: to_column(inputs[0], value) for name, value in columns.items()})


def _transform(lowering: Lowering, node: Node, inputs: list[DataFrame]) -> DataFrame:
    result = node.params["function"](inputs[0])
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
    return result


def _merge(lowering: Lowering, node: Node, inputs: list[DataFrame]) -> DataFrame:
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


def _timestamps(lowering: Lowering, node: Node, inputs: list[DataFrame]) -> DataFrame:
    column, frame = node.params["column"], inputs[0]
    if column not in frame.columns:
        raise PipelineError(
            f"Stage '{node.name}' ({node.location}): there is no column '{column}'. There are: {', '.join(frame.columns)}."
        )
    kind = frame.schema[column].dataType
    if not isinstance(kind, TimestampType):
        raise PipelineError(
            f"Stage '{node.name}' ({node.location}): column '{column}' is {kind.simpleString()}; event time is a timestamp."
        )
    return _with_event_time(lowering, node, frame, node.params["allowed_lag_ms"])


def _ingestion_timestamps(lowering: Lowering, node: Node, inputs: list[DataFrame]) -> DataFrame:
    stamped = inputs[0].withColumn(node.params["column"], F.current_timestamp())
    return _with_event_time(lowering, node, stamped, 0)


def _with_event_time(lowering: Lowering, node: Node, frame: DataFrame, lag_ms: int) -> DataFrame:
    result = with_event_time(frame, node.params["column"], lag_ms)
    if result.isStreaming:
        lowering.event_times[watermark_id(result)] = node
    return result


def _window_aggregate(lowering: Lowering, node: Node, inputs: list[DataFrame]) -> DataFrame:
    restored = {role: rows for (stage, role), rows in lowering.restored.items() if stage == node.name}
    return _stateful(lowering, node, lower_window(node, inputs, restored))


def _rolling_aggregate(lowering: Lowering, node: Node, inputs: list[DataFrame]) -> DataFrame:
    return _stateful(lowering, node, lower_rolling(node, inputs[0], lowering.restored.get((node.name, "state"))))


def _map_stateful(lowering: Lowering, node: Node, inputs: list[DataFrame]) -> DataFrame:
    return _stateful(lowering, node, lower_map_stateful(node, inputs[0], lowering.restored.get((node.name, "state"))))


def _distinct(lowering: Lowering, node: Node, inputs: list[DataFrame]) -> DataFrame:
    return _stateful(lowering, node, lower_distinct(node, inputs[0]))


def _join(lowering: Lowering, node: Node, inputs: list[DataFrame]) -> DataFrame:
    return _stateful(lowering, node, lower_join(node, inputs[0], inputs[1]))


def _users_own(lowering: Lowering, node: Node, inputs: list[DataFrame]) -> DataFrame:
    return _stateful(lowering, node, lower_stateful(node, inputs))


def _stateful(lowering: Lowering, node: Node, lowered: tuple[DataFrame, StateLayout | None]) -> DataFrame:
    frame, layout = lowered
    if frame.isStreaming:
        # The query as a whole is not checked (session.STREAM_SETTINGS), so each stage is, with all that leads to it.
        check_streamable(frame)
    if layout is not None:
        lowering.layouts[node.name] = layout
    return frame


def _hash_join(lowering: Lowering, node: Node, inputs: list[DataFrame]) -> DataFrame:
    return lower_hash_join(node, inputs[0], lowering.table(node))


def _sink(lowering: Lowering, node: Node, inputs: list[DataFrame]) -> DataFrame:
    return inputs[0]


_LOWER: dict[Op, Callable[[Lowering, Node, list[DataFrame]], Any]] = {
    Op.SOURCE: _source,
    Op.PARSED: _parsed,
    Op.DEAD_LETTERS: _dead_letters,
    Op.SELECT: _select,
    Op.FILTER: _filter,
    Op.WITH_COLUMNS: _with_columns,
    Op.TRANSFORM: _transform,
    Op.MERGE: _merge,
    Op.TIMESTAMPS: _timestamps,
    Op.INGESTION_TIMESTAMPS: _ingestion_timestamps,
    Op.WINDOW_AGGREGATE: _window_aggregate,
    Op.ROLLING_AGGREGATE: _rolling_aggregate,
    Op.MAP_STATEFUL: _map_stateful,
    Op.DISTINCT: _distinct,
    Op.JOIN: _join,
    Op.HASH_JOIN: _hash_join,
    Op.STATEFUL: _users_own,
    Op.SINK: _sink,
}
