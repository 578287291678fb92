"""The service on the store itself: writes wishes, wakes the control loop, waits for the answer."""

from __future__ import annotations

import contextlib
import dataclasses
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pitstop.control.compatibility import Judge
from pitstop.control.ports import CONTROL, Registry, Wake, Workers
from pitstop.errors import ConflictError, EngineError, NotFoundError, UsageError, WaitTimeoutError
from pitstop.kit.ids import check_name, new_job_id
from pitstop.maps.model import MapConfig
from pitstop.maps.ports import MapStore
from pitstop.model.config import JobConfig
from pitstop.model.data_folder import DataFolder
from pitstop.model.job import Job, JobSource, JobState
from pitstop.model.operation import (
    Cancel,
    CancelAndExport,
    Export,
    Operation,
    OperationState,
    Request,
    Restart,
    Resume,
    Submit,
    Suspend,
    Updated,
    snapshot_of,
)
from pitstop.model.snapshot import SnapshotManifest, SnapshotRecord
from pitstop.plan.model import Plan
from pitstop.service import updates
from pitstop.service.api import JobView, SubmitRequest
from pitstop.service.artifacts import store_artifact
from pitstop.service.changes import Changes
from pitstop.service.saved_state import StateDesk
from pitstop.snapshots import manifest

OPERATION_SECONDS = 300.0
UPDATE_SECONDS = 1800.0
"""An update compiles and rehearses the new version before anything stops."""
LOOK_SECONDS = 0.5
"""How often to look at the store although nobody told of a change: a runner may have made it."""


