"""Reads new lines of logs that others write and rotate."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path


class NewLines:
    """Reads each line of such logs once. A file is known by its inode number, which it keeps when it is renamed."""

    def __init__(self, most_bytes: int | None = None) -> None:
        self._most = most_bytes
        """The most bytes that one look reads of a file; the next look goes on from there. None: all."""
        self._read: dict[int, int] = {}
        """Number of a file -> the bytes of it that had been read by the last look."""
        self._missed: dict[int, int] = {}
        """``_read`` of the files that the last look has not met: they may have been renamed at that moment."""

    def look(self, files: Iterable[Path], ended: Iterable[Path] = ()) -> list[bytes]:
        """Return the new whole lines of each file, in order; of ``ended`` files, which nobody writes any more, all that is left.

        Ended files come first. A file that two looks have not met is forgotten, since another one may get its number.
        """
        contents, ends, offsets = [], {}, self._missed | self._read
        for path, to_its_end in (*((path, True) for path in ended), *((path, False) for path in files)):
            try:
                with path.open("rb") as file:
                    facts = os.fstat(file.fileno())
                    begin = offsets.get(facts.st_ino, 0)
                    if begin > facts.st_size:  # another file, with the number of one that is gone
                        begin = 0
                    file.seek(begin)
                    new = file.read(-1 if self._most is None else self._most)
            except FileNotFoundError:
                continue
            if not to_its_end or len(new) == self._most:
                # A line that is longer than all that is read at once is cut.
                new = new[: new.rfind(b"\n") + 1] or (new if len(new) == self._most else b"")
            ends[facts.st_ino] = begin + len(new)
            contents.append(new)
        self._missed = {number: at for number, at in self._read.items() if number not in ends}
        self._read = ends
        return contents
