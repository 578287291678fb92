"""The place of checkpoints and snapshots, as few operations on files: a local disk now.

Spark itself opens the checkpoint that a query runs on, by a path that its own file systems understand. All that is done beside
Spark goes through this port: reading and writing logs and manifests, copying, comparing, removing.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import shutil
import stat
from dataclasses import dataclass
from io import BufferedIOBase
from pathlib import Path
from typing import Protocol


@dataclass(frozen=True)
class FileFacts:
    """Size and age of a file."""

    bytes: int
    modified: float
    """The time of the last change, in seconds since the epoch."""


class Files(Protocol):
    """Files by absolute paths. Folders come into being with the first file in them. Others may change files at any time."""

    def open(self, path: Path) -> BufferedIOBase:
        """Open a file for reading; FileNotFoundError if it is not there."""
        ...

    def write(self, path: Path, content: bytes) -> None:
        """Make or replace a file, which appears whole or not at all. Files that it was copied from or to keep their content."""
        ...

    def names(self, folder: Path) -> list[str]:
        """Return the names of the files and folders right in a folder; none if it is not there."""
        ...

    def walk(self, folder: Path) -> list[Path]:
        """Return all files below a folder, as paths from it, sorted; none if it is not there."""
        ...

    def facts(self, path: Path) -> FileFacts | None:
        """Return the facts about a file; None if there is no such file."""
        ...

    def copy(self, source: Path, target: Path) -> None:
        """Make ``target``, which is not there yet, a file of the same content, as cheaply as can be: both may be one file.

        FileNotFoundError if the source is not there.
        """
        ...

    def remove(self, path: Path) -> None:
        """Remove a file, or a folder with all below it; nothing happens if it is not there."""
        ...

    def publish(self, folder: Path, target: Path) -> None:
        """Put a finished folder in the place of ``target``, which is replaced if it is there.

        Meanwhile a reader may find neither of them. It finds no file right in ``target``, such as a manifest, without the files
        that it names.
        """
        ...


class LocalFiles:
    """Files of this machine. Copies are hard links where the file system can."""

    def open(self, path: Path) -> BufferedIOBase:
        return path.open("rb")

    def write(self, path: Path, content: bytes) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
        try:
            temporary.write_bytes(content)
            temporary.rename(path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise

    def names(self, folder: Path) -> list[str]:
        try:
            return os.listdir(folder)
        except FileNotFoundError:
            return []

    def walk(self, folder: Path) -> list[Path]:
        files = (Path(below, name) for below, _, names in os.walk(folder) for name in names)
        return sorted(path.relative_to(folder) for path in files)

    def facts(self, path: Path) -> FileFacts | None:
        try:
            status = path.stat()
        except FileNotFoundError:
            return None
        return FileFacts(status.st_size, status.st_mtime) if stat.S_ISREG(status.st_mode) else None

    def copy(self, source: Path, target: Path) -> None:
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            os.link(source, target)
        except FileNotFoundError:
            raise
        except OSError:  # another file system, or one without links
            shutil.copy2(source, target)

    def remove(self, path: Path) -> None:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)

    def publish(self, folder: Path, target: Path) -> None:
        target.parent.mkdir(parents=True, exist_ok=True)
        old = target.with_name(f".{target.name}.{secrets.token_hex(4)}.old")
        with contextlib.suppress(FileNotFoundError):
            target.rename(old)
        folder.rename(target)
        self.remove(old)


LOCAL_FILES = LocalFiles()


def read_text(files: Files, path: Path) -> str:
    """Return the text of a file; FileNotFoundError if it is not there."""
    with files.open(path) as file:
        return file.read().decode()


def write_text(files: Files, path: Path, text: str) -> None:
    """Make or replace a file, as Files.write."""
    files.write(path, text.encode())


def checksum(files: Files, path: Path) -> str:
    """Return the SHA-256 of a file's content, in hex."""
    with files.open(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
