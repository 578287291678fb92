"""Compile a pipeline: check every stage against Spark and write down its plan."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from pyspark.sql import DataFrame, SparkSession

from pitstop.errors import PipelineError
from pitstop.model.layout import StageKind, StateLayout
from pitstop.pipeline.migration import Migration
from pitstop.pipeline.nodes import Node, Op
from pitstop.pipeline.stages import Pipeline
from pitstop.plan.cuts import PASSABLE, STATEFUL, cuts_of, operators_of, sources_of, tables_of
from pitstop.plan.model import Plan, PlanStage
from pitstop.plan.rules import READABLE
from pitstop.plan.wording import describe
from pitstop.spark.base.columns import to_column
from pitstop.spark.base.environment import SourceSettings
from pitstop.spark.base.failures import errors_of_stage
from pitstop.spark.internals.plans import source_relations
from pitstop.spark.lowering.lowering import Lowering
from pitstop.spark.lowering.streaming import joined

_KINDS = {
    Op.SOURCE: StageKind.SOURCE,
    Op.MERGE: StageKind.MERGE,
    Op.TIMESTAMPS: StageKind.WATERMARK,
    Op.INGESTION_TIMESTAMPS: StageKind.WATERMARK,
    Op.HASH_JOIN: StageKind.LOOKUP,
    Op.SINK: StageKind.SINK,
}


def bounded(pipeline: Pipeline) -> bool:
    """True if every source ends, so that the job is a batch job."""
    tables = tables_of(pipeline.nodes)
    return all(node.params["source"].bounded for node in pipeline.nodes if node.op is Op.SOURCE and id(node) not in tables)


def compile_pipeline(
    spark: SparkSession, pipeline: Pipeline, settings: SourceSettings | None = None, partitions: int | None = None
) -> Plan:
    """Lower every stage once, as a stream unless all sources are bounded; PipelineError names the stage at fault."""
    pipeline.check()
    streaming = not bounded(pipeline)
    lowering = Lowering(spark, settings or SourceSettings(), streaming=streaming)
    tables = tables_of(pipeline.nodes)
    static = Lowering(spark, lowering.settings, streaming=False)
    stages = []
    for node in pipeline.nodes:
        _check_migration(node, pipeline.migrations)
        if streaming and node.op is Op.SOURCE and id(node) not in tables:
            _check_streamable(node)
        if id(node) in tables and node.op is Op.SOURCE and not node.params["source"].bounded:
            raise PipelineError(f"Source '{node.name}' ({node.location}) does not end, so it can be no table of a hash join.")
        frame = (static if id(node) in tables else lowering).frame(node)
        if node.op is Op.SINK:
            check_sink(node, frame)
        stages.append(_stage(node, frame, lowering, pipeline.migrations))
    check_early(pipeline.nodes, lowering.layouts)
    cuts = cuts_of(pipeline.nodes)
    operators = operators_of(cuts, lowering.layouts) if streaming else ()
    sources = sources_of(cuts, lowering.layouts)
    if streaming:
        relations = source_relations(joined([lowering.frame(cut.node) for cut in cuts]))
        if len(relations) == len(sources):
            sources = tuple(replace(slot, relation=number) for slot, number in zip(sources, relations, strict=True))
    return Plan(tuple(stages), operators, sources, partitions)


def _stage(node: Node, frame: DataFrame, lowering: Lowering, migrations: Mapping[str, Migration]) -> PlanStage:
    layout = lowering.layouts.get(node.name)
    return PlanStage(
        name=node.name,
        kind=layout.kind if layout is not None else _KINDS.get(node.op, StageKind.STATELESS),
        op=node.op.value,
        inputs=tuple(parent.name for parent in node.inputs),
        description=describe(node),
        location=node.location,
        layout=layout,
        columns=tuple((f.name, f.dataType.simpleString()) for f in frame.schema.fields),
        migration=migrations[node.name].name if node.name in migrations else None,
    )


def _check_migration(node: Node, migrations: Mapping[str, Migration]) -> None:
    if node.name in migrations and node.op not in STATEFUL:
        raise PipelineError(f"Migration '{migrations[node.name].name}' is for stage '{node.name}', which keeps no state.")


def _check_streamable(node: Node) -> None:
    source = node.params["source"]
    if source.bounded and source.kind != "items":
        raise PipelineError(
            f"Source '{node.name}' ({node.location}) ends, and others do not: read its folder with streaming=True."
        )


def check_early(nodes: tuple[Node, ...], layouts: Mapping[str, StateLayout]) -> None:
    """PipelineError unless early results can be made: readable accumulators, and only stateless steps to the sinks."""
    for node in nodes:
        if node.op is Op.WINDOW_AGGREGATE and node.params["early_ms"]:
            layout = layouts.get(node.name)
            for column, classes in layout.aggregates if layout is not None else ():
                if not READABLE.issuperset(classes.split(",")):
                    raise PipelineError(
                        f"Stage '{node.name}' ({node.location}) cannot give early results of '{column}', whose state cannot be "
                        "read before its window ends: give it a stage of its own."
                    )
        if node.op is Op.SINK or node.op in PASSABLE:
            continue
        for parent in node.inputs:
            while parent.op in PASSABLE:
                parent = parent.inputs[0]
            if parent.op is Op.WINDOW_AGGREGATE and parent.params["early_ms"]:
                raise PipelineError(
                    f"Stage '{node.name}' ({node.location}) reads the early results of '{parent.name}': they can go to sinks "
                    "by stateless steps only."
                )


def check_sink(node: Node, frame: DataFrame) -> None:
    """Raise PipelineError unless the sink can take these columns."""
    sink = node.params["sink"]
    if sink.kind == "map":
        with errors_of_stage(node, frame):
            keys = frame.select(to_column(frame, sink.options["key"]))
            _ = keys.schema
            if sink.options["value"] is not None:
                _ = frame.select(to_column(frame, sink.options["value"])).schema
    if sink.kind == "files":
        for column in sink.options["partition_by"]:
            if column not in frame.columns:
                raise PipelineError(
                    f"Sink '{node.name}' ({node.location}): there is no column '{column}' to partition by. "
                    f"There are: {', '.join(frame.columns)}."
                )
        if sink.options["format"] == "csv":
            nested = [f.name for f in frame.schema.fields if f.dataType.typeName() in ("struct", "array", "map")]
            if nested:
                raise PipelineError(f"Sink '{node.name}': csv has no place for nested column '{nested[0]}': use json or parquet.")
    if sink.kind == "logger" and sink.options["template"]:
        _check_template(node, frame, sink.options["template"])


def _check_template(node: Node, frame: DataFrame, template: str) -> None:
    from string import Formatter

    for _, name, _, _ in Formatter().parse(template):
        if name is not None and name not in frame.columns:
            raise PipelineError(
                f"Sink '{node.name}' ({node.location}): there is no column '{name}' for its text. "
                f"There are: {', '.join(frame.columns)}."
            )
