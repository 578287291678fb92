"""Jobs that can run in real time (option execution), and the sentences about those that cannot."""

from __future__ import annotations

from pyspark.sql import SparkSession

from pitstop.errors import PipelineError
from pitstop.pipeline.nodes import Node
from pitstop.pipeline.row_specs import DropSpec, ExplodeSpec, RenameSpec, SplitSpec
from pitstop.pipeline.specs import (
    FilterSpec,
    MergeSpec,
    NotAheadSpec,
    ParsedSpec,
    RollingSpec,
    SelectSpec,
    SinkSpec,
    SourceSpec,
    TimestampsSpec,
    WithColumnsSpec,
)
from pitstop.pipeline.stages import Pipeline
from pitstop.spark.base.environment import SourceSettings
from pitstop.spark.base.session import runs_here
from pitstop.spark.internals.plans import runs_python
from pitstop.spark.lowering.lowering import Lowering
from pitstop.spark.sinks import sink_kind
from pitstop.spark.sources import source_kind

WAY_OUT = "Leave the job in epochs: -O execution=epochs."

_STEPS = (
    *(ParsedSpec, SelectSpec, FilterSpec, WithColumnsSpec, RenameSpec, DropSpec, ExplodeSpec, SplitSpec, MergeSpec),
    *(TimestampsSpec, NotAheadSpec),
)
"""Steps of Spark alone, which keep no state."""


def check_real_time(spark: SparkSession, pipeline: Pipeline, settings: SourceSettings) -> None:
    """Raise PipelineError, about the first stage at fault, unless the pipeline can run in real time in this session."""
    if not runs_here(spark):
        raise PipelineError(f"A job in real time runs in one JVM, and the jobs of this server run on a cluster. {WAY_OUT}")
    lowering = Lowering(spark, settings, keeps_tables=False)
    readers: dict[int, Node] = {}
    sinks = [node for node in pipeline.nodes if isinstance(node.spec, SinkSpec)]
    for node in pipeline.nodes:
        second = "is a second sink, and a job in real time writes into one" if any(node is sink for sink in sinks[1:]) else None
        reason = second or _refusal(node, lowering)
        for parent in node.inputs if reason is None else ():
            other = readers.setdefault(id(parent), node)
            if other is not node:
                reason = f"reads '{parent.name}', as '{other.name}' does, and in real time a stage gives its rows to one other"
        if reason is not None:
            word = "Source" if isinstance(node.spec, SourceSpec) else "Sink" if isinstance(node.spec, SinkSpec) else "Stage"
            raise PipelineError(f"{word} '{node.name}' ({node.location}) cannot run in real time: it {reason}. {WAY_OUT}")


def only_sink(pipeline: Pipeline) -> Node:
    """Return the sink of a pipeline that can run in real time."""
    (sink,) = (node for node in pipeline.nodes if isinstance(node.spec, SinkSpec))
    return sink


def _refusal(node: Node, lowering: Lowering) -> str | None:
    """Return why a stage cannot be in real time, as a clause; None if it can."""
    before = [other for other in node.upstream() if other is not node and other.spec.stateful]
    if isinstance(node.spec, SourceSpec):
        return None if source_kind(node).real_time else "is not one of Kafka"
    if isinstance(node.spec, SinkSpec):
        way = sink_kind(node).at_once
        return "writes whole epochs alone" if way is None else way.refuses(node.sink)
    if isinstance(node.spec, RollingSpec):
        if before:
            return f"keeps state behind '{before[0].name}', and in real time one stage keeps state"
    elif node.spec.stateful:
        return f"keeps state as {node.spec.op}, and in real time only a rolling aggregate does"
    elif not isinstance(node.spec, _STEPS):
        return f"is {node.spec.op}, which takes rows together, or runs code of its own"
    if isinstance(node.spec, MergeSpec) and before:
        return f"merges rows behind '{before[0].name}', which keeps state"
    return "computes its rows by a Python function, which holds them back" if runs_python(lowering.frame(node)) else None
