"""The contents of a snapshot as readable facts, by stage and source, and the differences of two snapshots."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pitstop.kit.clock import iso
from pitstop.model.snapshot import SnapshotManifest
from pitstop.plan.model import Plan
from pitstop.service.snapshot_results import Difference


@dataclass(frozen=True)
class SavedStageFacts:
    """A stage with state: what it is, its operators in Spark's numbering, and how much it holds."""

    stage: str
    kind: str
    keys: str
    what: str
    operators: tuple[int, ...]
    rows: int | None
    """The number of rows as last counted by its run; None if they were not counted."""
    bytes: int
    imported: bool


def stages_of(manifest: SnapshotManifest) -> tuple[SavedStageFacts, ...]:
    """Return every stage with state, in the order in which the pipeline defines them."""
    plan = Plan.from_dict(manifest.plan)
    facts = []
    for name, layout in plan.stateful.items():
        operators = tuple(number for number, slot in enumerate(plan.operators) if slot.stage == name)
        files = manifest.imported.get(name) or [
            file for file in manifest.files if any(file.path.startswith(f"state/{number}/") for number in operators)
        ]
        stage = plan.stage(name)
        facts.append(
            SavedStageFacts(
                stage=name,
                kind=layout.kind.value,
                keys=", ".join(f"{key} {kind}" for key, kind in layout.keys),
                what=stage.description if stage is not None else "",
                operators=operators,
                rows=manifest.stages.get(name, {}).get("rows"),
                bytes=sum(file.bytes for file in files),
                imported=name in manifest.imported,
            )
        )
    return tuple(facts)


def offsets_of(manifest: SnapshotManifest) -> tuple[tuple[str, str, str], ...]:
    """Return (source, the stage that reads it or empty, offset as JSON text) for each offset."""
    return tuple(
        (source, reader, offset)
        for source, readers in sorted(manifest.offsets.items())
        for reader, offset in sorted(readers.items())
    )


def whole_of(manifest: SnapshotManifest) -> dict[str, Any]:
    """Return the facts of the snapshot as a whole, with times as ISO 8601 text."""
    return {
        "name": manifest.name,
        "job": manifest.job_name or manifest.job_id,
        "job_id": manifest.job_id,
        "created": iso(manifest.created),
        "epoch": manifest.epoch,
        "watermark": iso(manifest.watermark_ms / 1000) if manifest.watermark_ms else None,
        "partitions": manifest.partitions,
        "bytes": manifest.bytes,
        "versions": " ".join(f"{name} {version}" for name, version in sorted(manifest.versions.items())),
        "format": manifest.format,
    }


def differences(first: SnapshotManifest, second: SnapshotManifest) -> list[Difference]:
    """Return all differences except the names. None stands for a fact that is missing."""
    before, after = _facts(first), _facts(second)
    names = [*before, *(name for name in after if name not in before)]
    return [Difference(name, before.get(name), after.get(name)) for name in names if before.get(name) != after.get(name)]


def _facts(manifest: SnapshotManifest) -> dict[str, Any]:
    facts = {name: value for name, value in whole_of(manifest).items() if name != "name"}
    for source, reader, offset in offsets_of(manifest):
        facts[f"offset of {source}" + (f" for {reader}" if reader else "")] = offset
    for stage in stages_of(manifest):
        head = f"stage {stage.stage}"
        facts |= {f"{head}: kind": stage.kind, f"{head}: keys": stage.keys, head: stage.what}
        facts |= {f"{head}: rows": stage.rows, f"{head}: bytes": stage.bytes}
    return facts
