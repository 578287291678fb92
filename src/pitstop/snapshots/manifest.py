"""Manifests on disk, and the check of a snapshot against its manifest.

A manifest begins with the checksum of all its other bytes (docs/snapshot-format.md). Older releases wrote none.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pitstop.errors import SnapshotError
from pitstop.kit.counts import counted
from pitstop.model.snapshot import MANIFEST_VERSION, SnapshotFile, SnapshotManifest
from pitstop.snapshots.files import LOCAL_FILES, Files, checksum
from pitstop.snapshots.sealed import SealError, seal, unseal

MANIFEST = "manifest.json"
FILES, IMPORTED = "checkpoint", "imported"

_FIELDS = frozenset(field.name for field in dataclasses.fields(SnapshotManifest))


def read(path: Path | str, files: Files = LOCAL_FILES) -> SnapshotManifest:
    """Return the manifest of the snapshot in a folder; SnapshotError if it is missing or unreadable."""
    folder = Path(path)
    try:
        with files.open(folder / MANIFEST) as file:
            return SnapshotManifest.from_dict(_parsed(file.read(), folder.name))
    except FileNotFoundError:
        raise SnapshotError(f'snapshot "{folder.name}" doesn\'t exist or is damaged: it has no manifest.') from None
    except (ValueError, KeyError, TypeError) as error:
        raise SnapshotError(f'snapshot "{folder.name}" is damaged: its manifest cannot be read ({error}).') from None


def write(folder: Path, manifest: SnapshotManifest, files: Files = LOCAL_FILES) -> None:
    """Write the manifest, whole or not at all: a snapshot exists once this file does."""
    files.write(folder / MANIFEST, seal(manifest.to_dict()))


def _parsed(content: bytes, name: str) -> dict[str, Any]:
    """Return the fields of a manifest; SnapshotError if it is not as it was written, ValueError if it is none."""
    try:
        fields, sealed = unseal(content)
    except SealError:
        raise SnapshotError(f'snapshot "{name}" is damaged: its manifest does not match its checksum.') from None
    # Releases that wrote no checksum knew no field that this one does not: an unknown one was the checksum once.
    if not sealed and fields.get("format") == MANIFEST_VERSION and not fields.keys() <= _FIELDS:
        raise SnapshotError(f'snapshot "{name}" is damaged: its manifest does not begin with its checksum.')
    return fields


def described(files: Files, folder: Path, paths: Iterable[Path]) -> tuple[SnapshotFile, ...]:
    """Return a manifest's facts about files, given as paths from a folder; FileNotFoundError if one is gone."""
    return tuple(_described(files, folder, path) for path in paths)


def files_of(folder: Path, manifest: SnapshotManifest) -> list[tuple[Path, SnapshotFile]]:
    """Return every file of a snapshot, with the manifest's facts about it."""
    of_checkpoint = [(folder / FILES / file.path, file) for file in manifest.files]
    return of_checkpoint + [(folder / IMPORTED / file.path, file) for files in manifest.imported.values() for file in files]


def verify(folder: Path, manifest: SnapshotManifest, job: str, store: Files = LOCAL_FILES) -> None:
    """Check every file against its size and checksum; SnapshotError names what is wrong."""
    missing, damaged = [], []
    files = files_of(folder, manifest)
    for path, file in files:
        facts = store.facts(path)
        if facts is None:
            missing.append(file.path)
        elif facts.bytes != file.bytes or checksum(store, path) != file.sha256:
            damaged.append(file.path)
    if missing:
        raise SnapshotError(
            f'State for {job} in snapshot "{manifest.name}" is corrupted: it should have {counted(len(files), "file")}, '
            f"but {counted(len(missing), 'is', 'are')} missing ({missing[0]})."
        )
    if damaged:
        raise SnapshotError(
            f'State for {job} in snapshot "{manifest.name}" is corrupted: '
            f"{counted(len(damaged), 'of its files does', 'of its files do')} not match their checksums ({damaged[0]})."
        )


def _described(files: Files, folder: Path, path: Path) -> SnapshotFile:
    facts = files.facts(folder / path)
    if facts is None:
        raise FileNotFoundError(folder / path)
    return SnapshotFile(str(path), facts.bytes, checksum(files, folder / path))
