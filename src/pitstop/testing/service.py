"""A service in memory: real jobs, snapshots and maps that obey jet.md §1.3, but no process and no Spark.

Its artifacts are .py files whose comments say what their job does, one directive a line:

``# stage: speed bigint``   it has a window stage of that name with an accumulator of that Spark type
``# fails: No such column`` it fails with that sentence once it has started
``# completes``             it completes once it has started
``# hangs``                 it stays in STARTING

A job moves on by itself while somebody waits for it (:meth:`InMemoryService.wait_for`).
"""

from __future__ import annotations

import dataclasses
import re
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pitstop.errors import ArtifactError, ConflictError, IncompatibleError, NotFoundError, UsageError, WaitTimeoutError
from pitstop.kit.ids import check_name, new_job_id, new_lineage
from pitstop.kit.version import __version__
from pitstop.model.config import JobConfig, renamed_stages
from pitstop.model.job import Job, JobSource, JobState, Progress
from pitstop.model.layout import StageKind, StateLayout
from pitstop.model.snapshot import SnapshotFile, SnapshotManifest, SnapshotRecord
from pitstop.plan.diff import compare
from pitstop.plan.model import OperatorSlot, Plan, PlanStage
from pitstop.service.api import JobView, SubmitRequest
from pitstop.testing.maps import InMemoryMaps

_DIRECTIVE = re.compile(r"^# (stage|fails|completes|hangs)(?:: *(.*))?$", re.MULTILINE)
S = JobState


