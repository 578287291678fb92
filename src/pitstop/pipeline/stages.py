"""Pipelines and stages: the fluent face of the graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pitstop.errors import PipelineError
from pitstop.kit.durations import milliseconds
from pitstop.kit.ids import check_name
from pitstop.pipeline.aggregates import Aggregate
from pitstop.pipeline.nodes import Node, Op, caller_location
from pitstop.pipeline.sinks import Sink, logger
from pitstop.pipeline.sources import Source
from pitstop.pipeline.windows import Duration, Window


class Pipeline:
    """A graph of named stages. Reading starts it, writing ends it; nothing runs until it is submitted."""

    def __init__(self) -> None:
        self._nodes: list[Node] = []

    @property
    def nodes(self) -> tuple[Node, ...]:
        """All stages, inputs before what reads them."""
        return tuple(self._nodes)

    def read_from(self, source: Source, name: str, dead_letters: Sink | None = None) -> Stage:
        """Begin with a source. Its name keeps its offset in snapshots.

        Rows that cannot be parsed never stop the job: they are counted, sampled in the log, and go to
        ``dead_letters`` if given (columns ``stage string, text string, time timestamp``; its
        stage is ``<name>-dead-letters``).
        """
        node = self._add(Op.SOURCE, name, (), {"source": source})
        if source.parse is None:
            if dead_letters is not None:
                raise PipelineError(f"Source '{name}' delivers no text to parse, so it has no dead letters.")
            return Stage(self, node)
        if dead_letters is not None:
            bad = self._add(Op.DEAD_LETTERS, f"{name}-unparsed", (node,), {})
            Stage(self, bad).write_to(dead_letters, name=f"{name}-dead-letters")
        return Stage(self, self._add(Op.PARSED, f"{name}-rows", (node,), {}))

    def write_to(self, sink: Sink, *stages: Stage, name: str) -> None:
        """End several stages in one sink; their columns must agree."""
        if not stages:
            raise PipelineError(f"Sink '{name}' gets no stage to write.")
        start = stages[0] if len(stages) == 1 else stages[0].merge(*stages[1:])
        start.write_to(sink, name)

    def check(self) -> None:
        """Raise PipelineError unless every stage leads to a sink and there is at least one."""
        sinks = [node for node in self._nodes if node.op is Op.SINK]
        if not self._nodes:
            raise PipelineError("The pipeline is empty: begin with read_from and end with write_to.")
        if not sinks:
            raise PipelineError("The pipeline has no sink: end at least one stage with write_to.")
        reached = {id(node) for sink in sinks for node in sink.upstream()}
        for node in self._nodes:
            if id(node) not in reached:
                raise PipelineError(
                    f"Stage '{node.name}' ({node.location}) leads to no sink: end it with write_to, or remove it."
                )

    def _add(self, op: Op, name: str, inputs: tuple[Node, ...], params: dict[str, Any]) -> Node:
        check_name("stage", name)
        location = caller_location()
        for other in self._nodes:
            if other.name == name:
                raise PipelineError(f"Two stages are named '{name}' ({other.location} and {location}): give one another name.")
        node = Node(op, name, inputs, params, location)
        self._nodes.append(node)
        return node

    def _free_name(self, base: str) -> str:
        """``filter``, ``filter-2``, ... for stateless stages, whose names carry no state."""
        taken = {node.name for node in self._nodes}
        number, name = 1, base
        while name in taken:
            number += 1
            name = f"{base}-{number}"
        return name


class Stage:
    """Rows on their way. Every method gives a new stage; a stage may be read by several others.

    A column is given by name, as a SQL expression, or as a Spark Column.
    """

    def __init__(self, pipeline: Pipeline, node: Node) -> None:
        self._pipeline = pipeline
        self._node = node

    @property
    def name(self) -> str:
        return self._node.name

    def select(self, *columns: Any, name: str | None = None) -> Stage:
        """Keep or compute these columns. A name or SQL expression, or a Spark Column."""
        return self._next(Op.SELECT, name, columns=columns)

    def filter(self, condition: Any, name: str | None = None) -> Stage:
        """Keep the rows for which the condition is true."""
        return self._next(Op.FILTER, name, condition=condition)

    def with_columns(self, name: str | None = None, /, **columns: Any) -> Stage:
        """Add or replace columns: ``with_columns(speed="distance / hours")``."""
        return self._next(Op.WITH_COLUMNS, name, columns=columns)

    def transform(self, function: Callable[[Any], Any], name: str | None = None) -> Stage:
        """Any stateless ``DataFrame -> DataFrame``. Stateful operators in it are refused."""
        return self._next(Op.TRANSFORM, name, function=function)

    def merge(self, *stages: Stage, name: str | None = None) -> Stage:
        """This stage's rows and those of others, by column name; the columns must agree."""
        for stage in stages:
            if stage._pipeline is not self._pipeline:
                raise PipelineError(f"Stage '{stage.name}' belongs to another pipeline.")
        return self._next(Op.MERGE, name, others=tuple(stage._node for stage in stages))

    def peek(self, name: str = "peek", template: str | None = None) -> Stage:
        """Log each row as the logger sink does, under this name, and go on with the same rows."""
        self.write_to(logger(template), self._pipeline._free_name(name))
        return self

    def with_timestamps(self, column: str, allowed_lag: Duration = 0, name: str | None = None) -> Stage:
        """Take event time from a timestamp column; the watermark follows the highest by ``allowed_lag``."""
        return self._next(Op.TIMESTAMPS, name, column=column, allowed_lag_ms=milliseconds(allowed_lag, "allowed lag"))

    def with_ingestion_timestamps(self, column: str = "ingestion_time", name: str | None = None) -> Stage:
        """Stamp rows with the time of their epoch, in a new column. A replay stamps them anew."""
        return self._next(Op.INGESTION_TIMESTAMPS, name, column=column)

    def group_by(self, *columns: str) -> KeyedStage:
        """Group rows by these columns, for an aggregate."""
        return KeyedStage(self, tuple(columns))

    def write_to(self, sink: Sink, name: str) -> None:
        """End in a sink."""
        self._pipeline._add(Op.SINK, name, (self._node,), {"sink": sink})

    def timestamp_column(self) -> str | None:
        """The event-time column that reaches this stage, None without timestamps."""
        return _timestamp_column(self._node)

    def _next(self, op: Op, name: str | None, others: tuple[Node, ...] = (), **params: Any) -> Stage:
        chosen = name if name is not None else self._pipeline._free_name(op.value)
        return Stage(self._pipeline, self._pipeline._add(op, chosen, (self._node, *others), params))


