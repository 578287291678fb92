"""A named snapshot and its manifest, format version 1."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from pitstop.errors import SnapshotError
from pitstop.kit.wire import Moment, described

MANIFEST_VERSION = 1


@described
@dataclass(frozen=True)
class SnapshotFile:
    """One file of a snapshot."""

    path: str
    """Path below the snapshot's folder."""
    bytes: int
    """Size."""
    sha256: str
    """Checksum of its content, in hex."""


@described
@dataclass(frozen=True)
class SnapshotManifest:
    """The contents of a snapshot. Written as ``manifest.json``, last, so that a half-made snapshot has none."""

    name: str
    """Name of the snapshot."""
    job_id: str
    """The job it was taken of."""
    job_name: str | None
    """That job's name."""
    lineage: str
    """The checkpoint it was copied from."""
    epoch: int
    """The last epoch whose effects it holds."""
    created: float
    """The time at which it was taken, in seconds since the epoch."""
    watermark_ms: int | None
    """Event time up to which windows were closed, in milliseconds since the epoch."""
    plan: dict[str, Any]
    """The compiled plan of the job, with the layout of each stage's state."""
    partitions: int
    """Shuffle partitions of its state."""
    provider: str
    """Spark's state store provider class."""
    offsets: dict[str, dict[str, str]]
    """Source stage -> what reads it (a stateful stage, or nothing) -> offset as JSON text."""
    stages: dict[str, dict[str, Any]]
    """Stage name -> {operators: [ids], rows, bytes} of its state."""
    versions: dict[str, str]
    """Of Spark and Pitstop, when it was taken."""
    files: tuple[SnapshotFile, ...] = ()
    """Every file, with its checksum."""
    imported: dict[str, tuple[SnapshotFile, ...]] = field(default_factory=dict)
    """Stage -> files with the rows that were put in the place of its state."""
    unfinished: dict[str, Any] | None = None
    """The epoch within which the run ended, if sinks may have it: {known_as: [lineage, epoch]} by which they know it, {offsets,
    metadata} to which it reads. A run that goes on from the snapshot does this epoch first."""
    format: int = MANIFEST_VERSION
    """Version of the manifest's form."""

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
        values = {key: data[key] for key in cls.__dataclass_fields__ if key in data}
        imported = {stage: _files(files) for stage, files in data.get("imported", {}).items()}
        return cls(**(values | {"files": _files(data["files"]), "imported": imported}))


def _files(data: list[dict[str, Any]]) -> tuple[SnapshotFile, ...]:
    files = tuple(SnapshotFile(**file) for file in data)
    for file in files:
        if not stays_below(file.path):
            raise SnapshotError(f"The manifest names a file outside of its snapshot ({file.path!r}): it was tampered with.")
    return files


def stays_below(path: str) -> bool:
    """True for the path of a file below a folder, written as plainly as it can be."""
    return path.isprintable() and not set(path.split("/")) & {"", ".", ".."}


@described
@dataclass(frozen=True)
class SnapshotRecord:
    """A line of the registry of snapshots."""

    name: str
    """Its name."""
    job_id: str
    """The job it was taken of."""
    job_name: str | None
    """That job's name."""
    created: Moment
    """The time at which it was taken."""
    bytes: int
    """Size of its files."""
    path: str
    """The folder on the server that holds it."""
    epoch: int = -1
    """The last epoch whose effects it holds."""
    details: dict[str, Any] = field(default_factory=dict)
    """Further facts."""
