"""A check that the files of a table were the same before and after a reading. The rows are then of one moment."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePosixPath
from urllib.parse import unquote, urlsplit

_WRITING = "_temporary"
"""A folder that Spark and Hadoop keep among files while they write some."""
_WILD = re.compile(r"[*?\[{]")

Mark = tuple[int, int, int]
"""Inode, size, and the time of the last change in ns."""


@dataclass(frozen=True)
class Look:
    """The files of a table, and their folders, at one moment. None: gone, or on no disk of this machine."""

    files: dict[str, Mark | None]
    folders: dict[str, Mark | None]
    under_way: bool
    """True if somebody is writing them at this moment, and says so."""

    def changed_within(self, seconds: float) -> bool:
        """Return True if one of them changed within the last ``seconds``, or in the future by this machine's clock."""
        marks = (*self.files.values(), *self.folders.values())
        newest = max((mark[2] for mark in marks if mark is not None), default=0)
        return newest / 1e9 > time.time() - seconds


def look(urls: Iterable[str], roots: Iterable[str] = ()) -> Look:
    """Look at files, their folders, and at ``roots``: the paths or patterns by which they were read."""
    files = {url: _mark(path) if (path := _local(url)) is not None else None for url in urls}
    folders = {folder for url in files for folder in _folders_of(url)}
    folders |= {path for root in roots if (path := _local(root)) is not None and not _WILD.search(path)}
    marks = {folder: _mark(folder) for folder in sorted(folders) if os.path.isdir(folder)}
    return Look(files, marks, any(os.path.isdir(os.path.join(folder, _WRITING)) for folder in marks))


def _folders_of(url: str) -> list[str]:
    """Return the folder of a file, and those above it up to the one that its partitions lie in."""
    path = _local(url)
    if path is None:
        return []
    folder = PurePosixPath(path).parent
    folders = [str(folder)]
    while "=" in folder.name:
        folder = folder.parent
        folders.append(str(folder))
    return folders


def _local(url: str) -> str | None:
    """Return the path of a URL, or a path, on this machine; None of another file system."""
    parts = urlsplit(url) if re.match(r"[A-Za-z][A-Za-z0-9+.-]*:", url) else None
    if parts is None:
        return os.path.abspath(url)
    return unquote(parts.path) if parts.scheme == "file" else None


def _mark(path: str) -> Mark | None:
    try:
        facts = os.stat(path)
    except OSError:
        return None
    return facts.st_ino, facts.st_size, facts.st_mtime_ns
