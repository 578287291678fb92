"""The files of jobs that are kept, and the versions of jobs that use them."""

from __future__ import annotations

import contextlib
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from os import stat_result
from pathlib import Path, PurePath

from pitstop.kit.wire import Moment, described
from pitstop.model.data_folder import DataFolder
from pitstop.model.job import Job


@described
@dataclass(frozen=True)
class ArtifactUse:
    """A version of a job that runs, or ran, an artifact."""

    job: str
    """Id of the job."""
    name: str | None
    """Name of the job."""
    version: int
    """Number of the version."""
    current: bool
    """True if it is the job's now."""


@described
@dataclass(frozen=True)
class Artifact:
    """A file of jobs that the server keeps."""

    name: str
    """Its name. Several files may have it."""
    sha256: str
    """Of its content, in hex."""
    bytes: int
    """Its size."""
    stored: Moment
    """The time at which it came."""
    path: str
    """Its path on the server."""
    used_by: list[ArtifactUse]
    """Jobs that are remembered, the newest first, with those of their kept versions that use it."""


Place = tuple[str, str]
"""The folder of a content, and a name in it. It does not depend on the place of the data folder."""


def artifacts_of(data: DataFolder, jobs: Iterable[Job], version_artifacts: Iterable[tuple[str, int, str]]) -> list[Artifact]:
    """Return all artifacts, by name. ``version_artifacts``: (job, number, artifact) of all versions."""
    uses = _used(jobs, version_artifacts)
    artifacts = [
        Artifact(file.name, file.parent.name, facts.st_size, facts.st_mtime, str(file), uses.get(_place(file), []))
        for file, facts in _files(data)
    ]
    return sorted(artifacts, key=lambda artifact: (artifact.name, artifact.sha256))


def _files(data: DataFolder) -> Iterator[tuple[Path, stat_result]]:
    """Yield the files of artifacts. Names that begin with a dot are skipped: such files are being written or removed."""
    for file in data.artifacts.glob("[!.]*/[!.]*"):
        with contextlib.suppress(OSError):  # it is gone by now
            if file.is_file() and file.name.isprintable():
                yield file, file.stat()


def _used(jobs: Iterable[Job], version_artifacts: Iterable[tuple[str, int, str]]) -> dict[Place, list[ArtifactUse]]:
    versions: dict[str, dict[int, str]] = defaultdict(dict)
    for job_id, number, artifact in version_artifacts:
        versions[job_id][number] = artifact
    uses: dict[Place, list[ArtifactUse]] = defaultdict(list)
    for job in jobs:
        present = job.version
        # The present version is missing from ``version_artifacts`` if it began under a release that kept no versions.
        for number, artifact in sorted((versions[job.id] | {present.number: present.source.artifact}).items(), reverse=True):
            use = ArtifactUse(job.id, job.name, number, number == present.number)
            uses[_place(PurePath(artifact))].append(use)
    return uses


def _place(file: PurePath) -> Place:
    return file.parent.name, file.name
