"""The saved places of a job's sources: judged by their kinds before a start, and changed where the option ``seek`` says so."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pyspark.sql import SparkSession

from pitstop.errors import EngineError, UsageError
from pitstop.model.config import JobConfig
from pitstop.model.report import SourceFate
from pitstop.model.snapshot import SnapshotManifest
from pitstop.pipeline.nodes import Node
from pitstop.pipeline.specs import SourceSpec
from pitstop.pipeline.stages import Pipeline
from pitstop.plan.model import Plan
from pitstop.snapshots import manifest as manifests
from pitstop.snapshots.checkpoint import Checkpoint
from pitstop.spark.base.failures import PASSING
from pitstop.spark.base.seeking import NoSuchPlaceError, Sought
from pitstop.spark.sources import source_kind

Offsets = Mapping[str, Mapping[str, str]]
"""Source -> what reads it -> its offset as JSON."""


def fates_at(
    spark: SparkSession, against: Path | None, pipeline: Pipeline, plan: Plan, config: JobConfig
) -> dict[str, SourceFate]:
    """Return the fates of the saved places of sources in the snapshot, or the checkpoint in use, in folder ``against``.

    UsageError for a place in ``seek`` that there is not.
    """
    if against is None:
        if config.seek:
            raise UsageError("The option seek puts sources to another place than the saved one, and nothing is saved here.")
        return {}
    before, offsets, planned = _saved_at(against)
    sought = places_sought(spark, pipeline, offsets, config, planned)
    fates = {name: fate_of(place) for name, place in sought.items()}
    for node in _sources_of(pipeline):
        saved, old = _saved(offsets, node, config), before.sources.get(config.renamed.get(node.name, node.name))
        judge = source_kind(node).judge
        # A source of another kind is refused by its plan.
        same_kind = old is not None and old.description == node.source.kind
        if node.name not in fates and judge is not None and saved is not None and same_kind and node.name in plan.read:
            fates[node.name] = judge(spark, node.source, saved)
    return fates


def fate_of(place: Sought) -> SourceFate:
    """Return the fate of a saved place whose source is put to another one."""
    return SourceFate(place.clause, sought=True, again=place.again)


def places_sought(
    spark: SparkSession, pipeline: Pipeline, offsets: Offsets, config: JobConfig, planned: Offsets
) -> dict[str, Sought]:
    """Return source -> the place to which the option ``seek`` puts it.

    ``planned``: the ends of the epoch that was cut off, if there is one.

    UsageError for one that there is not, or a source that has no saved place or whose kind knows no other places; EngineError if
    its servers are away.
    """
    nodes = {node.name: node for node in _sources_of(pipeline)}
    places = {}
    for name, text in config.seek.items():
        node = nodes.get(name)
        if node is None:
            raise UsageError(f"The new version has no source '{name}' that could be put to another place (seek).")
        saved, seek = _saved(offsets, node, config), source_kind(node).seek
        if saved is None:
            raise UsageError(
                f"Source '{name}' ({node.location}) has no saved place: it begins where its code says. Leave it out of seek."
            )
        if seek is None:
            raise UsageError(
                f"Source '{name}' ({node.location}) is of kind {node.source.kind}, which goes on only from its saved place: "
                "leave it out of seek."
            )
        try:
            places[name] = seek(spark, node.source, text, saved, _saved(planned, node, config))
        except NoSuchPlaceError as error:
            sentence = f"Source '{name}' ({node.location}) cannot be put to {text}: {error.clause}."
            raise (EngineError(sentence, **PASSING) if error.may_pass else UsageError(sentence)) from error
    return places


def _sources_of(pipeline: Pipeline) -> list[Node]:
    return [node for node in pipeline.nodes if isinstance(node.spec, SourceSpec)]


def planned_in(manifest: SnapshotManifest) -> Offsets:
    """Return the ends of the epoch within which the run of a snapshot ended; nothing if it ended between two."""
    return manifest.unfinished["offsets"] if manifest.unfinished is not None else {}


def _saved_at(against: Path) -> tuple[Plan, Offsets, Offsets]:
    """Return the plan, the offsets and the planned ones of a snapshot, or of a checkpoint in use."""
    if (against / manifests.MANIFEST).exists():
        manifest = manifests.read(against)
        return Plan.from_dict(manifest.plan), manifest.offsets, planned_in(manifest)
    checkpoint = Checkpoint(against)
    return Plan.from_dict(checkpoint.facts()["plan"]), checkpoint.offsets_by_source(checkpoint.committed()), {}


def _saved(offsets: Offsets, node: Node, config: JobConfig) -> str | None:
    """Return the offset of a source; its readers are at one place between two epochs."""
    readers = offsets.get(config.renamed.get(node.name, node.name)) or {}
    return next(iter(readers.values()), None)
