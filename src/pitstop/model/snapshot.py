"""A named snapshot and its manifest, format version 1."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from pitstop.errors import SnapshotError

MANIFEST_VERSION = 1


@dataclass(frozen=True)
class SnapshotFile:
    """One file of a snapshot: path below its folder, size, SHA-256."""

    path: str
    bytes: int
    sha256: str


@dataclass(frozen=True)
class SnapshotManifest:
    """What a snapshot holds. Written as ``manifest.json``, last, so that a half-made snapshot has none."""

    name: str
    job_id: str
    job_name: str | None
    lineage: str
    epoch: int
    """The last epoch whose effects it holds."""
    created: float
    watermark_ms: int | None
    plan: dict[str, Any]
    """The compiled plan of the job, with the layout of each stage's state."""
    partitions: int
    provider: str
    """Spark's state store provider class."""
    offsets: dict[str, dict[str, str]]
    """Source stage -> what reads it (a stateful stage, or nothing) -> offset as JSON text."""
    stages: dict[str, dict[str, Any]]
    """Stage name -> {operators: [ids], rows, bytes} of its state."""
    versions: dict[str, str]
    files: tuple[SnapshotFile, ...] = ()
    imported: dict[str, tuple[SnapshotFile, ...]] = field(default_factory=dict)
    """Stage -> files with the rows that were put in the place of its state."""
    format: int = MANIFEST_VERSION

    @property
    def bytes(self) -> int:
        return sum(file.bytes for files in (self.files, *self.imported.values()) for file in files)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> SnapshotManifest:
        """Read a manifest; raises SnapshotError if a later release wrote it."""
        if data.get("format") != MANIFEST_VERSION:
            raise SnapshotError(
                f"Snapshot '{data.get('name')}' has manifest format {data.get('format')}; this release reads "
                f"{MANIFEST_VERSION}. Use the release that wrote it."
            )
        known = {key: data[key] for key in cls.__dataclass_fields__ if key in data}
        imported = {stage: _files(files) for stage, files in data.get("imported", {}).items()}
        return cls(**(known | {"files": _files(data["files"]), "imported": imported}))


def _files(data: list[dict[str, Any]]) -> tuple[SnapshotFile, ...]:
    return tuple(SnapshotFile(**file) for file in data)


@dataclass(frozen=True)
class SnapshotRecord:
    """A line of the registry of snapshots."""

    name: str
    job_id: str
    job_name: str | None
    created: float
    bytes: int
    path: str
    """The folder that holds it."""
    epoch: int = -1
    details: dict[str, Any] = field(default_factory=dict)
