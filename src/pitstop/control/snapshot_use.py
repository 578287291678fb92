"""Finds the job that cannot do without a snapshot."""

from __future__ import annotations

from pitstop.control.ports.registry import Registry
from pitstop.control.retention import has_begun
from pitstop.model.config import ProcessingGuarantee
from pitstop.model.data_folder import DataFolder
from pitstop.model.job import Asked, Job, JobState, Starting, Version, Watched
from pitstop.model.operation import UpdateJob
from pitstop.snapshots.files import LOCAL_FILES, Files


def job_that_needs(snapshot: str, registry: Registry, data: DataFolder, files: Files = LOCAL_FILES) -> Job | None:
    """Return a job that would start from this snapshot if it started now, since it has no epoch of its own; or None.

    Such a job is one of these: it has yet to reach its first epoch; its guarantee keeps no checkpoint; it may go back to such a
    version after an update; it has failed or was cancelled in such a version, and may be resumed; it is going back to a version
    with this snapshot of it; its code is not compiled yet, and may name any snapshot.
    """
    for job in registry.jobs():
        if job.state.terminal and (job.state is not JobState.FAILED or job.state_dropped):
            continue
        if is_unread(job) or goes_back_to(snapshot, job, registry):
            return job
        if any(starts_from == snapshot and not _has_begun(version, job, data, files) for version, starts_from in _versions(job)):
            return job
    return None


def is_unread(job: Job) -> bool:
    """Return True while a job is not compiled yet and its options name no snapshot: its code may name one."""
    version = job.version
    return job.active and version.plan is None and version.config.initial_snapshot is None


def goes_back_to(snapshot: str, job: Job, registry: Registry) -> bool:
    """Return True from the request for a version that starts from this snapshot until the version has started or is refused."""
    requests = [operation.request for operation in registry.open_operations(job.id)]
    return any(isinstance(request, UpdateJob) and request.start_from == snapshot for request in requests)


def _versions(job: Job) -> list[tuple[Version, str | None]]:
    """Return the versions that the job runs, or may go on or back to, each with the snapshot that it starts from."""
    now, phase = job.version.config.initial_snapshot, job.update.phase if job.update is not None else None
    versions = [(job.version, now)]
    if isinstance(phase, Asked):
        versions.append((phase.target, phase.target.config.initial_snapshot))
    elif isinstance(phase, Starting | Watched):
        snapshot = (job.update.snapshot if job.update is not None else None) or now
        versions.append((phase.previous, phase.previous.config.initial_snapshot if _keeps_state(phase.previous) else snapshot))
    return versions


def _has_begun(version: Version, job: Job, data: DataFolder, files: Files) -> bool:
    if version.lineage is None or not _keeps_state(version):
        return False
    return has_begun(data, job, version.lineage, files)


def _keeps_state(version: Version) -> bool:
    return version.config.processing_guarantee is not ProcessingGuarantee.NONE