class LocalService:
    """Service on a registry and a map store in this process.

    The control plane is woken after a wish was written, ``changes`` is told by the control loop, ``info`` describes the cluster.
    """

    def __init__(
        self,
        registry: Registry,
        maps: MapStore,
        workers: Workers,
        data: DataFolder,
        wake: Wake,
        changes: Changes,
        info: Callable[[], dict[str, Any]],
    ) -> None:
        self._registry, self._maps, self._workers, self._data = registry, maps, workers, data
        self._states, self._judge = StateDesk(workers, data), Judge(registry, workers, data)
        self._wake, self._changes, self._info = wake, changes, info

    # verbs

    def submit(self, request: SubmitRequest) -> Job:
        artifact = store_artifact(self._data, request.artifact_name, request.artifact_bytes)
        name = check_name("job", request.name or Path(request.artifact_name).stem)
        asked = request.options | {"initial_snapshot": request.initial_snapshot}
        options = {key: value for key, value in asked.items() if value is not None}
        if request.initial_snapshot is not None:
            self._snapshot_record(request.initial_snapshot)
        job = Job(
            id=new_job_id(),
            name=name,
            state=JobState.NOT_RUNNING,
            source=JobSource(str(artifact), request.entry, tuple(request.args)),
            config=JobConfig.from_options(options),
            submission_time=time.time(),
            options=options,
        )
        with self._registry.transaction():
            self._registry.add_job(job)
            self._registry.add_operation(job.id, Submit())
        self._wake.wake(CONTROL)
        return job

    def check(self, request: SubmitRequest, job: str | None = None, snapshot: str | None = None) -> dict[str, Any]:
        artifact = store_artifact(self._data, request.artifact_name, request.artifact_bytes)
        found = self._find(job) if job is not None and snapshot is None else None
        record = self._snapshot_record(snapshot) if snapshot is not None else None
        source = JobSource(str(artifact), request.entry, tuple(request.args))
        options = {key: value for key, value in request.options.items() if value is not None}
        checked = self._judge.check(source, options, found, record)
        if checked.report is None:
            return {"plan": checked.plan, "report": None, "text": _fresh(checked.plan)}
        return {"plan": checked.plan, "report": checked.report.to_dict(), "text": checked.report.text()}

    def update(self, name_or_id: str, request: SubmitRequest, watch_seconds: float = 0.0) -> dict[str, Any]:
        job = self._find(name_or_id)
        updates.refuse_unless_updatable(job)
        request = updates.with_args_of(job, request)
        artifact = store_artifact(self._data, request.artifact_name, request.artifact_bytes)
        wanted = updates.update_request(job, artifact, request, watch_seconds)
        with self._registry.transaction():
            self._refuse_if_exporting(wanted.snapshot, but=job)
            asked = self._registry.add_operation(job.id, wanted)
        done = self._answer(job, asked, UPDATE_SECONDS).result
        assert isinstance(done, Updated)
        assert done.report is not None
        if watch_seconds and done.gap_seconds is not None:
            updates.watch(self._registry, self._changes, job.id, done.version, watch_seconds)
        told = {"version": done.version, "snapshot": done.snapshot, "gap_seconds": done.gap_seconds}
        return told | {"report": done.report.to_dict(), "text": done.report.text()}

    def suspend(self, name_or_id: str) -> None:
        self._carry_out(self._find(name_or_id), Suspend())

    def resume(self, name_or_id: str) -> None:
        self._carry_out(self._find(name_or_id), Resume())

    def restart(self, name_or_id: str) -> None:
        self._carry_out(self._find(name_or_id), Restart())

    def cancel(self, name_or_id: str) -> None:
        self._carry_out(self._find(name_or_id), Cancel())

    def export_snapshot(self, name_or_id: str, snapshot: str, cancel: bool = False) -> SnapshotRecord:
        check_name("snapshot", snapshot)
        job = self._find(name_or_id)
        with self._registry.transaction():
            self._refuse_if_exporting(snapshot, but=job)
            asked = self._registry.add_operation(job.id, CancelAndExport(snapshot) if cancel else Export(snapshot))
        done = self._answer(job, asked).result
        assert isinstance(done, SnapshotRecord)
        return done

    # reads

    def jobs(self, include_ended: bool = False) -> list[JobView]:
        return [JobView(job, self._registry.progress(job.id)) for job in self._registry.jobs(include_ended)]

    def job(self, name_or_id: str) -> JobView:
        job = self._find(name_or_id)
        return JobView(job, self._registry.progress(job.id))

    def wait_for(self, name_or_id: str, states: tuple[JobState, ...], timeout: float) -> JobView:
        deadline = time.monotonic() + timeout
        job = self._find(name_or_id)
        while True:
            seen = self._changes.seen
            job = self._registry.get_job(job.id) or job
            if job.state in states:
                return JobView(job, self._registry.progress(job.id))
            left = deadline - time.monotonic()
            if left <= 0:
                wanted = " or ".join(states)
                raise WaitTimeoutError(f"Job '{name_or_id}' is {job.state}, not {wanted}, after {timeout:.0f} seconds.")
            self._changes.wait(seen, min(LOOK_SECONDS, left))

    def logs(self, name_or_id: str, after: int = 0, limit: int = 1000) -> tuple[list[str], int]:
        path = self._data.job(self._find(name_or_id).id).log
        lines: list[str] = []
        if not path.exists():
            return lines, after
        with path.open("rb") as file:
            file.seek(max(0, after))
            for line in file:
                if len(lines) >= limit or not line.endswith(b"\n"):
                    break
                lines.append(line.rstrip(b"\n").decode("utf-8", errors="replace"))
                after += len(line)
        return lines, after

    def snapshots(self) -> list[SnapshotRecord]:
        return self._registry.snapshots()

    def snapshot(self, name: str) -> SnapshotManifest:
        return manifest.read(self._snapshot_record(name).path)

    def delete_snapshot(self, name: str) -> None:
        with self._registry.transaction():
            self._refuse_if_exporting(name)
            folder = Path(self._snapshot_record(name).path)
            self._registry.delete_snapshot(name)
            # Out of the way at once: the next export to this name may come right after us.
            trash = folder.with_name(f".{folder.name}.{time.monotonic_ns()}.old")
            with contextlib.suppress(FileNotFoundError):
                folder.rename(trash)
        shutil.rmtree(trash, ignore_errors=True)

    def query_state(self, snapshot: str, stage: str, sql: str, limit: int = 1000) -> dict[str, Any]:
        found = self._states.query(self._snapshot_record(snapshot).path, stage, sql, limit)
        return {"columns": [list(column) for column in found.columns], "rows": found.rows, "more": found.more}

    def export_state(self, snapshot: str, stage: str) -> bytes:
        return self._states.export(self._snapshot_record(snapshot).path, stage)

    def import_state(self, snapshot: str, stage: str, content: bytes, name: str | None = None) -> SnapshotRecord:
        record, target = self._snapshot_record(snapshot), check_name("snapshot", name or snapshot)
        self._refuse_if_exporting(target)
        return self._states.put(record.path, stage, content, target, self._registry.add_snapshot)

    # maps

    def maps(self) -> list[dict[str, Any]]:
        return [self._map_facts(name) for name in self._maps.names()]

    def map_get(self, name: str, key: str) -> str | None:
        entry = self._maps.get(name, key)
        return entry.value if entry else None

    def map_put(self, name: str, entries: dict[str, str]) -> None:
        check_name("map", name)
        self._maps.put_all(name, entries.items())

    def map_delete(self, name: str, key: str) -> bool:
        return self._maps.delete(name, key)

    def map_entries(self, name: str, prefix: str = "", after: str | None = None, limit: int = 1000) -> list[dict[str, Any]]:
        return [dataclasses.asdict(entry) for entry in self._maps.entries(name, prefix, after, limit)]

    def map_size(self, name: str) -> int:
        return self._maps.size(name)

    def map_configure(self, name: str, journal_capacity: int | None = None, ttl_seconds: float | None = None) -> None:
        before = self._maps.config(name) or MapConfig(check_name("map", name))
        capacity = before.journal_capacity if journal_capacity is None else journal_capacity
        if capacity < 0 or (ttl_seconds is not None and ttl_seconds < 0):
            raise UsageError(f"The settings of map '{name}' can't be negative.")
        ttl = before.ttl_seconds if ttl_seconds is None else (ttl_seconds or None)
        self._maps.configure(MapConfig(name, capacity, ttl))

    def map_journal(self, name: str, after: int | None = None, limit: int = 1000) -> dict[str, Any]:
        found = self._maps.journal(name, after or 0, limit)
        lost = found.lost if after is not None else 0
        return {
            "events": [dataclasses.asdict(event) | {"kind": event.kind.value} for event in found.events],
            "lost": lost,
            "oldest": found.bounds.oldest,
            "newest": found.bounds.newest,
        }

    def server_info(self) -> dict[str, Any]:
        return self._info()

    # inside

    def _find(self, name_or_id: str) -> Job:
        found = self._registry.find_jobs(name_or_id)
        if not found:
            raise NotFoundError(f"No job with name or id '{name_or_id}' was found")
        return found[0]

    def _carry_out(self, job: Job, request: Request) -> Operation:
        return self._answer(job, self._registry.add_operation(job.id, request))

    def _answer(self, job: Job, operation: Operation, seconds: float = OPERATION_SECONDS) -> Operation:
        """Wait for the end of an operation that is written; its error is raised."""
        self._wake.wake(CONTROL)
        deadline = time.monotonic() + seconds
        while True:
            seen = self._changes.seen
            found = self._registry.get_operation(operation.id)
            if found is None:
                raise NotFoundError(f"Job '{job.display_name}' was forgotten before {operation.verb.value} was answered.")
            if found.state is OperationState.FAILED:
                raise found.error.error() if found.error is not None else EngineError(f"{operation.verb.value} failed.")
            if found.state is OperationState.DONE:
                return found
            left = deadline - time.monotonic()
            if left <= 0:
                raise WaitTimeoutError(
                    f"{operation.verb.value} of job '{job.display_name}' is not done after {seconds:.0f} seconds; it goes on."
                )
            self._changes.wait(seen, min(LOOK_SECONDS, left))

    def _refuse_if_exporting(self, snapshot: str, but: Job | None = None) -> None:
        """Who exports to a name that another job is exporting to would overwrite its files (jet.md §2.1)."""
        for other in self._registry.jobs(include_ended=False):
            for operation in self._registry.open_operations(other.id) if but is None or other.id != but.id else ():
                if snapshot_of(operation.request) == snapshot:
                    raise ConflictError(f"Job '{other.display_name}' is exporting to snapshot '{snapshot}' right now: try again.")

    def _snapshot_record(self, name: str) -> SnapshotRecord:
        record = self._registry.get_snapshot(name)
        if record is None:
            raise NotFoundError(f"Didn't find a snapshot named '{name}'")
        return record

    def _map_facts(self, name: str) -> dict[str, Any]:
        config, bounds = self._maps.config(name), self._maps.bounds(name)
        return {
            "name": name,
            "size": self._maps.size(name),
            "journal_capacity": config.journal_capacity if config else 0,
            "ttl_seconds": config.ttl_seconds if config else None,
            "oldest": bounds.oldest if bounds else 1,
            "newest": bounds.newest if bounds else 0,
        }


def _fresh(plan: dict[str, Any]) -> str:
    names = ", ".join(stage.name for stage in Plan.from_dict(plan).stages)
    return f"The pipeline is sound; nothing to compare with. Stages: {names}."
