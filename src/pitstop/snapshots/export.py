"""Export: a consistent copy of a checkpoint up to one committed epoch, with a manifest.

State files are immutable and replaced only by renaming, so the copy is hard links and the job goes on
meanwhile. Another file system gets real copies.
"""

from __future__ import annotations

import dataclasses
import os
import time
from pathlib import Path
from typing import Any

from pitstop.errors import SnapshotError
from pitstop.model.data_folder import DataFolder
from pitstop.model.job import Job
from pitstop.model.snapshot import SnapshotManifest, SnapshotRecord
from pitstop.snapshots import manifest as manifests
from pitstop.snapshots.checkpoint import TABLES, WRITING, Checkpoint
from pitstop.snapshots.files import LOCAL_FILES, Files, write_text

NO_EPOCH = "no_epoch"
"""The detail of an error that says that no epoch is committed."""
_ATTEMPTS = 5


def export_checkpoint(
    checkpoint: Checkpoint,
    target: Path,
    name: str,
    stages: dict[str, dict[str, Any]] | None = None,
    at_rest: bool = False,
) -> SnapshotRecord:
    """Export the last committed epoch of a checkpoint that may be in use, as snapshot ``name`` in the folder ``target``.

    ``at_rest``: it is not in use, so an epoch that is not committed will not be. The folder appears whole or not at all; one that
    is there already is replaced. Raises SnapshotError if no epoch is committed.
    """
    temporary = target.with_name(f".{target.name}.{os.getpid()}.{time.monotonic_ns()}.tmp")
    try:
        manifest = _copy_with_retries(checkpoint, temporary, name, stages)
        if at_rest:
            manifest = dataclasses.replace(manifest, unfinished=checkpoint.unfinished())
        manifests.write(temporary, manifest, checkpoint.files)
        checkpoint.files.publish(temporary, target)
    finally:
        checkpoint.files.remove(temporary)
    return record_of(manifest, target)


def copy_checkpoint(checkpoint: Checkpoint, folder: Path, name: str) -> SnapshotManifest:
    """Make a snapshot of the last committed epoch in ``folder``, which must not exist and is in no registry."""
    manifest = _copy_with_retries(checkpoint, folder, name, None)
    manifests.write(folder, manifest, checkpoint.files)
    return manifest


def link_checkpoint(checkpoint: Checkpoint, target: Path) -> None:
    """Make ``target`` the checkpoint that a run dying now would leave: the last committed epoch, and the one planned behind it.

    SnapshotError if the checkpoint keeps changing while it is copied.
    """
    files = checkpoint.files
    for _ in range(_ATTEMPTS):
        files.remove(target)
        epoch = checkpoint.committed()
        planned_files = [Path("offsets") / name for name in (f"{epoch + 1}", f".{epoch + 1}.crc")]
        try:
            for path in checkpoint.files_of(epoch):
                files.copy(checkpoint.path / path, target / path)
            # The planned epoch is done again there, and joined with the same tables.
            whole = [path for path in files.walk(checkpoint.path / TABLES) if not _unfinished(path)]
            tables = [Path(TABLES) / path for path in whole]
            for path in (*planned_files, *tables):
                if files.facts(checkpoint.path / path) is not None:
                    files.copy(checkpoint.path / path, target / path)
            if checkpoint.writing() >= 0:
                # Epochs go on meanwhile: sinks may have begun to get one that is not in the copy.
                write_text(files, target / WRITING, str(min(checkpoint.writing(), epoch + 1)))
            return
        except FileNotFoundError:  # Spark forgets old epochs meanwhile
            continue
    raise SnapshotError(f"The state in {checkpoint.path} kept changing while it was copied: try again.")


def _unfinished(path: Path) -> bool:
    """Return True if the file belongs to a table that is being written now (table_copies)."""
    return any(part.startswith(".") for part in path.parts[:2])


def record_of(manifest: SnapshotManifest, folder: Path) -> SnapshotRecord:
    """Return the registry's record of a snapshot."""
    return SnapshotRecord(
        name=manifest.name,
        job_id=manifest.job_id,
        job_name=manifest.job_name,
        created=manifest.created,
        bytes=manifest.bytes,
        path=str(folder),
        epoch=manifest.epoch,
    )


def export_suspended(
    job: Job, data: DataFolder, name: str, sizes: dict[str, dict[str, Any]], files: Files = LOCAL_FILES
) -> SnapshotRecord:
    """Export the last good state of a suspended job; ``sizes`` are the sizes of each stage's state, if known."""
    lineage = job.saved.lineage
    if lineage is None:
        raise SnapshotError(f"Job '{job.display_name}' has no saved state yet: nothing to export.")
    return export_checkpoint(
        Checkpoint(data.job(job.id).checkpoint(lineage), files), data.new_snapshot(name), name, sizes or None, at_rest=True
    )


def _copy_with_retries(
    checkpoint: Checkpoint, temporary: Path, name: str, stages: dict[str, dict[str, Any]] | None
) -> SnapshotManifest:
    # Spark purges old epochs while we copy; a file that vanished belongs to none that matters, or the copy
    # is begun again from a newer epoch.
    for attempt in range(_ATTEMPTS):
        checkpoint.files.remove(temporary)
        epoch = checkpoint.committed()
        if epoch < 0:
            raise SnapshotError(f"No epoch is committed yet, so there is no state to export as '{name}'.", **{NO_EPOCH: True})
        try:
            paths = checkpoint.files_of(epoch)
            for path in paths:
                checkpoint.files.copy(checkpoint.path / path, temporary / manifests.FILES / path)
            return _manifest(checkpoint, Checkpoint(temporary / manifests.FILES, checkpoint.files), name, epoch, stages)
        except FileNotFoundError:
            if attempt == _ATTEMPTS - 1:
                raise SnapshotError(f"The state kept changing while it was exported as '{name}': try again.") from None
    raise AssertionError("unreachable")


def _manifest(
    live: Checkpoint, copy: Checkpoint, name: str, epoch: int, stages: dict[str, dict[str, Any]] | None
) -> SnapshotManifest:
    facts = live.facts()
    files = manifests.described(copy.files, copy.path, copy.files_of(epoch))
    return SnapshotManifest(
        name=name,
        job_id=facts["job_id"],
        job_name=facts.get("job_name"),
        lineage=facts["lineage"],
        epoch=epoch,
        created=time.time(),
        watermark_ms=copy.next_watermark(epoch),
        plan=facts["plan"],
        partitions=copy.partitions(),
        provider=copy.provider(),
        offsets=copy.offsets_by_source(epoch),
        stages=stages if stages is not None else facts.get("stages", {}),
        versions=facts.get("versions", {}),
        files=files,
    )


def restore_files(folder: Path, manifest: SnapshotManifest, target: Path, files: Files = LOCAL_FILES) -> None:
    """Lay a verified snapshot's checkpoint into ``target``, which must not exist."""
    for file in manifest.files:
        files.copy(folder / manifests.FILES / file.path, target / file.path)


def lay_view(folder: Path, manifest: SnapshotManifest, target: Path, files: Files = LOCAL_FILES) -> None:
    """Copy all files of a snapshot below ``target``.

    Spark finds all state there, whatever became of the checkpoint that was saved. Some operators' metadata hold the absolute path
    of the checkpoint that was exported.
    """
    files.remove(target)
    for path, _ in manifests.files_of(folder, manifest):
        files.copy(path, target / path.relative_to(folder))
    Checkpoint(target / manifests.FILES, files).relocate(target / manifests.FILES)
