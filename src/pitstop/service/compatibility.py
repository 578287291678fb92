"""A new version compiled, and compared with the state that it is to take over, before anything stops."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pitstop.control.ports import Registry
from pitstop.errors import ConflictError, IncompatibleError
from pitstop.model.config import renamed_stages
from pitstop.model.job import Job, JobSource, JobState
from pitstop.model.snapshot import SnapshotRecord
from pitstop.plan.diff import Report, compare
from pitstop.plan.model import Plan
from pitstop.service.api import SubmitRequest
from pitstop.service.results import CheckResult
from pitstop.service.saved_state import Standby, Workers, result_of
from pitstop.snapshots import manifest
from pitstop.snapshots.checkpoint import Checkpoint
from pitstop.snapshots.export import checkpoint_folder


class Judge:
    """Touches no job: compiles in processes of its own, reads checkpoints and manifests."""

    def __init__(self, registry: Registry, workers: Workers, data_dir: Path) -> None:
        self._registry, self._workers, self._data_dir = registry, workers, data_dir

    def check(self, artifact: Path, request: SubmitRequest, job: Job | None, snapshot: SnapshotRecord | None) -> CheckResult:
        """Compile an artifact and compare it with the snapshot, or else the job's state, or else nothing."""
        against = Path(snapshot.path) if snapshot is not None else self._state_of(job)
        compiled = self._compile(artifact, request, request.options.get("renamed"), against)
        plan: dict[str, Any] = compiled["plan"]
        if snapshot is not None:
            report = self._against_snapshot(snapshot.path, compiled, request.options)
        elif job is not None:
            report = self.against_job(job, compiled, request.options)
        else:
            return CheckResult(plan, None, _fresh(plan))
        return CheckResult(plan, report, report.text())

    def compile_version(self, job: Job, wish: dict[str, Any], standby: Standby | None) -> dict[str, Any]:
        """Compile the version that an update asks for: in the standby, if there is one, which keeps it."""
        source, options, against = JobSource.from_dict(wish["source"]), wish["options"], self._state_of(job)
        if standby is not None:
            return standby.compile(job.id, job.display_name, source, options, against)
        return self._compile(Path(source.artifact), source, options.get("renamed"), against)

    def against_job(self, job: Job, compiled: dict[str, Any], options: dict[str, Any]) -> Report:
        """Compare a compiled version with a job that has been compiled; ConflictError if it has not."""
        old = job.saved if job.state is JobState.SUSPENDED else job
        if old.plan is None:
            wait = "it has no saved state: cancel it and submit the new version" if job.state is JobState.SUSPENDED else None
            raise ConflictError(f"Job '{job.display_name}' has no compiled plan yet: {wait or 'wait until it runs'}.")
        state = self._state_of(job)
        partitions = Checkpoint(state).partitions() if state is not None else old.plan.get("partitions")
        watermark = self._registry.progress(job.id).watermark_ms
        report = compare(old.plan, compiled["plan"], partitions, renamed_stages(options.get("renamed") or {}), watermark)
        return report.with_details(compiled["migrations"])

    def _against_snapshot(self, path: str, compiled: dict[str, Any], options: dict[str, Any]) -> Report:
        saved, renamed = manifest.read(path), renamed_stages(options.get("renamed") or {})
        report = compare(saved.plan, compiled["plan"], saved.partitions, renamed, saved.watermark_ms, saved.imported)
        return report.with_details(compiled["migrations"])

    def _compile(self, artifact: Path, request: SubmitRequest | JobSource, renamed: Any, against: Path | None) -> dict[str, Any]:
        asked = {
            "artifact": str(artifact),
            "entry": request.entry,
            "args": list(request.args),
            "against": str(against) if against is not None else None,
            "renamed": renamed_stages(renamed or {}),
        }
        return result_of(self._workers, self._data_dir, "compile", asked)

    def _state_of(self, job: Job | None) -> Path | None:
        """The folder of the job's checkpoint, if it has committed an epoch."""
        if job is None:
            return None
        lineage = job.saved.lineage if job.state is JobState.SUSPENDED else job.lineage
        if lineage is None:
            return None
        checkpoint = Checkpoint(checkpoint_folder(self._data_dir, job.id, lineage))
        return checkpoint.path if checkpoint.committed() >= 0 else None


def refuse_if_incompatible(report: Report, what: str) -> None:
    """IncompatibleError, with the report, if any stage is refused."""
    if report.refused:
        raise IncompatibleError(f"The new version does not fit {what}: {report.reasons}.", report=report.to_dict())


def _fresh(plan: dict[str, Any]) -> str:
    names = ", ".join(stage["name"] for stage in Plan.from_dict(plan).to_dict()["stages"])
    return f"The pipeline is sound; nothing to compare with. Stages: {names}."
