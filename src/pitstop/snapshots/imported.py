"""State that was put into a snapshot as rows: parquet files beside the checkpoint, one folder a stage."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable
from pathlib import Path

from pitstop.model.data_folder import DataFolder
from pitstop.model.snapshot import SnapshotManifest, SnapshotRecord
from pitstop.snapshots import manifest as manifests
from pitstop.snapshots.export import record_of
from pitstop.snapshots.files import LOCAL_FILES, Files


def imported_folder(folder: Path, stage: str) -> Path:
    """Return the place of a stage's imported rows in a snapshot's folder."""
    return folder / manifests.IMPORTED / stage


def with_imported(
    folder: Path,
    manifest: SnapshotManifest,
    data: DataFolder,
    name: str,
    stage: str,
    write: Callable[[Path], int],
    files: Files = LOCAL_FILES,
) -> SnapshotRecord:
    """Make snapshot ``name``: all of another one, with the rows that ``write`` puts into a new folder as the state of ``stage``.

    ``write`` returns the number of rows. The caller must tell the registry: ``name`` may be the same one.
    """
    target = data.new_snapshot(name)
    temporary = target.with_name(f".{target.name}.{time.monotonic_ns()}.tmp")
    try:
        for path, _ in manifests.files_of(folder, manifest):
            if not path.is_relative_to(imported_folder(folder, stage)):
                files.copy(path, temporary / path.relative_to(folder))
        state_folder = imported_folder(temporary, stage)
        rows = write(state_folder)
        rows_files = manifests.described(files, state_folder.parent, (Path(stage) / path for path in files.walk(state_folder)))
        result = dataclasses.replace(
            manifest,
            name=name,
            created=time.time(),
            stages=manifest.stages | {stage: manifest.stages.get(stage, {}) | {"rows": rows}},
            imported=manifest.imported | {stage: rows_files},
        )
        manifests.write(temporary, result, files)
        files.publish(temporary, target)
    finally:
        files.remove(temporary)
    return record_of(result, target)
