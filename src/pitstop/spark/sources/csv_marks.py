"""The mark by which a partly read file is recognized: its inode, and the bytes at its head and before its position."""

from __future__ import annotations

import errno
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain
from os import scandir
from pathlib import Path
from typing import BinaryIO

EDGE_BYTES = 64

GONE = (FileNotFoundError, NotADirectoryError, IsADirectoryError)
"""The errors that say that there is no such file any more. Any other error leaves open if it is there."""

Positions = dict[str, tuple[int, str]]
"""File name -> (byte position after the last record read, text of the file's :class:`Mark`)."""


@dataclass(frozen=True)
class Mark:
    """A mark that recognizes a file of which some has been read.

    The text is ``length:head:generation:inode:tail``, and ``:1`` if it is ``quoted``; former releases wrote the first three, or
    five.
    """

    length: int = 0
    """The number of bytes at the beginning that are in ``head``."""
    head: str = ""
    """The hash of the first bytes."""
    generation: int = 0
    """The number of times that its name or its inode turned out to be another file."""
    inode: int = 0
    """The file's inode; 0: not known."""
    tail: str = ""
    """The hash of the last bytes before the position; empty: not known."""
    quoted: bool = False
    """True if the position is known to be the end of a record whose newlines may be in quotes."""

    @classmethod
    def parse(cls, text: str) -> Mark:
        length, head, generation, inode, tail, quoted = [*text.split(":"), "", "", "", "", "", ""][:6]
        return cls(int(length or 0), head, int(generation or 0), int(inode or 0), tail, quoted == "1")

    def __str__(self) -> str:
        return f"{self.length}:{self.head}:{self.generation}:{self.inode}:{self.tail}" + ":1" * self.quoted

    def is_of(self, other: Mark) -> bool:
        """Return True if both are marks of one file, as far as their inodes tell."""
        return self.inode != 0 and (self.inode, self.generation) == (other.inode, other.generation)

    def fits(self, file: BinaryIO, position: int) -> bool:
        """Return True if this file has the same content as the marked one up to the position."""
        head = _head(file)
        if self.length and (len(head) < self.length or _digest(head[: self.length]) != self.head):
            return False
        return not self.tail or _digest(_before(file, position)) == self.tail

    def beginning_as(self, file: BinaryIO) -> Mark:
        """Return the mark of an unread file that begins as this one does now."""
        head = _head(file)
        return replace(self, length=len(head), head=_digest(head) if head else "")

    def ends(self, data: bytes) -> bool:
        """Return True if the marked file ends, at its position, as these bytes do.

        They are its last ``EDGE_BYTES``, or more, or all it has.
        """
        return not self.tail or _digest(data[-EDGE_BYTES:]) == self.tail

    def moved_to(self, file: BinaryIO, position: int, quoted: bool = False) -> Mark:
        """Return the mark of the file once it has been read up to this position."""
        head = _head(file)[:position]
        return replace(self, length=len(head), head=_digest(head), tail=_digest(_before(file, position)), quoted=quoted)


@dataclass(frozen=True)
class Span:
    """The bytes ``start .. end`` of the file that ``mark`` recognizes at its end."""

    file: str
    start: int
    end: int
    mark: str


def spans(before: Positions, after: Positions) -> list[Span]:
    """Return the bytes between two offsets, including those of renamed files. Of a new generation of a file, return all of it."""
    old = {name: (position, Mark.parse(text)) for name, (position, text) in before.items()}
    new = {name: (end, Mark.parse(text)) for name, (end, text) in after.items()}
    # A number of an inode may be there once on each file system: a file that has its name still is looked for under no other.
    moved: dict[tuple[int, int], list[tuple[str, int]]] = {}
    for name, (position, mark) in old.items():
        if mark.inode and (name not in new or not mark.is_of(new[name][1])):
            moved.setdefault((mark.inode, mark.generation), []).append((name, position))
    found = []
    for name, (end, mark) in new.items():
        start = 0
        others = moved.get((mark.inode, mark.generation), [])
        if name in old and (old[name][1].is_of(mark) or (not others and old[name][1].generation == mark.generation)):
            start = old[name][0]
        elif others:
            start = min(others, key=lambda other: Path(other[0]).parent != Path(name).parent)[1]
        if start > end:
            start = 0
        if end > start:
            found.append(Span(name, start, end, after[name][1]))
    return found


def open_marked(folder: Path, span: Span, glob: str) -> BinaryIO | None:
    """Return the file of a span, under its present name in its folder, or in one of the glob; None if it is gone, or another.

    OSError if that cannot be told now: the folder is not there, or the file that it may be cannot be read.
    """
    # Looked for before and after, as it may come or go meanwhile.
    _find(folder)
    mark, path = Mark.parse(span.mark), folder / span.file
    refused: OSError | None = None
    try:
        for candidate in chain([path], with_inode(path.parent, mark.inode), _in_folders(folder, glob, mark.inode)):
            try:
                file = _open_fitting(candidate, mark, span.end)
            except OSError as error:
                refused = refused or error
                continue
            if file is not None:
                return file
    except OSError as error:
        refused = refused or error
    _find(folder)
    if refused is not None:
        raise refused
    return None


def _find(folder: Path) -> None:
    if not folder.is_dir():
        raise FileNotFoundError(errno.ENOENT, "the folder is not there", str(folder))


def _open_fitting(path: Path, mark: Mark, position: int) -> BinaryIO | None:
    try:
        file = path.open("rb")
    except GONE:
        return None
    try:
        if mark.fits(file, position):
            return file
    except OSError:
        file.close()
        raise
    file.close()
    return None


def with_inode(folder: Path, inode: int) -> Iterator[Path]:
    """Yield the files of a folder that have this inode. OSError, after those that were found, if there may be others.

    The folder is searched twice, because a file may be renamed after its name was listed, and be met again.
    """
    refused: OSError | None = None
    if not inode:
        return
    for name, listed in chain(_listed(folder), _listed(folder)):
        path = folder / name
        try:
            if path.is_file() and path.stat().st_ino == inode:
                yield path
        except GONE:
            continue
        except OSError as error:
            # What is mounted there, or linked from elsewhere, is listed with another inode, and may be refused for ever.
            if listed == inode:
                refused = refused or error
    if refused is not None:
        raise refused


def _in_folders(folder: Path, glob: str, inode: int) -> Iterator[Path]:
    """Yield the files with this inode in all folders that have files of the glob.

    This may walk through many folders: use it where all else failed.
    """
    for parent in dict.fromkeys(path.parent for path in folder.glob(glob)):
        yield from with_inode(parent, inode)


def _listed(folder: Path) -> Iterator[tuple[str, int]]:
    """Yield the names of a folder, each with the inode that the folder has for it."""
    try:
        with scandir(folder) as found:
            entries = sorted((entry.name, entry.inode()) for entry in found)
    except GONE:
        return
    yield from entries


def _head(file: BinaryIO) -> bytes:
    file.seek(0)
    return file.read(EDGE_BYTES)


def _before(file: BinaryIO, position: int) -> bytes:
    start = max(0, position - EDGE_BYTES)
    file.seek(start)
    return file.read(position - start)


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:12]
