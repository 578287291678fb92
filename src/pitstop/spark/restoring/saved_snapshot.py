"""A snapshot, in the form in which a restore reads it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from shutil import rmtree
from typing import Any

from pitstop.model.snapshot import SnapshotManifest
from pitstop.plan.model import Plan
from pitstop.snapshots import manifest as manifests
from pitstop.snapshots.checkpoint import Checkpoint
from pitstop.snapshots.export import lay_view


@dataclass(frozen=True)
class SavedSnapshot:
    """A snapshot's folder and its manifest."""

    folder: Path
    manifest: SnapshotManifest

    @property
    def checkpoint(self) -> Checkpoint:
        """The checkpoint that was exported."""
        return Checkpoint(self.folder / manifests.FILES)

    @property
    def plan(self) -> Plan:
        """The plan that wrote it."""
        return Plan.from_dict(self.manifest.plan)

    @property
    def epoch_metadata(self) -> dict[str, Any]:
        """The metadata that Spark noted when it planned the saved epoch."""
        return self.checkpoint.offsets(self.manifest.epoch).metadata

    @property
    def last_watermark_ms(self) -> int:
        """The watermark with which the saved epoch ran. State that it closes is no longer there."""
        return int(self.epoch_metadata["batchWatermarkMs"])

    @contextmanager
    def readable_at(self, folder: Path) -> Iterator[SavedSnapshot]:
        """Yield a temporary view of the snapshot in ``folder`` in which Spark finds all of its state."""
        lay_view(self.folder, self.manifest, folder)
        try:
            yield replace(self, folder=folder)
        finally:
            rmtree(folder, ignore_errors=True)
