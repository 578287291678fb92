"""Which bytes of which files come next: the part of tailing a folder that needs no Spark."""

from __future__ import annotations

import hashlib
import os
import stat
from dataclasses import dataclass
from pathlib import Path

from pitstop.spark.sources.log import SourceLog

HEAD_BYTES = 64
SCAN_BYTES = 64 * 1024

Positions = dict[str, tuple[int, str]]
"""File name -> (byte position after the last line read, text of the file's :class:`Mark`)."""


@dataclass(frozen=True)
class Mark:
    """Recognises a file: a hash of its first ``length`` bytes, all of which have been read.

    ``generation`` counts how often the name turned out to be another file. The text is ``length:hash:generation``.
    """

    length: int = 0
    digest: str = ""
    generation: int = 0

    @classmethod
    def parse(cls, text: str) -> Mark:
        length, digest, generation = [*text.split(":"), "", ""][:3]
        return cls(int(length or 0), digest, int(generation or 0))

    def __str__(self) -> str:
        return f"{self.length}:{self.digest}:{self.generation}"

    def fits(self, head: bytes) -> bool:
        return self.length == 0 or (len(head) >= self.length and _digest(head[: self.length]) == self.digest)

    def lengthened(self, head: bytes, known: int) -> Mark:
        """The same file's mark, over as much of its head as cannot change any more (``known`` bytes)."""
        length = min(HEAD_BYTES, known, len(head))
        return Mark(length, _digest(head[:length]), self.generation) if length > self.length else self


@dataclass(frozen=True)
class Span:
    """Bytes ``start .. end`` of the file that begins as ``mark`` says."""

    file: str
    start: int
    end: int
    mark: str


@dataclass(frozen=True)
class _Grown:
    """A file with bytes after ``position``."""

    name: str
    position: int
    size: int
    mark: Mark
    head: bytes


class FolderPlan:
    """Finds what has been appended to the files of a folder.

    Holds only a stat cache, whose turn it is, and which warnings it has logged; durable state is in the positions.
    """

    def __init__(self, folder: Path, glob: str, log: SourceLog) -> None:
        self._folder, self._glob, self._log = folder, glob, log
        self._told: set[str] = set()
        self._verified: dict[str, tuple[int, int, int]] = {}
        self._first = ""
        """The file whose turn it is when an epoch could not serve all."""

    def advance(self, before: Positions, max_bytes: int) -> Positions:
        """Move on by complete lines, ``max_bytes`` in all, shared among the files that have grown.

        Only a single line that is longer goes beyond, for else it would block for ever. A file that is shorter than
        its position, or begins otherwise than it did, is another file: it is read from its start, and the log says so.
        """
        after = dict(before)
        names = self._names()
        grown = [found for name in names if (found := self._examine(name, after)) is not None]
        self._forget_removed(before, after)
        shares = even_shares({file.name: file.size - file.position for file in grown}, max_bytes)
        left, taken = max_bytes, 0
        for file in self._in_turn(grown):
            end = self._line_end(file, file.position + shares[file.name])
            if end == file.position:
                continue
            if taken and end - file.position > left:
                self._first = file.name
                break
            after[file.name] = (end, str(file.mark.lengthened(file.head, end)))
            left -= end - file.position
            taken += 1
        else:
            self._first = ""
        return after

    def _in_turn(self, grown: list[_Grown]) -> list[_Grown]:
        return sorted(grown, key=lambda file: (file.name < self._first, file.name))

    def _names(self) -> list[str]:
        if not self._folder.is_dir():
            self._tell("", f"Folder {self._folder} does not exist yet: waiting for it.")
            return []
        self._told.discard("")
        return sorted(str(path.relative_to(self._folder)) for path in self._folder.glob(self._glob))

    def _examine(self, name: str, after: Positions) -> _Grown | None:
        """The file if it has bytes to read; in ``after`` it begins anew if it is another file than before."""
        position, text = after.get(name, (0, ""))
        mark = Mark.parse(text)
        try:
            facts = os.stat(self._folder / name)
            if not stat.S_ISREG(facts.st_mode):
                return None
            seen = (facts.st_ino, facts.st_mtime_ns, facts.st_size)
            if self._verified.get(name) == seen and facts.st_size <= position:
                return None
            head = read_head(self._folder / name)
        except FileNotFoundError:
            return None
        except OSError as error:
            self._tell(name, f"File '{name}' cannot be read ({error.strerror}): waiting until it can.")
            return None
        self._told.discard(name)
        if position and (facts.st_size < position or not mark.fits(head)):
            self._log.warning(
                f"File '{name}' was truncated or replaced: read up to byte {position}, it now has {facts.st_size} bytes and "
                "is read from its start."
            )
            position, mark = 0, Mark(generation=mark.generation + 1)
            after[name] = (0, str(mark))
        self._verified[name] = seen
        return _Grown(name, position, facts.st_size, mark, head) if facts.st_size > position else None

    def _line_end(self, file: _Grown, wanted: int) -> int:
        try:
            return line_end(self._folder / file.name, file.position, min(file.size, wanted), file.size)
        except OSError:
            return file.position  # gone since it was examined: the next look says so

    def _forget_removed(self, before: Positions, after: Positions) -> None:
        for name, (position, _) in before.items():
            if self._folder.is_dir() and not (self._folder / name).exists():
                after.pop(name, None)
                self._verified.pop(name, None)
                self._log.warning(f"File '{name}' is gone; it was read up to byte {position}.")

    def _tell(self, key: str, message: str) -> None:
        if key not in self._told:
            self._told.add(key)
            self._log.warning(message)


