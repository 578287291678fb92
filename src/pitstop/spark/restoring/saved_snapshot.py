"""A snapshot as a restore reads it."""

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
        """What Spark noted of the saved epoch when it planned it."""
        return self.checkpoint.offsets(self.manifest.epoch).metadata

    @property
    def last_watermark_ms(self) -> int:
        """The watermark with which the saved epoch ran: what is closed by it is no longer in the state."""
        return int(self.epoch_metadata["batchWatermarkMs"])

    @contextmanager
    def readable_at(self, folder: Path) -> Iterator[SavedSnapshot]:
        """While this lasts, a view of the snapshot in ``folder`` in which Spark finds all of its state."""
        lay_view(self.folder, self.manifest, folder)
        try:
            yield replace(self, folder=folder)
        finally:
            rmtree(folder, ignore_errors=True)
