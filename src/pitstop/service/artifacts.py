"""Keep the files of jobs, by their content."""

from __future__ import annotations

import hashlib
import os
import secrets
from pathlib import Path

import fsspec

from pitstop.errors import ArtifactError
from pitstop.model.data_folder import DataFolder

LONGEST_NAME = 200
"""Bytes in the name of an artifact."""
SUFFIXES = (".py", ".zip", ".whl")


def store_artifact(data: DataFolder, name: str, content: bytes | None) -> Path:
    """Keep an artifact and return its path. ``name`` is a path or URL to read it from unless ``content`` is given."""
    file_name = name.rsplit("/", 1)[-1]
    if not file_name.endswith(SUFFIXES):
        raise ArtifactError(f"{file_name} is no artifact: a job is a {', '.join(SUFFIXES)} file.")
    if not file_name.isprintable() or len(file_name.encode()) > LONGEST_NAME or file_name.startswith("."):
        raise ArtifactError(f"{file_name[:40]!r} cannot name an artifact: use letters, digits and signs, not too many.")
    found = content if content is not None else _read(name)
    target = data.artifact(hashlib.sha256(found).hexdigest(), file_name)
    folder = target.parent
    folder.mkdir(parents=True, exist_ok=True)
    if not target.exists():
        temporary = folder / f".{secrets.token_hex(4)}.tmp"
        temporary.write_bytes(found)
        temporary.rename(target)
    os.utime(folder)  # young artifacts are kept although no job names them yet
    return target


def _read(location: str) -> bytes:
    try:
        with fsspec.open(location, "rb") as file:
            return bytes(file.read())
    except FileNotFoundError:
        raise ArtifactError(f"File {location} could not be found.") from None
    except Exception as error:
        raise ArtifactError(f"File {location} cannot be read: {error}.") from error
