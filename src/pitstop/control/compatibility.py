"""A new version compiled, and compared with the state that it is to take over, before anything stops."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pitstop.control.going_back import check_present, check_snapshot, own_snapshot, told_of_snapshot, written_since
from pitstop.control.places import refuse_shared, why_no_job
from pitstop.control.ports.registry import Registry
from pitstop.control.ports.workers import Standby, Workers
from pitstop.control.written_again import with_concerns
from pitstop.errors import ConflictError, DropError, IncompatibleError, NotFoundError
from pitstop.model.data_folder import DataFolder
from pitstop.model.job import Job, JobSource, JobState, Version
from pitstop.model.operation import GoingBack
from pitstop.model.option_values import renamed_stages, stages_to_drop
from pitstop.model.report import Report, StageVerdict, Verdict
from pitstop.model.snapshot import SnapshotRecord
from pitstop.model.task import Compilation, Compile
from pitstop.plan.diff import compare
from pitstop.snapshots import manifest
from pitstop.snapshots.checkpoint import Checkpoint
from pitstop.snapshots.files import LOCAL_FILES, Files


@dataclass(frozen=True)
class Checked:
    """A version's plan, and the report on each stage's state; no report if there is nothing to compare with."""

    plan: dict[str, Any]
    report: Report | None
    findings: tuple[str, ...] = ()
    """A sentence for each place that the version reads or writes and that was looked at, and one if it would meet another job."""


class Judge:
    """Judges new versions without touching a job. It compiles in separate processes, and reads checkpoints and manifests."""

    def __init__(self, registry: Registry, workers: Workers, data: DataFolder, files: Files = LOCAL_FILES) -> None:
        self._registry, self._workers, self._data, self._files = registry, workers, data, files

    def check(self, source: JobSource, options: dict[str, Any], job: Job | None, snapshot: SnapshotRecord | None) -> Checked:
        """Compare a version with the snapshot, or else the job's state, or else with nothing."""
        against = Path(snapshot.path) if snapshot is not None else self._state_of(job)
        compiled = self._workers.compile(Compile(source, options, str(against) if against is not None else None, looks=True))
        if job is not None and snapshot is None:
            self._refuse_shared(job, compiled)
            return Checked(compiled.plan, self._against_job(job, compiled, options), compiled.findings)
        report = self._against_snapshot(snapshot.path, compiled, options) if snapshot is not None else None
        reason = None if compiled.allow_shared else why_no_job(compiled.plan, self._registry.jobs(include_ended=False))
        update = "To see what an update would do: pitstop check -j JOB."
        refusal = (f"As a job of its own it would fail. {reason} {update}",) if reason is not None else ()
        twice = snapshot is None and reason is None and not compiled.allow_shared
        plan = with_concerns(compiled.plan, self._registry.overview) if twice else compiled.plan
        return Checked(plan, report, (*compiled.findings, *refusal))

    def judge_update(
        self,
        job: Job,
        source: JobSource,
        options: dict[str, Any],
        standby: Standby | None,
        back: GoingBack | None = None,
        start_from: str | None = None,
    ) -> Report:
        """Return the report on what an update of the job would do. A standby, if given, compiles the version and keeps it.

        ``back``: the earlier version that the update goes back to; ``start_from``: the snapshot that the new version starts from,
        instead of the present state. Raises the error of a faulty version; IncompatibleError, with the report, if any stage is
        refused; ConflictError if the version writes where another job writes.
        """
        record = self._registry.get_snapshot(start_from) if start_from is not None else None
        if start_from is not None and record is None:
            raise NotFoundError(f"Didn't find a snapshot named '{start_from}'")
        state = Path(record.path) if record is not None else self._state_of(job)
        task = Compile(source, options, str(state) if state is not None else None, job.id, job.display_name)
        compiled = standby.compile(task) if standby is not None else self._workers.compile(task)
        self._refuse_shared(job, compiled)
        lenient_options = options | ({"allow_drop": list(back.allow_drop)} if back is not None and record is not None else {})
        report = self._against_job(job, compiled, lenient_options)
        if record is not None and back is not None:
            # The present state is left behind, so nothing in it can refuse the version; dropped parts of it still need consent.
            present, report = report, self._against_snapshot(record.path, compiled, options)
            report = dataclasses.replace(report, needs_allow_drop=present.needs_allow_drop, lines=_with_dropped(report, present))
        if report.refused:
            stays = "stays as it is" if job.state is JobState.SUSPENDED else "goes on"
            fits = f"The new version does not fit job '{job.display_name}', which {stays}"
            raise IncompatibleError(f"{fits}: {report.reasons}.", report=report.to_dict())
        if back is not None:
            report = self._checked_back(job, back, report, compiled.plan, record)
        if report.needs_allow_drop:
            raise DropError(_drops(job, report), report=report.to_dict())
        return report

    def _refuse_shared(self, job: Job, compiled: Compilation) -> None:
        if not compiled.allow_shared:
            refuse_shared(job, compiled.plan, self._registry.jobs(include_ended=False))

    def _checked_back(
        self, job: Job, back: GoingBack, report: Report, plan: dict[str, Any], record: SnapshotRecord | None
    ) -> Report:
        """Return the report on going back to an earlier version; IncompatibleError if anything would be lost or doubled."""
        versions = [record_of_version.version for record_of_version in self._registry.versions(job.id)]
        sinks = written_since(back.version, plan, [*versions, job.version])
        if record is not None:
            check_snapshot(job, back, report, sinks, record)
            return told_of_snapshot(report, manifest.read(record.path))
        earlier = next((version for version in versions if version.number == back.version), None)
        own = own_snapshot(self._registry, job, earlier) if earlier is not None else None
        check_present(job, back, report, plan, sinks, own)
        return report

    def _against_job(self, job: Job, compiled: Compilation, options: dict[str, Any]) -> Report:
        """Compare with the job's state; ConflictError if the job is not compiled yet: there is nothing to compare with."""
        old = _compared(job)
        if old.plan is None:
            wait = "it has no saved state: cancel it and submit the new version" if job.state is JobState.SUSPENDED else None
            raise ConflictError(f"Job '{job.display_name}' has no compiled plan yet: {wait or 'wait until it runs'}.")
        state = self._state_of(job)
        partitions = Checkpoint(state, self._files).partitions() if state is not None else old.plan.get("partitions")
        watermark = self._registry.progress(job.id).watermark_ms
        report = compare(
            old.plan,
            compiled.plan,
            partitions,
            _renamed(options),
            watermark,
            allow_drop=_allowed(options),
            facts=compiled.facts,
            fates=compiled.fates,
        )
        return report.with_details(compiled.migrations)

    def _against_snapshot(self, path: str, compiled: Compilation, options: dict[str, Any]) -> Report:
        saved = manifest.read(path)
        report = compare(
            saved.plan,
            compiled.plan,
            saved.partitions,
            _renamed(options),
            saved.watermark_ms,
            saved.imported,
            _allowed(options),
            compiled.facts,
            compiled.fates,
        )
        return report.with_details(compiled.migrations)

    def _state_of(self, job: Job | None) -> Path | None:
        """Return the folder of the job's checkpoint, if it has committed an epoch; else None."""
        if job is None:
            return None
        lineage = _compared(job).lineage
        if lineage is None:
            return None
        checkpoint = Checkpoint(self._data.job(job.id).checkpoint(lineage), self._files)
        return checkpoint.path if checkpoint.committed() >= 0 else None


def _compared(job: Job) -> Version:
    """Return the version whose state a new one would take over."""
    return job.saved if job.state is JobState.SUSPENDED else job.version


def _renamed(options: dict[str, Any]) -> dict[str, str]:
    return renamed_stages(options.get("renamed") or {})


def _allowed(options: dict[str, Any]) -> tuple[str, ...]:
    return stages_to_drop(options.get("allow_drop") or ())


def _with_dropped(report: Report, present: Report) -> tuple[StageVerdict, ...]:
    """Return the lines of a start from a snapshot, and the lines of dropped parts of the present state."""
    return (*report.lines, *(line for line in present.lines if line.verdict is Verdict.DROPPED))


def _drops(job: Job, report: Report) -> str:
    stays = "stays as it is" if job.state is JobState.SUSPENDED else "goes on as it was"
    what = f"The new version would drop what job '{job.display_name}' has saved of {report.drops}"
    if report.takes_over_nothing:
        nothing = f"Nothing that job '{job.display_name}' has saved is in the new version"
        what = f"{nothing}, so this looks like another job: {report.drops} would be dropped"
    return f"{what}. The job {stays}: {report.leave_to_drop}."
