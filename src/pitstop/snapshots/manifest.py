"""Manifests on disk, and the check of a snapshot against its manifest."""

from __future__ import annotations

import json
from pathlib import Path

from pitstop.errors import SnapshotError
from pitstop.kit.canonical import file_checksum
from pitstop.model.snapshot import SnapshotFile, SnapshotManifest

MANIFEST = "manifest.json"
FILES, IMPORTED = "checkpoint", "imported"


def read(path: Path | str) -> SnapshotManifest:
    """The manifest of the snapshot in a folder; SnapshotError if it is missing or unreadable."""
    folder = Path(path)
    try:
        return SnapshotManifest.from_dict(json.loads((folder / MANIFEST).read_text()))
    except FileNotFoundError:
        raise SnapshotError(f'snapshot "{folder.name}" doesn\'t exist or is damaged: it has no manifest.') from None
    except (json.JSONDecodeError, KeyError, TypeError) as error:
        raise SnapshotError(f'snapshot "{folder.name}" is damaged: its manifest cannot be read ({error}).') from None


def write(folder: Path, manifest: SnapshotManifest) -> None:
    """Write the manifest atomically: a snapshot exists once this file does."""
    temporary = folder / f".{MANIFEST}.tmp"
    temporary.write_text(json.dumps(manifest.to_dict(), indent=1))
    temporary.rename(folder / MANIFEST)


def files_of(folder: Path, manifest: SnapshotManifest) -> list[tuple[Path, SnapshotFile]]:
    """Every file of a snapshot, with what the manifest says of it."""
    found = [(folder / FILES / file.path, file) for file in manifest.files]
    return found + [(folder / IMPORTED / file.path, file) for files in manifest.imported.values() for file in files]


def verify(folder: Path, manifest: SnapshotManifest, job: str) -> None:
    """Check every file against its size and checksum (jet.md SN12); SnapshotError names what is wrong."""
    missing, damaged = [], []
    files = files_of(folder, manifest)
    for path, file in files:
        if not path.is_file():
            missing.append(file.path)
        elif path.stat().st_size != file.bytes or file_checksum(path) != file.sha256:
            damaged.append(file.path)
    if missing:
        raise SnapshotError(
            f'State for {job} in snapshot "{manifest.name}" is corrupted: it should have {len(files)} files, '
            f"but {len(missing)} are missing ({missing[0]})."
        )
    if damaged:
        raise SnapshotError(
            f'State for {job} in snapshot "{manifest.name}" is corrupted: {len(damaged)} of its files do not match '
            f"their checksums ({damaged[0]})."
        )
