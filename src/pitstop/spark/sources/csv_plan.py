"""Which bytes of which files come next: the part of tailing a folder that needs no Spark."""

from __future__ import annotations

import os
import stat
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO

from pitstop.spark.sources.csv_marks import EDGE_BYTES, GONE, Mark, Positions, Span, with_inode
from pitstop.spark.sources.csv_records import last_line_end
from pitstop.spark.sources.log import SourceLog

RecordEnd = Callable[[BinaryIO, int, int, int], int]
"""``(file, start, wanted, size) -> end`` of the last complete record, see csv_records."""


@dataclass(frozen=True)
class _Grown:
    """A file with bytes after ``position``."""

    name: str
    position: int
    size: int
    mark: Mark
    inode: int


class FolderPlan:
    """Finds what has been appended to the files of a folder.

    Holds only a stat cache, whose turn it is, and which warnings it has logged; durable state is in the positions.
    """

    def __init__(self, folder: Path, glob: str, log: SourceLog, record_end: RecordEnd = last_line_end) -> None:
        self._folder, self._glob, self._log, self._record_end = folder, glob, log, record_end
        self._told: set[str] = set()
        self._verified: dict[str, tuple[int, int, int]] = {}
        self._first = ""
        """The file whose turn it is when an epoch could not serve all."""

    def advance(self, before: Positions, max_bytes: int) -> Positions:
        """Move on by complete records, ``max_bytes`` in all, shared among the files that have grown.

        Only a single record that is longer goes beyond, for else it would block for ever. A file that was renamed goes on
        under its new name, which need not match the glob. A file that has not what was read of it is another file: it is
        read from its start, and the log says so.
        """
        found = self._found(before)
        after = self._renamed(before, found)
        grown = [file for name in sorted(found) if (file := self._examine(name, found[name], before, after)) is not None]
        shares = even_shares({file.name: file.size - file.position for file in grown}, max_bytes)
        left, taken = max_bytes, 0
        for file in self._in_turn(grown):
            end, mark = self._next_end(file, file.position + shares[file.name])
            if end == file.position:
                continue
            if taken and end - file.position > left:
                self._first = file.name
                break
            after[file.name] = (end, str(mark))
            left -= end - file.position
            taken += 1
        else:
            self._first = ""
        return after

    def _in_turn(self, grown: list[_Grown]) -> list[_Grown]:
        return sorted(grown, key=lambda file: (file.name < self._first, file.name))

    def _found(self, before: Positions) -> dict[str, os.stat_result]:
        """Name -> facts of the files to look at: those of the glob, and those that have been read and no longer match it."""
        if not self._folder.is_dir():
            self._tell("", f"Folder {self._folder} does not exist yet: waiting for it.")
            return {}
        self._told.discard("")
        names = {str(path.relative_to(self._folder)) for path in self._folder.glob(self._glob)}
        found: dict[str, os.stat_result] = {}
        self._look_at(names | before.keys(), found)
        # A file that is renamed meanwhile may have been met under two names.
        doubled: dict[str, int] = {}
        while (now := _doubled({name: facts.st_ino for name, facts in found.items()})) != doubled:
            doubled = now
            self._look_at(doubled, found)
        return found

    def _look_at(self, names: Iterable[str], found: dict[str, os.stat_result]) -> None:
        """Let ``found`` have the facts of those files of these names that are there."""
        for name in names:
            found.pop(name, None)
            try:
                facts = os.stat(self._folder / name)
            except GONE:
                continue
            except OSError as error:
                self._tell_unreadable(name, error)
                continue
            if stat.S_ISREG(facts.st_mode):
                found[name] = facts

    def _is_still(self, name: str, inode: int) -> bool:
        """False if a file was renamed since the folder was looked at: then the next look tells what has its name."""
        try:
            return os.stat(self._folder / name).st_ino == inode
        except OSError:
            return False

    def _renamed(self, before: Positions, found: dict[str, os.stat_result]) -> Positions:
        """The positions under the names that their files have now; ``found`` gets names that do not match the glob."""
        if not self._folder.is_dir():
            return dict(before)
        moved, unknown = self._moved(before, found)
        now: Positions = {}
        left = dict(before)
        for old, name in moved.items():
            now[name] = left.pop(old)
            self._log.info(f"File '{old}' is '{name}' now: it is read on from byte {now[name][0]}.")
        for name in unknown:
            found.pop(name, None)
        for name, (position, text) in left.items():
            if name in now:
                continue  # another file has its name now: told where it is examined
            if name in found or name in unknown or not self._is_gone(name):
                now[name] = (position, text)
            else:
                self._verified.pop(name, None)
                self._log.warning(f"File '{name}' is gone; it was read up to byte {position}.")
        return now

    def _moved(self, before: Positions, found: dict[str, os.stat_result]) -> tuple[dict[str, str], set[str]]:
        """Old name -> new name; and the names of files of which that cannot be told now: they are not read before it can."""
        names = self._new_names(before, found)
        moved: dict[str, str] = {}
        unknown: set[str] = set()
        for old, (position, text) in before.items():
            mark = Mark.parse(text)
            if not mark.inode or (old in found and found[old].st_ino == mark.inode):
                continue
            name = None
            try:
                name = self._named(names.get(mark.inode, []), old) or self._beside(old, mark.inode)
                if name is None:
                    continue
                goes_on = self._goes_on_as(name, old, position, mark, found)
                facts = found.get(name) or os.stat(self._folder / name)
                if facts.st_ino != mark.inode or not self._is_still(name, mark.inode):
                    unknown |= {old, name}
                elif goes_on:
                    moved[old], found[name] = name, facts
            except OSError as error:
                self._tell_unreadable(old, error)
                unknown |= {old, name or old}
        # A position stays under its old name, too, where the new one still has that of a file which may be anywhere.
        while held := {old for old, name in moved.items() if name in unknown}:
            unknown |= held
            moved = {old: name for old, name in moved.items() if old not in held}
        return moved, unknown

    def _goes_on_as(self, name: str, old: str, position: int, mark: Mark, found: dict[str, os.stat_result]) -> bool:
        """True if the file of this name, which has the old one's inode, is to be read on. OSError if that cannot be told now."""
        try:
            return self._same(name, position, mark)
        except OSError as error:
            self._tell_unreadable(name, error)
        # It may never be read again, and what has its old name by now must not wait for that. Were it another file than it seems
        # to be, it will be read from its start.
        return old not in found or not self._same(old, position, mark)

    def _new_names(self, before: Positions, found: dict[str, os.stat_result]) -> dict[int, list[str]]:
        """Inode -> the names that files have with it which they did not have before."""
        names: dict[int, list[str]] = {}
        for name, facts in found.items():
            if name not in before or Mark.parse(before[name][1]).inode != facts.st_ino:
                names.setdefault(facts.st_ino, []).append(name)
        return names

    def _named(self, names: list[str], old: str) -> str | None:
        """That of these names which a file may have now: none on another file system, where the inode is another file's."""
        device = self._device(old) if names else None
        return next((name for name in sorted(names) if device is None or self._device(name) == device), None)

    def _device(self, name: str) -> int | None:
        """The file system of a file's folder, for a file of an overlay may tell another one; None if the folder is gone."""
        try:
            return os.stat((self._folder / name).parent).st_dev
        except GONE:
            return None

    def _beside(self, name: str, inode: int) -> str | None:
        path = next(with_inode((self._folder / name).parent, inode), None)
        return None if path is None else str(path.relative_to(self._folder))

    def _is_gone(self, name: str) -> bool:
        """True if it is known to be: were the position of one forgotten that comes back, its rows would come twice."""
        try:
            os.lstat(self._folder / name)
        except GONE:
            return self._folder.is_dir()
        except OSError:
            pass
        return False

    def _same(self, name: str, position: int, mark: Mark) -> bool:
        """OSError if that cannot be known now."""
        try:
            with (self._folder / name).open("rb") as file:
                return mark.fits(file, position)
        except GONE:
            return False

    def _may_be_copy(self, name: str, position: int, mark: Mark) -> bool:
        try:
            return self._same(name, position, mark)
        except OSError:
            return False

    def _examine(self, name: str, facts: os.stat_result, before: Positions, after: Positions) -> _Grown | None:
        """The file if it has bytes to read; in ``after`` it begins anew if it is another file than before."""
        position, text = after.get(name, (0, ""))
        mark = Mark.parse(text) if text else self._new_mark(name, facts.st_ino, before)
        seen = (facts.st_ino, facts.st_mtime_ns, facts.st_size)
        if self._verified.get(name) == seen and facts.st_size <= position:
            return None
        try:
            with (self._folder / name).open("rb") as file:
                same = facts.st_size >= position and mark.fits(file, position)
        except FileNotFoundError:
            return None
        except OSError as error:
            self._tell_unreadable(name, error)
            return None
        if not self._is_still(name, facts.st_ino):
            return None
        self._told.discard(name)
        if not text:
            self._tell_copy(name, facts.st_size, before)
        if position and not same:
            self._log.warning(
                f"File '{name}' was truncated or replaced: read up to byte {position}, it now has {facts.st_size} bytes and "
                "is read from its start."
            )
            position, mark = 0, self._new_mark(name, facts.st_ino, before)
            after[name] = (0, str(mark))
        elif (copied := replace(mark, inode=facts.st_ino)) != mark and not _has(before, copied):
            mark = copied  # to its own name: a copy of a whole folder rotates, too
            after[name] = (position, str(mark))
        self._verified[name] = seen
        return _Grown(name, position, facts.st_size, mark, facts.st_ino) if facts.st_size > position else None

    def _new_mark(self, name: str, inode: int, before: Positions) -> Mark:
        """The mark of a file of which nothing has been read: told apart from all that had its name or its inode."""
        others = [Mark.parse(text) for other, (_, text) in before.items() if other == name or Mark.parse(text).inode == inode]
        return Mark(generation=1 + max((mark.generation for mark in others), default=-1), inode=inode)

    def _next_end(self, file: _Grown, wanted: int) -> tuple[int, Mark]:
        """How far the file is read next, and its mark then."""
        try:
            with (self._folder / file.name).open("rb") as opened:
                end = self._record_end(opened, file.position, min(file.size, wanted), file.size)
                opened.seek(0)
                mark = file.mark.moved_to(opened, end)
        except OSError:
            return file.position, file.mark  # gone since it was examined: the next look says so
        if not self._is_still(file.name, file.inode):
            return file.position, file.mark
        return end, mark

    def _tell_copy(self, name: str, size: int, before: Positions) -> None:
        """A new file may be a copy of one that has been read: nobody can know, so it is read, and told."""
        for other, (position, text) in before.items():
            mark = Mark.parse(text)
            if mark.length == EDGE_BYTES and mark.tail and position <= size and self._may_be_copy(name, position, mark):
                self._tell(
                    f"{name} like {other}",
                    f"File '{name}' begins with all {position} bytes that were read of '{other}': if it is a copy, these rows "
                    "come twice. Rotate files by renaming them.",
                )

    def _tell_unreadable(self, name: str, error: OSError) -> None:
        self._tell(name, f"File '{name}' cannot be read ({error.strerror or error}): waiting until it can.")

    def _tell(self, key: str, message: str) -> None:
        if key not in self._told:
            self._told.add(key)
            self._log.warning(message)


def _has(positions: Positions, mark: Mark) -> bool:
    return any(mark.is_of(Mark.parse(text)) for _, text in positions.values())


def _doubled(inodes: dict[str, int]) -> dict[str, int]:
    """Those of several names."""
    times = Counter(inodes.values())
    return {name: inode for name, inode in inodes.items() if times[inode] > 1}


def even_shares(pending: dict[str, int], total: int) -> dict[str, int]:
    """Divide ``total`` bytes evenly, what small files leave going to the larger ones; at least one byte each."""
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
