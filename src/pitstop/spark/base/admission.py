"""How much sources may bring into an epoch, as a share of their usual limit: epochs are to end within the snapshot interval.

An epoch is a recovery point. If one takes longer than the interval, the next may bring half as much; once epochs end
in less than half of it, the share doubles again, up to the whole.
Sources read the share from a small file, for each runs in its own process.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

SMALLEST = 1 / 1024


def next_share(share: float, epoch_ms: int, interval_ms: int) -> float:
    """The share of the next epoch after one that took ``epoch_ms``. With an interval of 0 an epoch may take any time."""
    if interval_ms and epoch_ms > interval_ms:
        return max(SMALLEST, share / 2)
    if epoch_ms * 2 < interval_ms:
        return min(1.0, share * 2)
    return share


class Admission:
    """Held by the runner: works the share out after each epoch and writes it into the file when it changes."""

    def __init__(self, path: Path, interval_ms: int) -> None:
        self._path, self._interval_ms = path, interval_ms
        self.share = 1.0
        path.unlink(missing_ok=True)

    def epoch_took(self, milliseconds: int) -> bool:
        """Take note of how long an epoch with data took; True if the share changed."""
        share = next_share(self.share, milliseconds, self._interval_ms)
        if share == self.share:
            return False
        self.share = share
        temporary = self._path.with_suffix(".tmp")
        temporary.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_text(json.dumps({"share": share}))
        temporary.rename(self._path)
        return True


class Throttle:
    """Held by a source: ``limited(n)`` is the share of n that the file allows, at least 1. Without a file it is n."""

    def __init__(self, path: str | None) -> None:
        self._path = path
        self._seen, self._share = 0, 1.0

    def limited(self, usual: int) -> int:
        if self._path is not None:
            try:
                changed = os.stat(self._path).st_mtime_ns
                if changed != self._seen:
                    self._share = float(json.loads(Path(self._path).read_text())["share"])
                    self._seen = changed
            except FileNotFoundError:
                self._share = 1.0
        return max(1, int(usual * self._share))
