"""The time that the queries of each viewer have taken in the last hour."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

HOUR = 3600.0
LEAST_SECONDS = 1.0
"""The time that a query must at least have to be worth its start."""
_HALVINGS = 30


@dataclass
class _Query:
    user: str
    began: float
    ended: float | None = None

    def within(self, now: float, seconds: float) -> float:
        """Return how long it has run within so many seconds up to now."""
        ended = now if self.ended is None else self.ended
        return max(0.0, ended - max(self.began, now - seconds))


class SpentSeconds:
    """The times of queries by viewer, of which each may take ``most`` seconds an hour. ``clock`` returns seconds."""

    def __init__(self, most: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.most, self._clock = most, clock
        self._lock = threading.Lock()
        self._queries: dict[int, _Query] = {}

    def begin(self, number: int, user: str) -> None:
        """Note the beginning of a query."""
        with self._lock:
            self._queries[number] = _Query(user, self._clock())

    def end(self, number: int) -> None:
        """Note the end of a query. Do nothing if it has ended before."""
        with self._lock:
            query = self._queries.get(number)
            if query is not None and query.ended is None:
                query.ended = self._clock()

    def left(self, user: str) -> float:
        """Return the seconds that the next query of a viewer may take: LEAST_SECONDS or more, or 0."""
        with self._lock:
            now = self._clock()
            self._queries = {
                number: each for number, each in self._queries.items() if each.ended is None or each.within(now, HOUR)
            }
            seconds = self.most - self._spent(user, now, HOUR)
            return seconds if seconds >= LEAST_SECONDS else 0.0

    def again_in(self, user: str) -> float:
        """Return the seconds until a viewer may ask again, if no query of theirs runs then."""
        with self._lock:
            now, soonest, latest = self._clock(), 0.0, HOUR
            for _ in range(_HALVINGS):
                middle = (soonest + latest) / 2
                if self._spent(user, now, HOUR - middle) <= self.most - LEAST_SECONDS:
                    latest = middle
                else:
                    soonest = middle
            return latest

    def _spent(self, user: str, now: float, seconds: float) -> float:
        return sum(each.within(now, seconds) for each in self._queries.values() if each.user == user)
