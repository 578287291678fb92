"""Compile a pipeline: check every stage against Spark and write down its plan."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields, replace

from pyspark.sql import DataFrame, SparkSession

from pitstop.errors import PipelineError, UsageError
from pitstop.machine.named_secrets import names_in, secret
from pitstop.model.layout import StateLayout
from pitstop.pipeline.file_options import check_options
from pitstop.pipeline.migration import Migration
from pitstop.pipeline.nodes import Node
from pitstop.pipeline.specs import HashJoinSpec, SinkSpec, SourceSpec, WindowSpec
from pitstop.pipeline.stages import Pipeline
from pitstop.plan.accumulators import READABLE
from pitstop.plan.cuts import cuts_of, operators_of, sources_of, tables_of
from pitstop.plan.model import Plan, PlanStage
from pitstop.spark.base.environment import SourceSettings
from pitstop.spark.base.failures import PASSING, UNREAD_REMEDY, misses_files
from pitstop.spark.base.object_stores import check_one_store_each
from pitstop.spark.base.row_order import ORDER
from pitstop.spark.internals.plans import source_relations
from pitstop.spark.lowering.lowering import Lowering
from pitstop.spark.lowering.streaming import joined
from pitstop.spark.sinks import check_sink, sink_kind
from pitstop.spark.sources import source_kind


def bounded(pipeline: Pipeline) -> bool:
    """True if every source ends, so that the job is a batch job."""
    return all(node.source.bounded for node in _sources(pipeline))


def grows_in_steps(pipeline: Pipeline) -> bool:
    """Return True if state in memory never needs much more than it takes after an epoch.

    This holds if every source reads a limited amount in an epoch, however much is there, and no window has early results. To read
    those, Spark holds the state a second time.
    """
    early = any(isinstance(node.spec, WindowSpec) and node.spec.early_ms for node in pipeline.nodes)
    return not early and all(source_kind(node).has_limit(node.source) for node in _sources(pipeline))


def _sources(pipeline: Pipeline) -> list[Node]:
    """Return the sources of the query, without those that are read whole, as the table of a hash join."""
    tables = tables_of(pipeline.nodes)
    return [node for node in pipeline.nodes if isinstance(node.spec, SourceSpec) and id(node) not in tables]


def compile_pipeline(
    spark: SparkSession,
    pipeline: Pipeline,
    settings: SourceSettings | None = None,
    partitions: int | None = None,
    runs_already: bool = False,
    read_tables: Mapping[str, DataFrame] | None = None,
) -> Plan:
    """Lower every stage once, as a stream unless all sources are bounded; PipelineError names the stage at fault.

    ``runs_already``: the version was accepted, perhaps by an older release, so what is refused only since then is allowed.
    ``read_tables``: hash join stage -> its table, where that is known better than by reading it now.
    """
    pipeline.check()
    if not runs_already:
        check_options(pipeline.nodes)
    check_one_store_each(pipeline.nodes)
    streaming = not bounded(pipeline)
    lowering = Lowering(
        spark,
        settings or SourceSettings(),
        streaming=streaming,
        strict=not runs_already,
        keeps_tables=False,
        tables=dict(read_tables or {}),
    )
    tables = tables_of(pipeline.nodes)
    static = Lowering(spark, lowering.settings, streaming=False, strict=not runs_already, keeps_tables=False)
    stages = []
    for node in pipeline.nodes:
        _check_secrets(node, runs_already)
        _check_migration(node, pipeline.migrations)
        if streaming and isinstance(node.spec, SourceSpec) and id(node) not in tables:
            _check_streamable(node, pipeline.nodes)
        if id(node) in tables and isinstance(node.spec, SourceSpec) and not node.source.bounded:
            raise PipelineError(f"Source '{node.name}' ({node.location}) does not end, so it can be no table of a hash join.")
        try:
            frame = (static if id(node) in tables else lowering).frame(node)
        except PipelineError as error:
            if (id(node) in tables or isinstance(node.spec, HashJoinSpec)) and misses_files(error):
                raise _unread_table(pipeline, node, error) from error
            raise
        if isinstance(node.spec, SinkSpec) and not runs_already:
            check_sink(node, frame)
        stage = _stage(spark, node, frame, lowering, pipeline.migrations)
        of_stream = streaming and isinstance(node.spec, SourceSpec) and id(node) not in tables
        stages.append(replace(stage, reads_sinks=_own_rows(node, pipeline)) if of_stream else stage)
    check_early(pipeline.nodes, lowering.layouts)
    cuts = cuts_of(pipeline.nodes)
    operators = operators_of(cuts, lowering.layouts) if streaming else ()
    sources = sources_of(cuts, lowering.layouts)
    if streaming:
        relations = source_relations(joined([lowering.frame(cut.node) for cut in cuts]))
        if len(relations) == len(sources):
            sources = tuple(replace(slot, relation=number) for slot, number in zip(sources, relations, strict=True))
    return Plan(tuple(stages), operators, sources, partitions)


def _unread_table(pipeline: Pipeline, node: Node, error: PipelineError) -> PipelineError:
    """Return the error about a table without files. ``node``: the hash join, or a stage of its table."""
    joins = [join for join in pipeline.nodes if isinstance(join.spec, HashJoinSpec) and id(node) in _table_of(join)]
    join = node if isinstance(node.spec, HashJoinSpec) or not joins else joins[0]
    reason = error.message.removeprefix(f"Stage '{join.name}' ({join.location}): ")
    message = f"The table of stage '{join.name}' ({join.location}) cannot be read: {reason} {UNREAD_REMEDY}"
    # Whoever writes the table may not have come to it yet.
    return PipelineError(message, **(error.details | PASSING))


def _table_of(join: Node) -> set[int]:
    return {id(node) for parent in join.inputs[1:] for node in parent.upstream()}


def _stage(
    spark: SparkSession, node: Node, frame: DataFrame, lowering: Lowering, migrations: Mapping[str, Migration]
) -> PlanStage:
    layout = lowering.layouts.get(node.name)
    return PlanStage(
        name=node.name,
        kind=layout.kind if layout is not None else node.spec.kind,
        op=node.spec.op,
        inputs=tuple(parent.name for parent in node.inputs),
        description=node.spec.describe(),
        location=node.location,
        layout=layout,
        columns=tuple((f.name, f.dataType.simpleString()) for f in frame.schema.fields if f.name != ORDER),
        migration=migrations[node.name].name if node.name in migrations else None,
        transactional=isinstance(node.spec, SinkSpec) and sink_kind(node).transactional,
        folder=source_kind(node).folder(node.source) if isinstance(node.spec, SourceSpec) else None,
        place=_place(node),
        adds=isinstance(node.spec, SinkSpec) and _adds(node),
        settings=node.source.digest if isinstance(node.spec, SourceSpec) else None,
        concern=source_kind(node).concern(spark, node.source) if isinstance(node.spec, SourceSpec) else None,
    )


def _place(node: Node) -> str | None:
    if isinstance(node.spec, SourceSpec):
        return source_kind(node).place(node.source)
    return sink_kind(node).place(node.sink) if isinstance(node.spec, SinkSpec) else None


def _adds(node: Node) -> bool:
    return _place(node) is not None and sink_kind(node).adds(node.sink)


def _own_rows(node: Node, pipeline: Pipeline) -> tuple[str, ...]:
    """Return the names of the sinks whose rows a source reads as they come."""
    reads, sinks = source_kind(node).reads, [each for each in pipeline.nodes if isinstance(each.spec, SinkSpec)]
    examples = {sink.name: sink_kind(sink).example(sink.sink, sink.name) for sink in sinks}
    return tuple(name for name, example in examples.items() if example is not None and reads(node.source, example))


def _check_migration(node: Node, migrations: Mapping[str, Migration]) -> None:
    if node.name in migrations and not node.spec.stateful:
        raise PipelineError(f"Migration '{migrations[node.name].name}' is for stage '{node.name}', which keeps no state.")


def _check_secrets(node: Node, runs_already: bool) -> None:
    """Raise PipelineError if a source or sink names a secret that is missing, or where none is looked up."""
    secret_names: Iterable[str]
    other_names: Iterable[str]
    if isinstance(node.spec, SourceSpec):
        word, names = "Source", list(names_in(node.source.values))
        secret_names, other_names = (names, ()) if source_kind(node).secrets else ((), names)
    elif isinstance(node.spec, SinkSpec):
        word, looked_up = "Sink", sink_kind(node).secrets
        values = {part.name: getattr(node.sink, part.name) for part in fields(node.sink)}
        secret_names = names_in([values[name] for name in looked_up])
        other_names = names_in([value for name, value in values.items() if name not in looked_up])
    else:
        return
    for name in other_names:
        if not runs_already:
            raise PipelineError(f"{word} '{node.name}' ({node.location}) names secret '{name}' where secrets are not looked up.")
    for name in dict.fromkeys(secret_names):
        try:
            secret(name)
        except UsageError as error:
            raise PipelineError(f"{word} '{node.name}' ({node.location}): {error.message}") from None


def _check_streamable(node: Node, nodes: tuple[Node, ...]) -> None:
    wrong = source_kind(node).check_stream(node.source)
    if wrong is not None:
        if any(isinstance(join.spec, HashJoinSpec) and id(node) in _table_of(join) for join in nodes):
            wrong = (
                "is the table of a hash join, which is read whole. Its rows can go nowhere else: leave out its dead_letters, and "
                "its way to a sink. The log says how many of its rows cannot be parsed, and shows one."
            )
        raise PipelineError(f"Source '{node.name}' ({node.location}) {wrong}")


def check_early(nodes: tuple[Node, ...], layouts: Mapping[str, StateLayout]) -> None:
    """Raise PipelineError unless early results can be made: their accumulators must be readable."""
    for node in nodes:
        if isinstance(node.spec, WindowSpec) and node.spec.early_ms:
            layout = layouts.get(node.name)
            for column, classes in layout.aggregates if layout is not None else ():
                if not READABLE.issuperset(classes.split(",")):
                    raise PipelineError(
                        f"Stage '{node.name}' ({node.location}) cannot give early results of '{column}', whose state cannot be "
                        "read before its window ends: give it a stage of its own."
                    )
