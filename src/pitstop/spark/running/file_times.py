"""Files with a time in the future: Spark would skip all later files, as far as its memory goes.

Spark remembers for ``maxFileAge``, by default a week, which files it has read, and measures that from the newest file there is.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

from pitstop.kit.clock import iso

_BLOCK = 65_536

Log = Callable[[str, str, str], None]

_AHEAD_MS = 60 * 60 * 1000
"""A time in milliseconds that is more than the clocks of several machines differ."""


class FileTimes:
    """A check of the times of files that one run's sources have noted for each epoch.

    It warns of a time in the future once for each source.
    """

    def __init__(self, log: Log, now: Callable[[], float] = time.time) -> None:
        self._log, self._now = log, now
        self._looked: dict[int, int] = {}
        """Number of a source -> the last part of its log that was looked at."""
        self._told: set[str] = set()

    def look(self, checkpoint: Path, offsets: Mapping[int, tuple[str, object]]) -> None:
        """Take note of an epoch, in the folder of its checkpoint. ``offsets``: number of a source -> its stage and offset."""
        for number, (stage, offset) in offsets.items():
            last = _part(offset)
            if last is None or stage in self._told:
                continue
            # What an earlier run has read was told by it; of a run that begins, the last part is.
            for part in range(self._looked.get(number, last - 1) + 1, last + 1):
                self._look_at(stage, checkpoint / "sources" / str(number) / str(part))
            self._looked[number] = last

    def _look_at(self, stage: str, part: Path) -> None:
        latest = (0, "")
        for path in (part, part.with_name(f"{part.name}.compact")):
            try:
                entries = list(_entries(path, part.name))
            except (OSError, ValueError):
                continue  # the other one; or both are gone, for only the last parts stay
            latest = max([latest, *((int(entry["timestamp"]), str(entry["path"])) for entry in entries)])
        if latest[0] - self._now() * 1000 > _AHEAD_MS:
            self._told.add(stage)
            self._log(
                "WARN",
                "pitstop.source",
                f"a file of '{stage}' says that it was written at {iso(latest[0] / 1000)}, which is in the future: {latest[1]}. "
                "Files that are more than a week older than that (maxFileAge of the source) are passed over, also today's: "
                "give the source a longer maxFileAge, and correct the clock of that file's writer.",
            )


def _entries(path: Path, batch: str) -> Iterator[dict[str, Any]]:
    """Yield the entries of a batch in a part of a log. In a compact part, those of earlier batches stand before them."""
    with path.open("rb") as file:
        for line in _lines_from_the_end(file):
            if not line.startswith(b"{"):
                return  # the version, in the first line
            entry = json.loads(line)
            if str(entry.get("batchId")) != batch:
                return
            yield entry


def _lines_from_the_end(file: BinaryIO) -> Iterator[bytes]:
    end, rest = file.seek(0, os.SEEK_END), b""
    while end:
        start = max(0, end - _BLOCK)
        file.seek(start)
        first, *lines = (file.read(end - start) + rest).split(b"\n")
        yield from (line for line in reversed(lines) if line)
        end, rest = start, first
    if rest:
        yield rest


def _part(offset: object) -> int | None:
    try:
        position = json.loads(offset) if isinstance(offset, str) else offset
    except ValueError:
        return None
    number = position.get("logOffset") if isinstance(position, Mapping) else None
    return number if isinstance(number, int) else None
