"""The retention of ended jobs: what is kept of them, and for how long."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Collection
from pathlib import Path

from pitstop.control.ports.registry import Registry
from pitstop.model.data_folder import DataFolder, snapshot_begun
from pitstop.model.job import Asked, Job, JobSource, JobState, Starting, Watched
from pitstop.model.job_folder import CHECKPOINT_PREFIX
from pitstop.model.operation import UpdateJob, rescaling_snapshot
from pitstop.model.retention import USUAL, Retention
from pitstop.model.snapshot import SnapshotRecord
from pitstop.snapshots.checkpoint import FACTS, Checkpoint
from pitstop.snapshots.files import LOCAL_FILES, Files

SWEEP_SECONDS = 3600.0
"""The time between two searches for results that are too old, in seconds."""
LEFT_SECONDS = 86_400.0
"""The age, in seconds, up to which a folder without a name may be a snapshot that is being exported."""
ANSWERED_SECONDS = 86_400.0
"""The time for which the answer to a request can be asked for, in seconds."""
FRESH_SECONDS = 3600.0
"""The age, in seconds, up to which artifacts and packages may belong to a job that is just being submitted."""


def has_state(data: DataFolder, job: Job, files: Files = LOCAL_FILES) -> bool:
    """Return True if checkpoints of the job are still there."""
    return bool(_checkpoints(data, job, files))


def has_begun(data: DataFolder, job: Job, lineage: str, files: Files = LOCAL_FILES) -> bool:
    """Return True if the job has planned an epoch on that checkpoint, and the checkpoint is still there."""
    return Checkpoint(data.job(job.id).checkpoint(lineage), files).planned() >= 0


def state_bytes(data: DataFolder, job: Job, files: Files = LOCAL_FILES) -> int:
    """Return the size of all checkpoints of the job; files that snapshots share with them count as well."""
    sizes = (files.facts(folder / path) for folder in _checkpoints(data, job, files) for path in files.walk(folder))
    return sum(facts.bytes for facts in sizes if facts is not None)


def drop_state(data: DataFolder, job: Job, files: Files = LOCAL_FILES) -> None:
    """Remove the files that a job needs only if it runs again. Its log and its exported snapshots stay."""
    for checkpoint in _checkpoints(data, job, files):
        files.remove(checkpoint)
    shutil.rmtree(data.job(job.id).work, ignore_errors=True)


def drop_checkpoint(data: DataFolder, job: Job, lineage: str, files: Files = LOCAL_FILES) -> None:
    """Remove one checkpoint of a job that goes on with another, and the files made beside it to look into its state."""
    checkpoint = data.job(job.id).checkpoint(lineage)
    for folder in _checkpoints(data, job, files):
        if folder.name.startswith(f"{checkpoint.name}."):
            files.remove(folder)
    files.remove(checkpoint)


def old_lineages(data: DataFolder, job: Job, now: float, files: Files = LOCAL_FILES) -> list[str]:
    """Return the lineages of a job's checkpoints that began more than an hour ago.

    A younger one may belong to a version that starts and has not told its lineage yet, and looks unused.
    """
    checkpoints = [(folder, files.facts(folder / FACTS)) for folder in _checkpoints(data, job, files) if "." not in folder.name]
    old = [folder for folder, facts in checkpoints if facts is not None and now - facts.modified > FRESH_SECONDS]
    return [folder.name.removeprefix(CHECKPOINT_PREFIX) for folder in old]


def kept_until(job: Job, retention: Retention = USUAL) -> float | None:
    """Return the time at which the state of an ended job is removed, in seconds since the epoch; None if it keeps none."""
    if job.state is not JobState.FAILED or job.state_dropped or job.completion_time is None:
        return None
    return job.completion_time + (retention.cancelled_time if job.user_cancelled else retention.result_time)


def sweep(
    registry: Registry, data: DataFolder, now: float, files: Files = LOCAL_FILES, retention: Retention = USUAL
) -> list[Job]:
    """Forget results that are too many or too old, with their logs; artifacts and packages that no job names.

    Returns the jobs whose results stay while the time for their state is over.
    """
    for job_id in registry.delete_ended(retention.results, now - retention.result_time):
        files.remove(data.job(job_id).root)
    registry.prune(now - ANSWERED_SECONDS)
    _forget_rescaling(registry, data, files)
    remove_unnamed_snapshots(registry, data, now, files)
    jobs = registry.jobs()
    for job in jobs:
        if job.state.terminal:
            shutil.rmtree(data.job(job.id).work, ignore_errors=True)
    expired = [job for job in jobs if (until := kept_until(job, retention)) is not None and until <= now]
    if registry.unreadable_jobs():
        return expired  # which artifacts they name is not known
    sources = [source for job in jobs for source in _sources(registry, job)]
    _remove_unnamed(data.artifacts, {Path(source.artifact).parent.name for source in sources}, now)
    _remove_unnamed(data.dependencies, {Path(source.dependencies).name for source in sources if source.dependencies}, now)
    return expired


def _forget_rescaling(registry: Registry, data: DataFolder, files: Files) -> None:
    """Remove snapshots of rescaling that nobody has asked for, of jobs that went back or ended meanwhile."""
    records = [record for record in registry.snapshots() if record.name == rescaling_snapshot(record.job_id)]
    if not records or registry.unreadable_jobs():
        return
    jobs = {job.id: job for job in registry.jobs()}
    # A job without a guarantee that went back starts from it; and any other job may have been told to.
    start_from = {job.version.config.initial_snapshot for job in jobs.values()}
    for record in records:
        job = jobs.get(record.job_id)
        under_way = job is not None and (job.update is not None or job.preparation is not None)
        if not under_way and record.name not in start_from:
            registry.delete_snapshot(record.name)
            remove_snapshot(record.name, data, files)


def _remove_unnamed(folder: Path, names: Collection[str], now: float) -> None:
    """Remove all entries of a folder that have other names, but for young ones."""
    for entry in folder.glob("*"):
        if entry.name not in names and now - entry.stat().st_mtime > FRESH_SECONDS:
            # Renamed first, so that other processes see the whole of it, or nothing.
            going = entry.with_name(f".{entry.name.lstrip('.')}.going")
            with contextlib.suppress(OSError):
                entry.rename(going)
            shutil.rmtree(going, ignore_errors=True)


def remove_replaced(record: SnapshotRecord, data: DataFolder, files: Files = LOCAL_FILES) -> None:
    """Remove the folders of earlier snapshots with this one's name."""
    stem, new = f"{record.name}@", Path(record.path).name
    for name in files.names(data.snapshots):
        if name == record.name != new or (name.startswith(stem) and name < new):
            files.remove(data.snapshots / name)


