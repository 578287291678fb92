"""The files of jobs, kept by their content."""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
from pathlib import Path

import fsspec

from pitstop.errors import ArtifactError, PitstopError, TooLargeError
from pitstop.kit.download import DOWNLOAD_SECONDS, download
from pitstop.model.data_folder import DataFolder
from pitstop.sql.programs import SUFFIX, read_program

MOST_BYTES = 256 << 20
"""The most bytes of an artifact."""
LONGEST_NAME = 200
"""The most bytes in the name of an artifact."""
SUFFIXES = (".py", ".zip", ".whl", ".sql")


def store_artifact(data: DataFolder, name: str, content: bytes | None) -> Path:
    """Keep an artifact and return its path. ``name`` is a path or URL to read it from unless ``content`` is given."""
    file_name = name.rsplit("/", 1)[-1]
    if not file_name.endswith(SUFFIXES):
        raise ArtifactError(f"{file_name} is not an artifact: a job is a {', '.join(SUFFIXES)} file.")
    if not file_name.isprintable() or len(file_name.encode()) > LONGEST_NAME or file_name.startswith("."):
        rule = f"use letters, digits and signs, {LONGEST_NAME} bytes at most, with no dot in front"
        raise ArtifactError(f"{file_name[:40]!r} cannot name an artifact: {rule}.")
    code = content if content is not None else _read(name)
    target = data.artifact(hashlib.sha256(code).hexdigest(), file_name)
    folder = target.parent
    folder.mkdir(parents=True, exist_ok=True)
    if not target.exists():
        temporary = folder / f".{secrets.token_hex(4)}.tmp"
        temporary.write_bytes(code)
        temporary.rename(target)
    os.utime(folder)  # young artifacts are kept even if no job names them yet
    return target


def usual_name(artifact: str, content: bytes | None) -> str:
    """Return the default name of an artifact's job: that in its CREATE JOB, else the file's name without suffix."""
    path = Path(artifact)
    if path.suffix == SUFFIX and content is not None:
        with contextlib.suppress(PitstopError, UnicodeDecodeError):  # its errors are reported when it is compiled
            return read_program(content.decode()).job.name
    return path.stem


def _read(location: str) -> bytes:
    try:
        # fsspec would need a second HTTP client for this.
        from_web = location.startswith(("http://", "https://"))
        content = download(location, MOST_BYTES, DOWNLOAD_SECONDS) if from_web else _open(location)
    except FileNotFoundError:
        raise ArtifactError(f"File {location} could not be found.") from None
    except Exception as error:
        raise ArtifactError(f"File {location} cannot be read: {error}.") from error
    if len(content) > MOST_BYTES:
        raise TooLargeError(f"File {location} is larger than {MOST_BYTES >> 20} MiB: an artifact holds code, no data.")
    return content


def _open(location: str) -> bytes:
    with fsspec.open(location, "rb") as file:
        return bytes(file.read(MOST_BYTES + 1))
