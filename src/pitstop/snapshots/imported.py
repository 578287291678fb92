"""State that was put into a snapshot as rows: parquet files beside the checkpoint, one folder a stage."""

from __future__ import annotations

import dataclasses
import shutil
import time
from collections.abc import Callable
from pathlib import Path

from pitstop.kit.canonical import file_checksum
from pitstop.model.data_folder import DataFolder
from pitstop.model.snapshot import SnapshotFile, SnapshotManifest, SnapshotRecord
from pitstop.snapshots import manifest as manifests
from pitstop.snapshots.export import link, record_of, replace_folder


def imported_folder(folder: Path, stage: str) -> Path:
    """Where the imported rows of a stage stand in a snapshot's folder."""
    return folder / manifests.IMPORTED / stage


def with_imported(
    folder: Path, manifest: SnapshotManifest, data: DataFolder, name: str, stage: str, write: Callable[[Path], int]
) -> SnapshotRecord:
    """Make snapshot ``name``: all of another one, with the rows that ``write`` puts into a new folder as the state of ``stage``.

    ``write`` returns how many rows. ``name`` may be the same one, which is then replaced.
    """
    target = data.snapshot(name)
    temporary = target.with_name(f".{target.name}.{time.monotonic_ns()}.tmp")
    try:
        for path, _ in manifests.files_of(folder, manifest):
            if not path.is_relative_to(imported_folder(folder, stage)):
                link(path, temporary / path.relative_to(folder))
        written = imported_folder(temporary, stage)
        written.parent.mkdir(parents=True, exist_ok=True)
        rows = write(written)
        files = tuple(_file(path, written.parent) for path in sorted(written.rglob("*")) if path.is_file())
        made = dataclasses.replace(
            manifest,
            name=name,
            created=time.time(),
            stages=manifest.stages | {stage: manifest.stages.get(stage, {}) | {"rows": rows}},
            imported=manifest.imported | {stage: files},
        )
        manifests.write(temporary, made)
        replace_folder(temporary, target)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return record_of(made, target)


def _file(path: Path, folder: Path) -> SnapshotFile:
    return SnapshotFile(str(path.relative_to(folder)), path.stat().st_size, file_checksum(path))
