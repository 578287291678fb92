"""The plan of the files and bytes to read next: the part of tailing a folder that needs no Spark."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO

from pitstop.spark.sources.csv_marks import EDGE_BYTES, Mark, Positions, Span
from pitstop.spark.sources.csv_names import FolderNames, Told
from pitstop.spark.sources.csv_records import ends_record, last_line_end, last_record_end, record_end_from
from pitstop.spark.sources.log import SourceLog


@dataclass(frozen=True)
class _Grown:
    """A file with bytes after ``position``."""

    name: str
    position: int
    size: int
    mark: Mark
    inode: int


class FolderPlan:
    """A search for what has been appended to the files of a folder.

    It holds only a stat cache, the file whose turn it is, and the warnings it has logged. Durable state is in the positions.
    """

    def __init__(self, folder: Path, glob: str, log: SourceLog, quoted: bool = False) -> None:
        self._folder, self._glob, self._log, self._quoted = folder, glob, log, quoted
        self._told = Told(log)
        self._names = FolderNames(folder, glob, log, self._told)
        self._verified: dict[str, tuple[int, int, int]] = {}
        self._counted: dict[tuple[str, int, int], int] = {}
        """Name, inode, position that was read by lines -> the end of a record up to which its quotes have been counted."""
        self._first = ""
        """The file whose turn it is when an epoch could not serve all."""
        self.behind = 0
        """The bytes that were there at the last look, and were not moved over."""

    @property
    def awaited(self) -> str | None:
        """The folder, if it was not there at the last look."""
        return str(self._folder) if self._names.away else None

    def advance(self, before: Positions, max_bytes: int, glob_before: str | None = None) -> Positions:
        """Move on by complete records, ``max_bytes`` in all, shared among the files that have grown.

        Only a single longer record may go beyond that; otherwise it would block for ever. A file that was renamed goes on under
        its new name, which need not match the glob. A file without the bytes that were read of it is another file: it is read
        from its start, and the log says so. ``glob_before`` is the glob of the positions, if a former version had another one.
        """
        found, after = self._names.look(before, glob_before or self._glob)
        for name in before.keys() - after.keys():
            self._verified.pop(name, None)
        grown = [file for name in sorted(found) if (file := self._examine(name, found[name], before, after)) is not None]
        shares = even_shares({file.name: file.size - file.position for file in grown}, max_bytes)
        left, taken, self.behind = max_bytes, 0, sum(file.size - file.position for file in grown)
        for file in self._in_turn(grown):
            end, mark = self._next_end(file, file.position + shares[file.name])
            if end == file.position:
                continue
            if taken and end - file.position > left:
                self._first = file.name
                break
            after[file.name] = (end, str(mark))
            left -= end - file.position
            self.behind -= end - file.position
            taken += 1
        else:
            self._first = ""
        return after

    def _in_turn(self, grown: list[_Grown]) -> list[_Grown]:
        return sorted(grown, key=lambda file: (file.name < self._first, file.name))

    def _may_be_copy(self, name: str, position: int, mark: Mark) -> bool:
        try:
            return self._names.same(name, position, mark)
        except OSError:
            return False

    def _examine(self, name: str, facts: os.stat_result, before: Positions, after: Positions) -> _Grown | None:
        """Return the file if it has bytes to read. In ``after`` it begins anew if it is another file than before."""
        position, text = after.get(name, (0, ""))
        mark = Mark.parse(text) if text else self._new_mark(name, facts.st_ino, before)
        seen = (facts.st_ino, facts.st_mtime_ns, facts.st_size)
        if self._verified.get(name) == seen and facts.st_size <= position:
            return None
        try:
            with (self._folder / name).open("rb") as file:
                same = facts.st_size >= position and mark.fits(file, position)
                another = mark if same else self._new_mark(name, facts.st_ino, before).beginning_as(file)
        except FileNotFoundError:
            return None
        except OSError as error:
            self._told.unreadable(name, error)
            return None
        if not self._names.is_still(name, facts.st_ino):
            return None
        self._told.forget(name)
        if not text:
            self._tell_copy(name, facts.st_size, before)
        if not same:
            self._log.warning(
                f"File '{name}' was truncated or replaced: read up to byte {position}, it now has {facts.st_size} bytes and "
                "is read from its start."
            )
            position, mark = 0, another
            after[name] = (0, str(mark))
        elif (copied := replace(mark, inode=facts.st_ino)) != mark and not _has(before, copied):
            mark = copied  # to its own name: a copy of a whole folder rotates, too
            after[name] = (position, str(mark))
        self._verified[name] = seen
        return _Grown(name, position, facts.st_size, mark, facts.st_ino) if facts.st_size > position else None

    def _new_mark(self, name: str, inode: int, before: Positions) -> Mark:
        """Return the mark of an unread file, distinct from all files that had its name or its inode."""
        others = [Mark.parse(text) for other, (_, text) in before.items() if other == name or Mark.parse(text).inode == inode]
        return Mark(generation=1 + max((mark.generation for mark in others), default=-1), inode=inode)

    def _next_end(self, file: _Grown, wanted: int) -> tuple[int, Mark]:
        """Return the position up to which the file is read next, and its mark there."""
        try:
            with (self._folder / file.name).open("rb") as opened:
                end = self._end(opened, file, min(file.size, wanted))
                mark = file.mark.moved_to(opened, end, self._quoted)
                # It may have been written over since it was examined, also between the search for the end and the mark.
                same = file.mark.fits(opened, file.position) and (end == file.position or ends_record(opened, end))
        except OSError:
            same = False
        if same and self._names.is_still(file.name, file.inode):
            return end, mark
        return file.position, file.mark  # the next look says what has become of it

    def _end(self, opened: BinaryIO, file: _Grown, wanted: int) -> int:
        """Return the end of the last complete record.

        If the record was begun by lines alone, return its own end, so that what follows is cut rightly.
        """
        if not self._quoted:
            return last_line_end(opened, file.position, wanted, file.size)
        if not file.mark.quoted:
            key = (file.name, file.inode, file.position)
            counted = record_end_from(opened, self._counted.get(key, 0), file.position, file.size)
            self._counted[key] = counted
            if counted > file.position:
                self._told.tell(
                    f"{file.name} {file.position} by lines",
                    f"File '{file.name}' was read up to byte {file.position} by lines, in the middle of a record with newlines "
                    f"in quotes: its rest, up to byte {counted}, comes as rows of its own; what follows is read by records.",
                )
            if counted != file.position:
                return max(counted, file.position)
        return last_record_end(opened, file.position, wanted, file.size)

    def _tell_copy(self, name: str, size: int, before: Positions) -> None:
        """Warn that a new file may be a copy of one that has been read. Nobody can know, so it is read."""
        for other, (position, text) in before.items():
            mark = Mark.parse(text)
            if mark.length == EDGE_BYTES and mark.tail and position <= size and self._may_be_copy(name, position, mark):
                self._told.tell(
                    f"{name} like {other}",
                    f"File '{name}' begins with all {position} bytes that were read of '{other}': if it is a copy, these rows "
                    "come twice. Rotate files by renaming them.",
                )


def _has(positions: Positions, mark: Mark) -> bool:
    return any(mark.is_of(Mark.parse(text)) for _, text in positions.values())


def even_shares(pending: dict[str, int], total: int) -> dict[str, int]:
    """Divide ``total`` bytes evenly; the shares that small files leave go to the larger ones. Each gets at least one byte."""
    shares: dict[str, int] = {}
    left = total
    for index, (name, size) in enumerate(sorted(pending.items(), key=lambda item: item[1])):
        shares[name] = max(1, min(size, left // (len(pending) - index)))
        left = max(0, left - shares[name])
    return shares


def balanced(found: list[Span], parts: int) -> list[list[Span]]:
    """Spread spans over at most ``parts`` lists of about equal bytes; a file's lines stay in one, in order."""
    lists: list[list[Span]] = [[] for _ in range(max(1, min(parts, len(found))))]
    weights = [0] * len(lists)
    for span in sorted(found, key=lambda s: s.start - s.end):
        lightest = weights.index(min(weights))
        lists[lightest].append(span)
        weights[lightest] += span.end - span.start
    return [part for part in lists if part]
