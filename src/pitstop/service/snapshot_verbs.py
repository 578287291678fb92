"""The verbs on snapshots and the state in them, on the store itself."""

from __future__ import annotations

import shutil
from pathlib import Path

from pitstop.control.ports.registry import Registry
from pitstop.control.ports.workers import Workers
from pitstop.control.snapshot_use import goes_back_to, is_unread, job_that_needs
from pitstop.errors import ConflictError, NotFoundError
from pitstop.kit.ids import check_name
from pitstop.model.data_folder import DataFolder
from pitstop.model.job import Job
from pitstop.model.operation import (
    snapshot_of,
)
from pitstop.model.retention import Retention
from pitstop.model.snapshot import SnapshotRecord
from pitstop.model.task import StateRows
from pitstop.service.changes import Changes
from pitstop.service.reads import Reads
from pitstop.service.saved_state import StateDesk


class SnapshotVerbs(Reads):
    """The part of the service that is about snapshots."""

    def __init__(self, registry: Registry, data: DataFolder, changes: Changes, retention: Retention, workers: Workers) -> None:
        super().__init__(registry, data, changes, retention)
        self._states = StateDesk(workers, data)

    def delete_snapshot(self, name: str) -> None:
        with self._registry.transaction():
            self._refuse_if_exporting(name)
            self._refuse_if_needed(name)
            folder = Path(self._snapshot_record(name).path)
            self._registry.delete_snapshot(name)
        # Only after no name leads to it. Files that a crash leaves are swept up.
        shutil.rmtree(folder, ignore_errors=True)

    def query_state(self, snapshot: str, stage: str, sql: str, limit: int = 1000) -> StateRows:
        return self._states.query(self._snapshot_record(snapshot).path, stage, sql, limit)

    def export_state(self, snapshot: str, stage: str) -> bytes:
        return self._states.export(self._snapshot_record(snapshot).path, stage)

    def import_state(self, snapshot: str, stage: str, content: bytes, name: str | None = None) -> SnapshotRecord:
        record, target = self._snapshot_record(snapshot), check_name("snapshot", name or snapshot)
        self._refuse_if_exporting(target)

        def register(new: SnapshotRecord) -> None:
            try:
                with self._registry.transaction():
                    self._refuse_if_exporting(target)
                    if self._snapshot_record(snapshot).path != record.path:
                        raise ConflictError(f"Snapshot '{snapshot}' was replaced while rows were put into it: do it again.")
                    self._registry.add_snapshot(new)
            except (ConflictError, NotFoundError):
                # Refused. After any other error it may be registered all the same; files without a name are swept up.
                shutil.rmtree(new.path, ignore_errors=True)
                raise

        return self._states.put(record.path, stage, content, target, register)

    def _refuse_if_taken(self, snapshot: str) -> None:
        """Raise ConflictError if there is a snapshot of that name, or a job makes one."""
        self._refuse_if_exporting(snapshot)
        if self._registry.get_snapshot(snapshot) is not None:
            raise ConflictError(f"There is a snapshot '{snapshot}': choose another name (--name), or delete it.")

    def _refuse_if_needed(self, snapshot: str) -> None:
        job = job_that_needs(snapshot, self._registry, self._data)
        if job is None:
            return
        if is_unread(job):
            reason = f"Job '{job.display_name}' is not compiled yet, and its code may start from snapshot '{snapshot}'"
            raise ConflictError(f"{reason}: wait for that, or cancel the job.")
        if goes_back_to(snapshot, job, self._registry):
            raise ConflictError(f"Job '{job.display_name}' is going back to snapshot '{snapshot}': wait for that.")
        needs = f"Job '{job.display_name}' needs snapshot '{snapshot}' until it has an epoch of its own"
        raise ConflictError(
            f"{needs}: {'discard the job' if job.state.terminal else 'wait for that, or cancel and discard the job'}."
        )

    def _refuse_if_exporting(self, snapshot: str, but: Job | None = None) -> None:
        """Raise ConflictError if another job is exporting to this name: its files would be overwritten."""
        for other in self._registry.jobs(include_ended=False):
            for operation in self._registry.open_operations(other.id) if but is None or other.id != but.id else ():
                if snapshot_of(operation.request) == snapshot:
                    raise ConflictError(f"Job '{other.display_name}' is exporting to snapshot '{snapshot}' right now: try again.")