def even_shares(pending: dict[str, int], total: int) -> dict[str, int]:
    """Divide ``total`` bytes evenly, what small files leave going to the larger ones; at least one byte each."""
    shares: dict[str, int] = {}
    left = total
    for index, (name, size) in enumerate(sorted(pending.items(), key=lambda item: item[1])):
        shares[name] = max(1, min(size, left // (len(pending) - index)))
        left = max(0, left - shares[name])
    return shares


def line_end(path: Path, start: int, wanted: int, size: int) -> int:
    """The end of the last complete line up to ``wanted``; of the first one if that is longer; ``start`` if none is complete."""
    with path.open("rb") as file:
        upper = wanted
        while upper > start:
            lower = max(start, upper - SCAN_BYTES)
            file.seek(lower)
            found = file.read(upper - lower).rfind(b"\n")
            if found >= 0:
                return lower + found + 1
            upper = lower
        position = wanted
        while position < size:
            file.seek(position)
            chunk = file.read(min(SCAN_BYTES, size - position))
            found = chunk.find(b"\n")
            if found >= 0:
                return position + found + 1
            if not chunk:
                break
            position += len(chunk)
    return start


def read_head(path: Path) -> bytes:
    """The first bytes of a file, as many as a mark may cover."""
    with path.open("rb") as file:
        return file.read(HEAD_BYTES)


def spans(before: Positions, after: Positions) -> list[Span]:
    """What lies between two offsets. A position that went back, or another generation, means the file began anew."""
    found = []
    for name, (end, mark) in after.items():
        start, old_mark = before.get(name, (0, mark))
        if start > end or Mark.parse(old_mark).generation != Mark.parse(mark).generation:
            start = 0
        if end > start:
            found.append(Span(name, start, end, mark))
    return found


def balanced(found: list[Span], parts: int) -> list[list[Span]]:
    """Spread spans over at most ``parts`` lists of about equal bytes; a file's lines stay in one, in order."""
    lists: list[list[Span]] = [[] for _ in range(max(1, min(parts, len(found))))]
    weights = [0] * len(lists)
    for span in sorted(found, key=lambda s: s.start - s.end):
        lightest = weights.index(min(weights))
        lists[lightest].append(span)
        weights[lightest] += span.end - span.start
    return [part for part in lists if part]


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:12]