def remove_snapshot(name: str, data: DataFolder, files: Files = LOCAL_FILES) -> None:
    """Remove all folders of snapshots of that name."""
    for folder in files.names(data.snapshots):
        if folder == name or folder.startswith(f"{name}@"):
            files.remove(data.snapshots / folder)


def remove_unnamed_snapshots(registry: Registry, data: DataFolder, now: float, files: Files = LOCAL_FILES) -> None:
    """Remove the remains of interrupted exports and deletions: folders that no name leads to, begun a day ago.

    An export that is under way, or that its run has yet to report, looks the same. Its files are no sign of its age: they are
    links to files of a checkpoint, which may be old.
    """
    names = {Path(record.path).name for record in registry.snapshots()}
    for name in files.names(data.snapshots):
        folder = data.snapshots / name
        start = snapshot_begun(name)
        if name not in names and now - (start if start is not None else _newest(folder, files)) > LEFT_SECONDS:
            files.remove(folder)


def _newest(folder: Path, files: Files) -> float:
    """Return the time of the newest file in a folder of an earlier release, whose name does not tell its age."""
    facts_of_files = (files.facts(folder / path) for path in files.walk(folder))
    return max((facts.modified for facts in facts_of_files if facts is not None), default=0.0)


def _checkpoints(data: DataFolder, job: Job, files: Files) -> list[Path]:
    """Return the checkpoints of a job, with those that a restore has begun and not finished."""
    folder = data.job(job.id).root
    return [folder / name for name in files.names(folder) if name.startswith(CHECKPOINT_PREFIX)]


def _sources(registry: Registry, job: Job) -> list[JobSource]:
    """Return the source that the job runs, and those that an update may still go on or back to."""
    phase = job.update.phase if job.update is not None else None
    sources = [job.version.source, job.saved.source]
    if isinstance(phase, Asked):
        sources.append(phase.target.source)
    elif isinstance(phase, Starting | Watched):
        sources.append(phase.previous.source)
    requests = [operation.request for operation in registry.open_operations(job.id)] if job.active else []
    sources += [request.source for request in requests if isinstance(request, UpdateJob)]
    # The job can go back to its earlier versions.
    return sources + [record.version.source for record in registry.versions(job.id)]
