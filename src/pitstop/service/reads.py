"""Reads of jobs and snapshots: from the store, and from the files that runs leave."""

from __future__ import annotations

import time

from pitstop.control.ports import Registry
from pitstop.control.retention import has_begun, kept_until, state_bytes
from pitstop.errors import NotFoundError, WaitTimeoutError
from pitstop.model.data_folder import DataFolder
from pitstop.model.job import Job, JobState
from pitstop.model.snapshot import SnapshotManifest, SnapshotRecord
from pitstop.plan.diff import compare
from pitstop.service.changes import Changes
from pitstop.service.results import JobStatus, KeptState, LogPage, SnapshotDiff
from pitstop.service.snapshot_facts import differences
from pitstop.snapshots import manifest

LOOK_SECONDS = 0.5
"""How often to look at the store while waiting: runners write to it from processes that cannot notify this one."""


class Reads:
    """The part of the service that only looks at jobs and snapshots."""

    def __init__(self, registry: Registry, data: DataFolder, changes: Changes) -> None:
        self._registry, self._data, self._changes = registry, data, changes

    def jobs(self, include_ended: bool = False) -> list[JobStatus]:
        return [self._status(job) for job in self._registry.jobs(include_ended)]

    def job(self, name_or_id: str) -> JobStatus:
        return self._status(self._find(name_or_id))

    def kept_states(self) -> list[KeptState]:
        found = []
        for job in self._registry.jobs():
            until = kept_until(job)
            size = state_bytes(self._data, job) if until is not None else 0
            if until is not None and size:
                found.append(KeptState(job.id, job.name, job.user_cancelled, until, size))
        return sorted(found, key=lambda state: -state.bytes)

    def wait_for(self, name_or_id: str, states: tuple[JobState, ...], timeout: float) -> JobStatus:
        deadline = time.monotonic() + timeout
        job = self._find(name_or_id)
        while True:
            seen = self._changes.seen
            job = self._registry.get_job(job.id) or job
            if job.state in states:
                return self._status(job)
            left = deadline - time.monotonic()
            if left <= 0:
                wanted = " or ".join(states)
                raise WaitTimeoutError(f"Job '{name_or_id}' is {job.state}, not {wanted}, after {timeout:.0f} seconds.")
            self._changes.wait(seen, min(LOOK_SECONDS, left))

    def logs(self, name_or_id: str, after: int = 0, limit: int = 1000) -> LogPage:
        path = self._data.job(self._find(name_or_id).id).log
        lines: list[str] = []
        if not path.exists():
            return LogPage(lines, after)
        with path.open("rb") as file:
            file.seek(max(0, after))
            for line in file:
                if len(lines) >= limit or not line.endswith(b"\n"):
                    break
                lines.append(line.rstrip(b"\n").decode("utf-8", errors="replace"))
                after += len(line)
        return LogPage(lines, after)

    def snapshots(self) -> list[SnapshotRecord]:
        return self._registry.snapshots()

    def snapshot(self, name: str) -> SnapshotManifest:
        return manifest.read(self._snapshot_record(name).path)

    def snapshot_diff(self, first: str, second: str) -> SnapshotDiff:
        before, after = self.snapshot(first), self.snapshot(second)
        report = compare(before.plan, after.plan, before.partitions, None, before.watermark_ms, before.imported)
        return SnapshotDiff(differences(before, after), report)

    def _status(self, job: Job) -> JobStatus:
        return JobStatus.of(job, self._registry.progress(job.id), self._has_state(job), kept_until(job))

    def _has_state(self, job: Job) -> bool:
        """Looks at what is there: somebody may have removed it by hand."""
        lineage = job.saved.lineage
        return lineage is not None and not job.state_dropped and has_begun(self._data, job, lineage)

    def _find(self, name_or_id: str) -> Job:
        found = self._registry.find_jobs(name_or_id)
        if not found:
            raise NotFoundError(f"No job with name or id '{name_or_id}' was found")
        return found[0]

    def _snapshot_record(self, name: str) -> SnapshotRecord:
        record = self._registry.get_snapshot(name)
        if record is None:
            raise NotFoundError(f"Didn't find a snapshot named '{name}'")
        return record
