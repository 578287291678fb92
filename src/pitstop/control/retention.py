"""What is kept of jobs that have ended, and for how long (jet.md §1.3: results retained)."""

from __future__ import annotations

import contextlib
import shutil
from pathlib import Path

from pitstop.control.ports import Registry
from pitstop.model.job import Asked, Job, JobSource, Starting, Watched
from pitstop.model.operation import UpdateJob
from pitstop.snapshots.export import checkpoint_folder

KEEP_RESULTS = 1000
KEEP_SECONDS = 604_800.0
CHECKPOINT = "checkpoint-"
SWEEP_SECONDS = 3600.0
"""How often results that are too old are looked for."""
FRESH_SECONDS = 3600.0
"""An artifact this young may belong to a job that is just being submitted."""


def job_folder(data_dir: Path, job_id: str) -> Path:
    """Log, checkpoints and working files of a job."""
    return data_dir / "jobs" / job_id


def has_state(data_dir: Path, job: Job) -> bool:
    """True if checkpoints of the job are still there."""
    return any(job_folder(data_dir, job.id).glob("checkpoint*"))


def drop_state(data_dir: Path, job: Job) -> None:
    """Remove what only a job that may run again needs. Its log and its exported snapshots stay."""
    folder = job_folder(data_dir, job.id)
    for checkpoint in folder.glob("checkpoint*"):
        shutil.rmtree(checkpoint, ignore_errors=True)
    shutil.rmtree(folder / "work", ignore_errors=True)


def drop_checkpoint(data_dir: Path, job: Job, lineage: str) -> None:
    """Remove one checkpoint of a job that goes on with another."""
    shutil.rmtree(checkpoint_folder(data_dir, job.id, lineage), ignore_errors=True)


def old_lineages(data_dir: Path, job: Job, now: float) -> list[str]:
    """The lineages of a job's checkpoints on disk but of the newest ones: a version that starts has not told its own yet."""
    found = []
    for folder in job_folder(data_dir, job.id).glob(f"{CHECKPOINT}*"):
        with contextlib.suppress(FileNotFoundError):
            if now - folder.stat().st_mtime > FRESH_SECONDS:
                found.append(folder.name.removeprefix(CHECKPOINT))
    return found


def sweep(registry: Registry, data_dir: Path, now: float) -> None:
    """Forget results beyond the newest 1000 or older than 7 days, with their logs, and artifacts that no job names."""
    for gone in registry.delete_ended(KEEP_RESULTS, now - KEEP_SECONDS):
        shutil.rmtree(job_folder(data_dir, gone), ignore_errors=True)
    named = {Path(source.artifact).parent.name for job in registry.jobs() for source in _sources(registry, job)}
    for folder in (data_dir / "artifacts").glob("*"):
        if folder.name not in named and now - folder.stat().st_mtime > FRESH_SECONDS:
            shutil.rmtree(folder, ignore_errors=True)


def _sources(registry: Registry, job: Job) -> list[JobSource]:
    """What the job runs, and what an update may still go on or back to."""
    phase = job.update.phase if job.update is not None else None
    found = [job.source, job.saved.source]
    if isinstance(phase, Asked):
        found.append(phase.target.source)
    elif isinstance(phase, Starting | Watched):
        found.append(phase.previous.source)
    asked = [operation.request for operation in registry.open_operations(job.id)] if job.active else []
    return found + [request.source for request in asked if isinstance(request, UpdateJob)]
