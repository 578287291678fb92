"""The job of a test, compiled with sources that the test feeds. Its plan names the sources that it is written with."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from pathlib import Path

from pitstop.errors import UsageError
from pitstop.local.place import LocalPlace
from pitstop.local.version import Version
from pitstop.pipeline.nodes import Node
from pitstop.pipeline.source import Source
from pitstop.pipeline.specs import SourceSpec, Spec
from pitstop.plan.cuts import tables_of
from pitstop.plan.model import Plan
from pitstop.spark.base.environment import SourceSettings
from pitstop.spark.lowering import source as lower_source
from pitstop.spark.lowering.compiled_job import CompiledJob, compile_job
from pitstop.spark.sources import source_kind
from pitstop.testing.feeds import Feed


def compile_with_feeds(
    place: LocalPlace, version: Version, earlier: Mapping[str, Feed], folder: Path
) -> tuple[CompiledJob, dict[str, Feed]]:
    """Return the compiled job, and the feed of each of its sources that do not end.

    Sources that end, and the tables of hash joins, are read as they are. ``earlier`` are the feeds of the version before, whose
    rows the sources that take over from it go on with; ``folder`` has the rows.
    """
    pipeline, settings = version.pipeline, place.environment(version).sources
    tables = tables_of(pipeline.nodes)
    sources = [node for node in pipeline.nodes if isinstance(node.spec, SourceSpec) and id(node) not in tables]
    streams = [node for node in sources if not node.source.bounded]
    if not streams:
        raise UsageError(f"All sources of '{version.name}' end, so it has no epochs to test: run it with ps.run.")
    names = {node.name: version.config.renamed.get(node.name, node.name) for node in streams}
    feeds = {node.name: _feed(place, settings, node, earlier.get(names[node.name])) for node in streams}
    specs = {node.name: _fed(node, feeds[node.name].fed_from(str(folder))) for node in streams}
    compiled = compile_job(place.session, pipeline.with_specs(specs), version.config, settings)
    return dataclasses.replace(compiled, plan=_as_written(compiled.plan, streams)), feeds


def _feed(place: LocalPlace, settings: SourceSettings, node: Node, before: Feed | None) -> Feed:
    tells = node.source.schema is not None
    schema = None if tells else lower_source.read_stream(place.session, node, settings).schema
    return Feed.of(before.name if before is not None else node.name, node, schema)


def _fed(node: Node, source: Source) -> Spec:
    assert isinstance(node.spec, SourceSpec)
    return dataclasses.replace(node.spec, source=source)


def _as_written(plan: Plan, sources: Iterable[Node]) -> Plan:
    """Return the plan with the sources that the job is written with: the rules of updates judge those."""
    written = {node.name: node for node in sources}
    stages = [
        dataclasses.replace(
            stage,
            description=written[stage.name].spec.describe(),
            settings=written[stage.name].source.digest,
            place=source_kind(written[stage.name]).place(written[stage.name].source),
        )
        if stage.name in written
        else stage
        for stage in plan.stages
    ]
    return dataclasses.replace(plan, stages=tuple(stages))