class KeyedStage:
    """Rows grouped by key columns. No columns: one group of all rows."""

    def __init__(self, stage: Stage, keys: tuple[str, ...]) -> None:
        self._stage = stage
        self._keys = keys

    def window(self, window: Window) -> WindowedStage:
        """Cut each group into windows of event time; the stage needs ``with_timestamps`` before."""
        return WindowedStage(self._stage, self._keys, window)


class WindowedStage:
    """A group cut into windows, waiting for its aggregates."""

    def __init__(self, stage: Stage, keys: tuple[str, ...], window: Window) -> None:
        self._stage = stage
        self._keys = keys
        self._window = window

    def aggregate(self, name: str, **aggregates: Aggregate) -> Stage:
        """One row a key and window once the watermark has passed its end.

        Columns out: the keys, ``window_start``, ``window_end`` (timestamps), and one per aggregate. ``name`` is the
        key of this state in snapshots.
        """
        if not aggregates:
            raise PipelineError(f"Stage '{name}' computes nothing: give it at least one aggregate.")
        for column, aggregate in aggregates.items():
            if not isinstance(aggregate, Aggregate):
                raise PipelineError(f"Column '{column}' of stage '{name}' is no aggregate: use ps.count(), ps.sum(...), ...")
            if column in self._keys or column in ("window_start", "window_end"):
                raise PipelineError(f"Stage '{name}' has two columns named '{column}': rename the aggregate.")
        timestamp = self._stage.timestamp_column()
        if timestamp is None:
            raise PipelineError(f"Stage '{name}' needs event time: call with_timestamps before its window.")
        return self._stage._next(
            Op.WINDOW_AGGREGATE,
            name,
            keys=self._keys,
            window=self._window,
            timestamp=timestamp,
            aggregates=dict(aggregates),
        )


def _timestamp_column(node: Node) -> str | None:
    if node.op in (Op.TIMESTAMPS, Op.INGESTION_TIMESTAMPS):
        return str(node.params["column"])
    if node.op is Op.WINDOW_AGGREGATE:
        return None
    found = [_timestamp_column(parent) for parent in node.inputs]
    if node.op is Op.MERGE and len(set(found)) > 1:
        return None
    return found[0] if found else None
