"""The share of their usual limit that sources may bring into an epoch, so that epochs end within the snapshot interval.

An epoch is a recovery point. It takes the time that its rows cost, and a rest that it costs however few they are: planning,
commits, a busy machine. Both are worked out from the last epochs. The rows of an epoch may take what the rest leaves of the
interval. Where the rest takes up much of the interval, the rows may take so long that the rest is no more than a fifth of the
epoch; otherwise the job would be busy with epochs instead of rows. Sources read the share from a small file, because each source
runs in its own process.
"""

from __future__ import annotations

import json
import os
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from statistics import median

SMALLEST = 1 / 1024
REMEMBERED = 12
"""The number of recent epochs from which the costs of an epoch are worked out."""
COLD = 2
"""The number of first epochs with rows that are not counted: the JVM is still compiling."""
_APART = 1.25
"""The factor by which the rows of two epochs must differ to tell the cost of a row."""
_ROWS_TO_REST = 4
"""The rows of an epoch may take this many times what it costs besides."""


@dataclass(frozen=True)
class Epoch:
    """The rows that an epoch brought, and the time it took."""

    rows: int
    ms: int


@dataclass(frozen=True)
class Costs:
    """The cost of epochs: milliseconds for each row, and milliseconds besides."""

    row_ms: float
    rest_ms: float

    def rows_within(self, interval_ms: int) -> float:
        """Return the number of rows that an epoch may bring."""
        allowed = max(interval_ms - self.rest_ms, _ROWS_TO_REST * self.rest_ms)
        return allowed / self.row_ms if self.row_ms else float("inf")


def costs_of(epochs: Sequence[Epoch], row_ms: float | None = None) -> Costs:
    """Return the costs that these epochs show.

    ``row_ms`` is used if their numbers of rows are too similar to tell the cost of a row. Medians are taken, so a few epochs that
    took long for a reason of their own do not count. If nothing is known yet of the cost of a row, rows are taken to cost all of
    it: the next epoch, with fewer rows, shows how far that is true.
    """
    slopes = [
        (more.ms - fewer.ms) / (more.rows - fewer.rows)
        for fewer, more in combinations(sorted(epochs, key=lambda epoch: epoch.rows), 2)
        if more.rows >= fewer.rows * _APART
    ]
    most = median(epoch.ms / epoch.rows for epoch in epochs)
    row_ms = max(0.0, min(most, median(slopes))) if slopes else min(most, most if row_ms is None else row_ms)
    return Costs(row_ms, max(0.0, median(epoch.ms - row_ms * epoch.rows for epoch in epochs)))


def next_share(share: float, rows: int, allowed: float) -> float:
    """Return the share of the next epoch. The last epoch brought ``rows`` rows, and the next may bring ``allowed``.

    The share at most halves or doubles, and small changes are ignored.
    """
    factor = allowed / rows
    if 1 / _APART <= factor <= _APART:
        return share
    return min(1.0, max(SMALLEST, share * min(2.0, max(0.5, factor))))


class Admission:
    """The runner's side: it works out the share after each epoch and writes it into the file when it changes."""

    def __init__(self, path: Path, interval_ms: int) -> None:
        """Create it for a snapshot interval; with ``interval_ms`` 0 an epoch may take any time."""
        self._path, self._interval_ms = path, interval_ms
        self._epochs: deque[Epoch] = deque(maxlen=REMEMBERED)
        self._row_ms: float | None = None
        self._just_changed, self._cold = False, COLD
        self.share = 1.0
        path.unlink(missing_ok=True)

    def epoch_took(self, rows: int, milliseconds: int) -> bool:
        """Take note of an epoch with rows; True if the share changed."""
        if not self._interval_ms:
            return False
        if self._cold:
            self._cold -= 1
            return False
        self._epochs.append(Epoch(rows, milliseconds))
        costs = costs_of(self._epochs, self._row_ms)
        self._row_ms = costs.row_ms
        if self._just_changed:
            # Spark may have planned this epoch before: it tells nothing of the new share.
            self._just_changed = False
            return False
        share = next_share(self.share, rows, costs.rows_within(self._interval_ms))
        if share == self.share:
            return False
        self.share, self._just_changed = share, True
        temporary = self._path.with_suffix(".tmp")
        temporary.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_text(json.dumps({"share": share}))
        temporary.rename(self._path)
        return True


class Throttle:
    """The source's side: ``limited(n)`` is the share of n that the file allows, at least 1. Without a file it is n."""

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