class InMemoryService:
    """Service of which a test can set the clock (``now``) and the ids, and change any job (:meth:`change`)."""

    def __init__(self, now: Callable[[], float] = time.time, new_id: Callable[[], str] = new_job_id) -> None:
        self._now, self._new_id = now, new_id
        self._jobs: dict[str, Job] = {}
        self._progress: dict[str, Progress] = {}
        self._logs: dict[str, bytes] = {}
        self._artifacts: dict[str, str] = {}
        self._manifests: dict[str, SnapshotManifest] = {}
        self._changed = threading.Condition(threading.RLock())
        self._maps = InMemoryMaps(now)
        self._states: dict[tuple[str, str], bytes] = {}

    # for tests

    def change(self, job_id: str, progress: Progress | None = None, **fields: Any) -> Job:
        """Set fields of a job, and its progress; whoever waits for it sees them."""
        with self._changed:
            self._jobs[job_id] = dataclasses.replace(self._jobs[job_id], **fields)
            self._progress[job_id] = progress or self._progress[job_id]
            self._changed.notify_all()
            return self._jobs[job_id]

    def write_log(self, job_id: str, text: str) -> None:
        """Append to a job's log; a line counts once it has its end."""
        with self._changed:
            self._logs[job_id] += text.encode()

    # verbs

    def submit(self, request: SubmitRequest) -> Job:
        text, plan = self._compiled(request)
        name = check_name("job", request.name or Path(request.artifact_name).stem)
        options = request.options | {"initial_snapshot": request.initial_snapshot}
        given = {key: value for key, value in options.items() if value is not None}
        job = Job(
            id=self._new_id(),
            name=name,
            state=S.NOT_RUNNING,
            source=JobSource(request.artifact_name, request.entry, request.args),
            config=JobConfig.from_options(given),
            submission_time=self._now(),
            options=given,
            plan=plan,
            lineage=new_lineage(),
        )
        with self._changed:
            if request.initial_snapshot is not None:
                self.snapshot(request.initial_snapshot)
            for other in self._jobs.values():
                if other.active and other.name == name:
                    raise ConflictError(f"Another active job with equal name ({name}) exists: {other.id}")
            self._jobs[job.id], self._progress[job.id] = job, Progress()
            self._logs[job.id], self._artifacts[job.id] = b"", text
        return job

    def check(self, request: SubmitRequest, job: str | None = None, snapshot: str | None = None) -> dict[str, Any]:
        _, plan = self._compiled(request)
        if snapshot is None and job is None:
            return {"plan": plan, "report": None, "text": "The pipeline is sound; nothing to compare with."}
        saved = self.snapshot(snapshot).plan if snapshot is not None else self._find(str(job)).plan
        report = compare(saved or {}, plan, renamed=renamed_stages(request.options.get("renamed") or {}))
        return {"plan": plan, "report": report.to_dict(), "text": report.text()}

    def update(self, name_or_id: str, request: SubmitRequest, watch_seconds: float = 0.0) -> dict[str, Any]:
        text, plan = self._compiled(request)
        with self._changed:
            job = self._find(name_or_id)
            if job.state is not S.SUSPENDED:
                job = self._running(name_or_id, "UPDATE", "RUNNING or SUSPENDED")
            report = compare(job.plan or {}, plan, renamed=renamed_stages(request.options.get("renamed") or {}))
            if report.refused:
                kept = "stays as it is" if job.state is S.SUSPENDED else "goes on"
                said = f"The new version does not fit job '{job.display_name}', which {kept}: {report.reasons}."
                raise IncompatibleError(said, report=report.to_dict())
            name = request.initial_snapshot or f"{job.name}-before-{job.version + 1}"
            self._manifests[name] = self._manifest(job, name)
            self._artifacts[job.id] = text
            self.change(job.id, version=job.version + 1, plan=plan, lineage=new_lineage())
        facts = {"version": job.version + 1, "snapshot": name, "gap_seconds": None if job.state is S.SUSPENDED else 0.0}
        return facts | {"report": report.to_dict(), "text": report.text()}

    def suspend(self, name_or_id: str) -> None:
        with self._changed:
            job = self._running(name_or_id, "SUSPEND")
            self.change(job.id, state=S.SUSPENDED, suspension_cause="Requested by user")

    def resume(self, name_or_id: str) -> None:
        with self._changed:
            job = self._find(name_or_id)
            if job.state.terminal:
                raise ConflictError("Job already completed")
            if job.state is S.SUSPENDED:
                self.change(job.id, state=S.NOT_RUNNING, suspension_cause=None)

    def restart(self, name_or_id: str) -> None:
        with self._changed:
            self.change(self._running(name_or_id, "RESTART").id, state=S.NOT_RUNNING)

    def cancel(self, name_or_id: str) -> None:
        with self._changed:
            job = self._find(name_or_id)
            if job.state is S.SUSPENDED_EXPORTING_SNAPSHOT:
                raise ConflictError(f"Cannot cancel when job status is {job.state}")
            if not job.state.terminal:
                self._end_cancelled(job)

    def export_snapshot(self, name_or_id: str, snapshot: str, cancel: bool = False) -> SnapshotRecord:
        check_name("snapshot", snapshot)
        with self._changed:
            job = self._find(name_or_id)
            if job.state not in (S.RUNNING, S.SUSPENDED):
                mode = "CANCEL_AND_EXPORT" if cancel else "EXPORT"
                raise ConflictError(f"Cannot {mode}, job status is {job.state}, should be RUNNING or SUSPENDED")
            self._manifests[snapshot] = self._manifest(job, snapshot)
            if cancel:
                self._end_cancelled(job)
            return self._record(self._manifests[snapshot])

    # reads

    def jobs(self, include_ended: bool = False) -> list[JobView]:
        with self._changed:
            return [JobView(job, self._progress[job.id]) for job in self._jobs.values() if include_ended or job.active]

    def job(self, name_or_id: str) -> JobView:
        with self._changed:
            job = self._find(name_or_id)
            return JobView(job, self._progress[job.id])

    def wait_for(self, name_or_id: str, states: tuple[JobState, ...], timeout: float) -> JobView:
        deadline = time.monotonic() + timeout
        with self._changed:
            job = self._find(name_or_id)
            while job.state not in states:
                left = deadline - time.monotonic()
                if left <= 0:
                    wanted = " or ".join(states)
                    raise WaitTimeoutError(f"Job '{name_or_id}' is {job.state}, not {wanted}, after {timeout:.0f} seconds.")
                if not self._advance(job):
                    self._changed.wait(left)
                job = self._jobs[job.id]
            return JobView(job, self._progress[job.id])

    def logs(self, name_or_id: str, after: int = 0, limit: int = 1000) -> tuple[list[str], int]:
        with self._changed:
            whole = self._logs[self._find(name_or_id).id][after:].splitlines(keepends=True)
        lines = [line for line in whole if line.endswith(b"\n")][:limit]
        return [line.decode().rstrip("\n") for line in lines], after + sum(map(len, lines))

    def snapshots(self) -> list[SnapshotRecord]:
        with self._changed:
            return [self._record(self._manifests[name]) for name in sorted(self._manifests)]

    def snapshot(self, name: str) -> SnapshotManifest:
        with self._changed:
            if name not in self._manifests:
                raise NotFoundError(f"Didn't find a snapshot named '{name}'")
            return self._manifests[name]

    def delete_snapshot(self, name: str) -> None:
        with self._changed:
            self.snapshot(name)
            del self._manifests[name]

    def query_state(self, snapshot: str, stage: str, sql: str, limit: int = 1000) -> dict[str, Any]:
        """Knows one query: ``SELECT * FROM state``, on state that was imported as lines of text."""
        if sql != "SELECT * FROM state":
            raise UsageError(f"The query on stage '{stage}' failed: only SELECT * FROM state is known here, not {sql!r}.")
        lines = self.export_state(snapshot, stage).decode().splitlines()
        return {"columns": [["line", "string"]], "rows": [[line] for line in lines[:limit]], "more": len(lines) > limit}

    def export_state(self, snapshot: str, stage: str) -> bytes:
        with self._changed:
            self._stage(snapshot, stage)
            return self._states.get((snapshot, stage), b"")

    def import_state(self, snapshot: str, stage: str, content: bytes, name: str | None = None) -> SnapshotRecord:
        target = check_name("snapshot", name or snapshot)
        with self._changed:
            self._stage(snapshot, stage)
            self._manifests[target] = dataclasses.replace(self._manifests[snapshot], name=target, created=self._now())
            self._states[target, stage] = content
            return self._record(self._manifests[target])

    def _stage(self, snapshot: str, stage: str) -> None:
        known = Plan.from_dict(self.snapshot(snapshot).plan).stateful
        if stage not in known:
            raise NotFoundError(f"Snapshot '{snapshot}' has no stage '{stage}' with state. It has: {', '.join(known) or 'none'}.")

    # maps

    def maps(self) -> list[dict[str, Any]]:
        return self._maps.all()

    def map_get(self, name: str, key: str) -> str | None:
        return self._maps.get(name, key)

    def map_put(self, name: str, entries: dict[str, str]) -> None:
        self._maps.put(name, entries)

    def map_delete(self, name: str, key: str) -> bool:
        return self._maps.delete(name, key)

    def map_entries(self, name: str, prefix: str = "", after: str | None = None, limit: int = 1000) -> list[dict[str, Any]]:
        return self._maps.entries(name, prefix, after, limit)

    def map_size(self, name: str) -> int:
        return self._maps.size(name)

    def map_configure(self, name: str, journal_capacity: int | None = None, ttl_seconds: float | None = None) -> None:
        self._maps.configure(name, journal_capacity, ttl_seconds)

    def map_journal(self, name: str, after: int | None = None, limit: int = 1000) -> dict[str, Any]:
        return self._maps.journal(name, after, limit)

    def server_info(self) -> dict[str, Any]:
        members = [{"address": "127.0.0.1:8701", "uuid": "6a0c5f4e-0000-4000-8000-000000000001"}]
        return {"state": "ACTIVE", "version": __version__, "size": 1, "members": members}

    # inside

    def _find(self, name_or_id: str) -> Job:
        found = [job for job in self._jobs.values() if name_or_id in (job.id, job.name)]
        if not found:
            raise NotFoundError(f"No job with name or id '{name_or_id}' was found")
        return max(found, key=lambda job: (job.active, job.submission_time))

    def _running(self, name_or_id: str, mode: str, wanted: str = "RUNNING") -> Job:
        job = self._find(name_or_id)
        if job.state.terminal:
            result = job.failure or job.state.value
            raise ConflictError(f"Cannot {mode} job {job.id} because it already has a result: {result}")
        if job.state is not S.RUNNING:
            raise ConflictError(f"Cannot {mode}, job status is {job.state}, should be {wanted}")
        return job

    def _advance(self, job: Job) -> bool:
        """One step of the job's own life; False if it stays where it is."""
        does = dict(_DIRECTIVE.findall(self._artifacts[job.id]))
        if job.state is S.NOT_RUNNING:
            self.change(job.id, state=S.STARTING, token=job.token + 1)
        elif job.state is S.STARTING and "hangs" not in does:
            self.change(job.id, state=S.RUNNING, start_time=self._now())
            if "fails" in does:
                self._fail(job, does["fails"])
            elif "completes" in does:
                self.change(job.id, state=S.COMPLETED, completion_time=self._now())
        else:
            return False
        return True

    def _fail(self, job: Job, sentence: str) -> None:
        details = f"Traceback (most recent call last):\n{sentence}"
        if job.config.suspend_on_failure:
            cause = f"Execution failure:\n{sentence}"
            self.change(job.id, state=S.SUSPENDED, suspension_cause=cause, failure_details=details)
        else:
            now = self._now()
            self.change(job.id, state=S.FAILED, failure=sentence, failure_details=details, completion_time=now)

    def _end_cancelled(self, job: Job) -> None:
        now = self._now()
        self.change(job.id, state=S.FAILED, user_cancelled=True, failure="Cancelled by user", completion_time=now)

    def _compiled(self, request: SubmitRequest) -> tuple[str, dict[str, Any]]:
        if not request.artifact_name.endswith(".py"):
            raise ArtifactError(f"{request.artifact_name} is no artifact: a job here is a .py file.")
        try:
            content = request.artifact_bytes
            text = (Path(request.artifact_name).read_bytes() if content is None else content).decode()
        except OSError:
            raise ArtifactError(f"File {request.artifact_name} could not be found.") from None
        stages = [said.split() for directive, said in _DIRECTIVE.findall(text) if directive == "stage"]
        if any(len(words) != 2 for words in stages):
            raise UsageError(f"{request.artifact_name}: write '# stage: name type'.")
        return text, _plan(stages)

    def _manifest(self, job: Job, name: str) -> SnapshotManifest:
        progress = self._progress[job.id]
        return SnapshotManifest(
            name=name,
            job_id=job.id,
            job_name=job.name,
            lineage=job.lineage or "",
            epoch=progress.epoch,
            created=self._now(),
            watermark_ms=progress.watermark_ms,
            plan=job.plan or {},
            partitions=job.config.partitions or 1,
            provider="memory",
            offsets={},
            stages={},
            versions={"pitstop": __version__},
            files=(SnapshotFile("state", 1196, "0" * 64),),
        )

    def _record(self, manifest: SnapshotManifest) -> SnapshotRecord:
        return SnapshotRecord(
            manifest.name,
            manifest.job_id,
            manifest.job_name,
            manifest.created,
            manifest.bytes,
            f"/snapshots/{manifest.name}",
            manifest.epoch,
        )


def _plan(stages: list[list[str]]) -> dict[str, Any]:
    source = PlanStage("source", StageKind.SOURCE, "source", (), "csv_tail")
    windows = [
        PlanStage(name, StageKind.WINDOW, "window_aggregate", ("source",), f"window of {kind}", layout=_layout(kind))
        for name, kind in stages
    ]
    return Plan((source, *windows), tuple(OperatorSlot(stage.name, "frames") for stage in windows)).to_dict()


def _layout(kind: str) -> StateLayout:
    window = {"size_ms": 60_000, "slide_ms": 60_000, "text": "tumbling(1 minutes)"}
    return StateLayout(StageKind.WINDOW, (("vin", "string"),), (("n__0", kind),), (("n", "sum"),), window)
