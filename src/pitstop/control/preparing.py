"""Getting a new version ready while the old one goes on: compiled, compared, and rehearsed by a warm runner."""

from __future__ import annotations

import dataclasses
import threading

from pitstop.control.compatibility import Judge
from pitstop.control.ports.registry import Registry
from pitstop.control.ports.workers import Workers
from pitstop.control.scaling import as_update
from pitstop.control.sizes import last_sizes
from pitstop.errors import ConflictError, NotFoundError
from pitstop.model.data_folder import DataFolder
from pitstop.model.job import Job, JobState
from pitstop.model.operation import Rescale, UpdateJob, moves_state
from pitstop.model.run import UpdatePrepared
from pitstop.model.task import Rehearse
from pitstop.snapshots.files import LOCAL_FILES, Files

WARM_SECONDS = 60.0
"""The longest that an update waits for a warm runner before it goes on without one, in seconds."""


class Preparer:
    """Prepares updates, and keeps the warm runners that wait for them until their operations are answered."""

    def __init__(self, registry: Registry, workers: Workers, data: DataFolder, files: Files = LOCAL_FILES) -> None:
        self._registry, self._workers = registry, workers
        self._judge = Judge(registry, workers, data, files)
        self._standbys: dict[int, str] = {}
        """Operation -> the warm runner that is held for it."""
        self._open: set[int] = set()
        """Operations that are being prepared, or wait for their answer."""
        self._lock = threading.Lock()

    def prepare(self, job: Job, operation_id: int) -> UpdatePrepared:
        """Get the version that an operation asks for ready; raise the PitstopError that says why it cannot take over."""
        with self._lock:
            self._open.add(operation_id)
        operation = self._registry.get_operation(operation_id)
        if operation is None or operation.finished is not None or not isinstance(operation.request, UpdateJob | Rescale):
            self.answered(operation_id)
            raise NotFoundError(f"There is no open update {operation_id} of job '{job.display_name}'.")
        rescales = isinstance(operation.request, Rescale)
        request = as_update(job, operation.request) if isinstance(operation.request, Rescale) else operation.request
        # A suspended job has no gap to keep small.
        standby = self._workers.hold(WARM_SECONDS) if job.state is JobState.RUNNING else None
        if standby is not None:
            self._keep(operation_id, standby.id)
        report = self._judge.judge_update(job, request.source, request.options, standby, request.back, request.start_from)
        prepared = UpdatePrepared(operation_id, request, report, job.version.number, rescales=rescales)
        if standby is None or job.version.lineage is None:
            return prepared
        # A rehearsal restores the whole state: as long again for one that is too large for the memory, whose job may hold still.
        if not moves_state(operation.request):
            saved = self._registry.get_snapshot(request.start_from) if request.start_from is not None else None
            path = saved.path if saved is not None else None
            standby.rehearse(Rehearse(job.version.lineage, last_sizes(self._registry, job), path))
        return dataclasses.replace(prepared, standby=standby.id)

    def answered(self, operation_id: int) -> str | None:
        """Note that an operation is answered; return the warm runner that was held for it and is to be released."""
        with self._lock:
            self._open.discard(operation_id)
            return self._standbys.pop(operation_id, None)

    def _keep(self, operation_id: int, standby: str) -> None:
        """Note the warm runner of an update; raises ConflictError if that was answered meanwhile (a cancel)."""
        with self._lock:
            late = operation_id not in self._open
            if not late:
                self._standbys[operation_id] = standby
        if late:
            self._workers.release(standby)
            raise ConflictError(f"Update {operation_id} was answered while a warm runner got ready for it.")
