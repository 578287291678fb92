"""Files that say they were written in the future: Spark would pass over all that come later, as far as its memory goes.

It remembers for ``maxFileAge``, by default a week, which files it has read, and measures that from the newest file there is.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from pitstop.kit.clock import iso

Log = Callable[[str, str, str], None]

_AHEAD_MS = 60 * 60 * 1000
"""More than clocks of several machines differ."""


class FileTimes:
    """Of one run: looks at what its sources have noted of the files of each epoch, and tells of the future once a source."""

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
                entries = [json.loads(line) for line in path.read_text().splitlines()[1:]]
            except (OSError, ValueError):
                continue  # the other one; or both are gone, for only the last parts stay
            own = [entry for entry in entries if str(entry.get("batchId")) == part.name]
            latest = max([latest, *((int(entry["timestamp"]), str(entry["path"])) for entry in own)])
        if latest[0] - self._now() * 1000 > _AHEAD_MS:
            self._told.add(stage)
            self._log(
                "WARN",
                "pitstop.source",
                f"a file of '{stage}' says that it was written at {iso(latest[0] / 1000)}, which is to come: {latest[1]}. "
                "Files that are more than a week older than that (maxFileAge of the source) are passed over, also today's: "
                "give the source a longer maxFileAge, and set the clock of whoever wrote that file.",
            )


def _part(offset: object) -> int | None:
    try:
        found = json.loads(offset) if isinstance(offset, str) else offset
    except ValueError:
        return None
    number = found.get("logOffset") if isinstance(found, Mapping) else None
    return number if isinstance(number, int) else None
