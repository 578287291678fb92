"""The pace of a job's epochs, which follows from the latency that its results may have and from the time that epochs take."""

from __future__ import annotations

import zlib
from collections import deque

EPOCHS = 8
"""The number of last epochs of which the longest counts."""
MARGIN = 1.5
"""The next epoch may take so many times as long as the longest of the last ones, and its results are still out in time."""
SHORTEST, LONGEST = 0.5, 0.9
"""The bounds of the time between the beginnings of two epochs, as parts of the latency."""
SPREAD = 0.1
STEP = 0.05
"""The smallest change of the pace, as a part of it, that is worth telling Spark."""


class Pace:
    """The pace of one query.

    A row waits for the next epoch at most for the time between two of them, and then for the results of that epoch. Until it is
    known how long epochs take, half of the latency is for each. ``latency_ms`` 0: no time lies between two epochs.

    Spark begins the epochs of all queries of one pace at the same moments. So that jobs do not wait for one another at each of
    them, the pace of a job is up to a tenth shorter than it could be, by its id.
    """

    def __init__(self, latency_ms: int, job_id: str) -> None:
        self._latency_ms, self._job_id = latency_ms, job_id
        self._durations: deque[int] = deque(maxlen=EPOCHS)
        self.interval_ms = self._spread(SHORTEST * latency_ms)
        """The time from the beginning of an epoch to that of the next one, in milliseconds."""

    def note(self, epoch_ms: int) -> bool:
        """Take note of the time that an epoch has taken; return True if the interval changes by that."""
        self._durations.append(epoch_ms)
        rest = self._latency_ms - MARGIN * max(self._durations)
        interval_ms = self._spread(min(max(rest, SHORTEST * self._latency_ms), LONGEST * self._latency_ms))
        if abs(interval_ms - self.interval_ms) <= STEP * self.interval_ms:
            return False
        self.interval_ms = interval_ms
        return True

    def _spread(self, interval_ms: float) -> int:
        return int(interval_ms) - zlib.crc32(self._job_id.encode()) % max(1, int(SPREAD * interval_ms))
