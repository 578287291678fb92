"""The offsets at which the sources of a job go on in the place of those of an old checkpoint."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pitstop.adoption.offsets import converted
from pitstop.adoption.reading import OldEpoch, OldSource
from pitstop.adoption.sources import NewSource, old_of
from pitstop.errors import EngineError, IncompatibleError
from pitstop.pipeline.nodes import Node
from pitstop.pipeline.specs import SourceSpec
from pitstop.snapshots.checkpoint import Checkpoint
from pitstop.spark.adopting.trying import try_offset
from pitstop.spark.base.environment import SourceSettings
from pitstop.spark.base.failures import PASSING
from pitstop.spark.base.seeking import NoSuchPlaceError
from pitstop.spark.lowering.compiled_job import CompiledJob
from pitstop.spark.sources import source_kind


def offsets_of_sources(
    job: CompiledJob,
    settings: SourceSettings,
    epoch: OldEpoch,
    chosen: Mapping[int, NewSource],
    building: Path,
    scratch: Path,
) -> dict[str, dict[str, str]]:
    """Return source -> (no reader in particular) -> its offset in the form of its kind.

    ``chosen``: number of an old source -> the source in its place; ``building``: a checkpoint of the job, laid down.
    """
    places = _Places(job, settings, Checkpoint(building), scratch)
    nodes = {node.name: node for node in job.pipeline.nodes if isinstance(node.spec, SourceSpec)}
    offsets = {}
    for number, source in chosen.items():
        node, old = nodes[source.name], old_of(number, epoch.sources)
        assert old.offset is not None, "a source that has not begun is no candidate"
        offset = places.converted(node, old) if source.converts else places.adopted(node, number, old.offset)
        offsets[source.name] = {"": offset}
    return offsets


@dataclass(frozen=True)
class _Places:
    job: CompiledJob
    settings: SourceSettings
    laid_down: Checkpoint
    scratch: Path

    def converted(self, node: Node, old: OldSource) -> str:
        """Return the offset that the job's function gives for an old source. Its reader has planned an epoch from there."""
        migration = self.job.pipeline.offset_migrations[node.name]
        text = converted(migration, old)
        folder = self.scratch / f"trial-{old.facts.number}"
        try:
            offset = self.adopted(node, old.facts.number, text) if source_kind(node).adopt is not None else text
            try_offset(self.job.spark, node, self.settings, offset, self.laid_down, folder)
        except IncompatibleError as error:
            raise IncompatibleError(f"Function '{migration.name}' returned {text}: {error.message}") from error
        return offset

    def adopted(self, node: Node, number: int, offset: str) -> str:
        """Return the offset at which a source goes on, of an offset of Spark's reader of the same data."""
        adopt = source_kind(node).adopt
        assert adopt is not None, "such a source is no candidate"
        try:
            return adopt(self.job.spark, node.source, offset)
        except NoSuchPlaceError as error:
            sentence = f"Source {number} of the checkpoint cannot go on as source '{node.name}': {error.clause}."
            raise (EngineError(sentence, **PASSING) if error.may_pass else IncompatibleError(sentence)) from error
