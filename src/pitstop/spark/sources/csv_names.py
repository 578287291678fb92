"""The present names of the files of a folder, some of which have been read and renamed since."""

from __future__ import annotations

import os
import stat
from collections import Counter
from collections.abc import Iterable
from fnmatch import fnmatchcase
from pathlib import Path, PurePath

from pitstop.spark.sources.csv_marks import GONE, Mark, Positions, with_inode
from pitstop.spark.sources.log import SourceLog


class Told:
    """A log that warns of a thing once, until it is forgotten."""

    def __init__(self, log: SourceLog) -> None:
        self._log = log
        self._keys: set[str] = set()

    def tell(self, key: str, message: str) -> None:
        if key not in self._keys:
            self._keys.add(key)
            self._log.warning(message)

    def unreadable(self, name: str, error: OSError) -> None:
        self.tell(name, f"File '{name}' cannot be read ({error.strerror or error}): waiting until it can.")

    def forget(self, key: str) -> None:
        self._keys.discard(key)


class FolderNames:
    """A search for the files of a folder, and for the present names of those that have been read."""

    def __init__(self, folder: Path, glob: str, log: SourceLog, told: Told) -> None:
        self._folder, self._glob, self._log, self._told = folder, glob, log, told
        self.away = False
        """True if the folder was not there at the last look."""

    def look(self, before: Positions, glob_before: str) -> tuple[dict[str, os.stat_result], Positions]:
        """Return the files to look at, and the positions under the names that their files have now.

        The first is name -> facts, for the files of the glob and for those that have been read and no longer match it. Files are
        left out that a former version of the job took in by another glob, and this one does not.
        """
        found = self._found(before)
        out: set[str] = set()
        if glob_before != self._glob:
            out = {name for name in before if matches(name, glob_before) and not matches(name, self._glob)}
        others = self._other_names(before, found, out)
        for name in others:
            del found[name]
        return found, self._renamed(before, found, others, out)

    def _found(self, before: Positions) -> dict[str, os.stat_result]:
        self.away = not self._folder.is_dir()
        if self.away:
            self._told.tell("", f"Folder {self._folder} does not exist yet: waiting for it.")
            return {}
        self._told.forget("")
        self._tell_closed_folders()
        found: dict[str, os.stat_result] = {}
        self._look_at(self._in_glob() | before.keys(), found)
        # A file that is renamed meanwhile may have been met under two names.
        doubled: dict[str, int] = {}
        while (now := _doubled({name: facts.st_ino for name, facts in found.items()})) != doubled:
            doubled = now
            self._look_at(doubled, found)
        return found

    def _tell_closed_folders(self) -> None:
        """Tell which folders of the glob cannot be listed: their files are not found, and nothing else says so."""
        inner = PurePath(self._glob).parent
        for folder in (self._folder, *(self._folder.glob(f"{inner}/") if inner.parts else ())):
            key = f"{folder}/"
            if folder.is_dir() and not os.access(folder, os.R_OK | os.X_OK):
                self._told.tell(key, f"Folder {folder} cannot be listed (Permission denied): its files are read once it can.")
            else:
                self._told.forget(key)

    def _in_glob(self) -> set[str]:
        return {str(path.relative_to(self._folder)) for path in self._folder.glob(self._glob)}

    def _look_at(self, names: Iterable[str], found: dict[str, os.stat_result]) -> None:
        """Put the facts of those files of these names that exist into ``found``."""
        for name in names:
            found.pop(name, None)
            try:
                facts = os.stat(self._folder / name)
            except GONE:
                continue
            except OSError as error:
                self._told.unreadable(name, error)
                continue
            if stat.S_ISREG(facts.st_mode):
                found[name] = facts

    def _other_names(self, before: Positions, found: dict[str, os.stat_result], out: set[str]) -> dict[str, str]:
        """Return the further names of files that have several, by links, each with the one name under which the file is read.

        That is the name under which it has been read, or else one that leads through no symlink.
        """
        folder = os.path.realpath(self._folder)

        def rank(name: str) -> tuple[bool, bool, bool, str]:
            read = name in before and Mark.parse(before[name][1]).inode == found[name].st_ino
            return name in out, not read, os.path.realpath(self._folder / name) != os.path.join(folder, name), name

        names: dict[tuple[int, int], list[str]] = {}
        for name, facts in found.items():
            if facts.st_ino:  # some file systems have none
                names.setdefault((facts.st_dev, facts.st_ino), []).append(name)
        several = [sorted(links, key=rank) for links in names.values() if len(links) > 1]
        return {name: links[0] for links in several for name in links[1:]}

    def is_still(self, name: str, inode: int) -> bool:
        """Return False if a file was renamed since the folder was looked at. The next look then tells which file has its name."""
        try:
            return os.stat(self._folder / name).st_ino == inode
        except OSError:
            return False

    def _renamed(self, before: Positions, found: dict[str, os.stat_result], others: dict[str, str], out: set[str]) -> Positions:
        """Return the positions under the names that their files have now; ``found`` gets names that do not match the glob."""
        if not self._folder.is_dir():
            return dict(before)
        # Former releases have read a file under each of its names.
        inodes = {name: Mark.parse(text).inode for name, (_, text) in before.items()}
        left = {name: read for name, read in before.items() if name not in others or inodes.get(others[name]) != inodes[name]}
        moved, unknown = self._moved(left, found)
        now: Positions = {}
        for name in sorted((out & left.keys()) - unknown):
            now_named = moved.get(name, name)
            if not matches(now_named, self._glob):
                position, _ = left.pop(name)
                moved.pop(name, None)
                found.pop(now_named, None)
                self._log.warning(
                    f"File '{name}' is read no further than byte {position}: the source takes in files of '{self._glob}' now."
                )
        for old, name in moved.items():
            now[name] = left.pop(old)
            self._log.info(f"File '{old}' is '{name}' now: it is read on from byte {now[name][0]}.")
        for name in unknown:
            found.pop(name, None)
        for name, (position, text) in left.items():
            # Where another file has its name now that was read under another one, its own has been written over.
            gone = name in others or self._is_gone(name)
            if name not in now and (name in found or name in unknown or not gone):
                now[name] = (position, text)
            else:
                self._log.warning(f"File '{name}' is gone; it was read up to byte {position}.")
        return now

    def _moved(self, before: Positions, found: dict[str, os.stat_result]) -> tuple[dict[str, str], set[str]]:
        """Return old name -> new name, and the files for which that is unknown now: they are not read before it is known."""
        names = self._new_names(before, found)
        latest: dict[int, list[str]] | None = None
        moved: dict[str, str] = {}
        unknown: set[str] = set()
        for old, (position, text) in before.items():
            mark = Mark.parse(text)
            if not mark.inode or (old in found and found[old].st_ino == mark.inode):
                continue
            name = None
            try:
                name = self._named(names.get(mark.inode, []), old)
                if name is None and (position or mark.length):  # else nothing tells it from whatever has its inode now
                    name = self._beside(old, mark.inode)
                if name is None:
                    # It may have moved to a folder of the glob that had been listed by then: the next look tells.
                    if latest is None and (old in found or self._is_gone(old)):
                        latest = self._latest_names(found)
                    if latest and (name := self._named(latest.get(mark.inode, []), old)) is not None:
                        unknown |= {old, name}
                    continue
                goes_on = self._goes_on_as(name, old, position, mark, found)
                facts = found.get(name) or os.stat(self._folder / name)
                if facts.st_ino != mark.inode or not self.is_still(name, mark.inode):
                    unknown |= {old, name}
                elif goes_on:
                    moved[old], found[name] = name, facts
            except OSError as error:
                self._told.unreadable(old, error)
                unknown |= {old, name or old}
        # A position stays under its old name, too, where the new one still has that of a file which may be anywhere.
        while held := {old for old, name in moved.items() if name in unknown}:
            unknown |= held
            moved = {old: name for old, name in moved.items() if old not in held}
        return moved, unknown

    def _goes_on_as(self, name: str, old: str, position: int, mark: Mark, found: dict[str, os.stat_result]) -> bool:
        """Return True if the file of this name, which has the old one's inode, is to be read on.

        OSError if that cannot be told now.
        """
        try:
            return self.same(name, position, mark)
        except OSError as error:
            self._told.unreadable(name, error)
        # It may never be read again, and what has its old name by now must not wait for that. Were it another file than it seems
        # to be, it will be read from its start.
        return old not in found or not self.same(old, position, mark)

    def _new_names(self, before: Positions, found: dict[str, os.stat_result]) -> dict[int, list[str]]:
        """Return inode -> the names with it that its files did not have before."""
        names: dict[int, list[str]] = {}
        for name, facts in found.items():
            if name not in before or Mark.parse(before[name][1]).inode != facts.st_ino:
                names.setdefault(facts.st_ino, []).append(name)
        return names

    def _latest_names(self, found: dict[str, os.stat_result]) -> dict[int, list[str]]:
        """Return inode -> the names in the glob of files with it, for inodes that no file had when the folder was looked at."""
        latest: dict[str, os.stat_result] = {}
        self._look_at(self._in_glob(), latest)
        met = {facts.st_ino for facts in found.values()}
        names: dict[int, list[str]] = {}
        for name, facts in latest.items():
            if facts.st_ino not in met:
                names.setdefault(facts.st_ino, []).append(name)
        return names

    def _named(self, names: list[str], old: str) -> str | None:
        """Return the name that a file may have now.

        On another file system the inode is another file's, so a name there does not count.
        """
        device = self._device(old) if names else None
        return next((name for name in sorted(names) if device is None or self._device(name) == device), None)

    def _device(self, name: str) -> int | None:
        """Return the file system of a file's folder; None if the folder is gone.

        The file itself may tell another one if it is on an overlay.
        """
        try:
            return os.stat((self._folder / name).parent).st_dev
        except GONE:
            return None

    def _beside(self, name: str, inode: int) -> str | None:
        path = next(with_inode((self._folder / name).parent, inode), None)
        return None if path is None else str(path.relative_to(self._folder))

    def _is_gone(self, name: str) -> bool:
        """Return True if the file is known to be gone. If a file were forgotten and came back, its rows would come twice."""
        try:
            os.lstat(self._folder / name)
        except GONE:
            return self._folder.is_dir()
        except OSError:
            pass
        return False

    def same(self, name: str, position: int, mark: Mark) -> bool:
        """Return True if the file fits its mark. OSError if that cannot be known now."""
        try:
            with (self._folder / name).open("rb") as file:
                return mark.fits(file, position)
        except GONE:
            return False


def matches(name: str, glob: str) -> bool:
    """True if a file of this name is found with the glob, in a folder that has it."""
    return _match(PurePath(name).parts, PurePath(glob).parts)


def _match(parts: tuple[str, ...], globs: tuple[str, ...]) -> bool:
    if not globs:
        return not parts
    if globs[0] == "**":
        return any(_match(parts[at:], globs[1:]) for at in range(len(parts) + 1))
    return bool(parts) and fnmatchcase(parts[0], globs[0]) and _match(parts[1:], globs[1:])


def _doubled(inodes: dict[str, int]) -> dict[str, int]:
    """Return the names, with their inodes, whose inode has several names."""
    times = Counter(inodes.values())
    return {name: inode for name, inode in inodes.items() if times[inode] > 1}
