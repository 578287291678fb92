"""Checkpoints of Spark that become snapshots."""

from __future__ import annotations

import dataclasses
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pitstop.control.ports.workers import Workers
from pitstop.errors import ConflictError
from pitstop.model.adoption import Adoption
from pitstop.model.data_folder import DataFolder
from pitstop.model.job import JobSource
from pitstop.model.snapshot import SnapshotRecord
from pitstop.model.task import Adopt


@dataclass(frozen=True)
class AdoptionDesk:
    """Requests to adopt checkpoints. Each is done in a process of its own."""

    workers: Workers
    data: DataFolder

    def task(
        self,
        source: JobSource,
        options: dict[str, Any],
        checkpoint: str,
        operators: Mapping[int, str],
        sources: Mapping[int, str],
        name: str,
    ) -> Adopt:
        """Return the request for a process."""
        return Adopt(source, options, checkpoint, dict(operators), dict(sources), str(self.data.root), name)

    def plan(self, task: Adopt) -> Adoption:
        """Return what becomes of each operator and source. Nothing is made."""
        return self.workers.adopt(dataclasses.replace(task, only_plan=True))

    def adopt(self, task: Adopt, register: Callable[[SnapshotRecord], None]) -> Adoption:
        """Make the snapshot; ``register`` notes it, or raises why it may not be."""
        adoption = self.workers.adopt(task)
        assert adoption.snapshot is not None, "an adoption that is no plan makes a snapshot"
        try:
            register(adoption.snapshot)
        except ConflictError:
            shutil.rmtree(adoption.snapshot.path, ignore_errors=True)
            raise
        return adoption
