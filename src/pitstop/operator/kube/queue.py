"""A queue of keys to look at. A key is queued once however often it is added, and handled by one worker at a time.

Keys may have places that hold their workers up, such as a cluster whose server hangs. Each place has room for so many workers.
"""

from __future__ import annotations

import heapq
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)

FIRST_SECONDS, MOST_SECONDS = 0.2, 60.0
"""The pause before a failed key comes again: after the first failure, and at most."""


Places = Sequence[tuple[Hashable, int]]
"""The places of a key, each with the number of workers that there is room for."""


def _nowhere(_: object) -> Places:
    return ()


class WorkQueue(Generic[K]):
    """Keys in the order in which they were added, except that a key waits, and lets others pass, while a place of it is full.

    ``clock`` returns seconds that never go back. ``places_of`` must not add keys.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic, places_of: Callable[[K], Places] = _nowhere) -> None:
        self._clock, self._places_of = clock, places_of
        self._changed = threading.Condition()
        self._waiting: dict[K, None] = {}
        self._at_work: dict[K, Places] = {}
        self._workers_at: Counter[Hashable] = Counter()
        self._again: set[K] = set()
        self._later: list[tuple[float, int, K]] = []
        self._due: dict[K, float] = {}
        """The time at which a key comes by itself. Any other time of the key in ``_later`` is out of date."""
        self._failures: dict[K, int] = {}
        self._number = 0
        self._closed = False

    def add(self, key: K) -> None:
        """Queue a key. A key that is being handled now comes once more afterwards."""
        with self._changed:
            self._add(key)

    def add_after(self, key: K, seconds: float) -> None:
        """Queue a key after so many seconds. If the key is taken sooner, it does not come again for this."""
        with self._changed:
            due = self._clock() + seconds
            if due >= self._due.get(key, float("inf")):
                return
            self._number += 1
            self._due[key] = due
            heapq.heappush(self._later, (due, self._number, key))
            self._changed.notify()

    def take(self) -> K | None:
        """Wait for the next key, and return it; None once the queue is closed. The caller gives the key back with ``done``."""
        with self._changed:
            while not self._closed:
                self._bring_due()
                if (next_one := self._next()) is not None:
                    key, places = next_one
                    del self._waiting[key]
                    self._due.pop(key, None)
                    self._at_work[key] = places
                    self._workers_at.update(place for place, _ in places)
                    return key
                self._changed.wait(self._later[0][0] - self._clock() if self._later else None)
            return None

    def done(self, key: K, failed: bool = False) -> None:
        """Give back a key that was handled. After a failure it comes again by itself, after a pause that doubles each time."""
        with self._changed:
            self._leave(key)
            if key in self._again:
                self._again.discard(key)
                self._add(key)
            if not failed:
                self._failures.pop(key, None)
                return
            count = self._failures[key] = self._failures.get(key, 0) + 1
        self.add_after(key, back_off(count))

    def close(self) -> None:
        """Close the queue: ``take`` returns None from now on."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def __len__(self) -> int:
        """Return the number of keys that wait to be handled now."""
        with self._changed:
            return len(self._waiting)

    def _next(self) -> tuple[K, Places] | None:
        for key in self._waiting:
            places = self._places_of(key)
            if all(self._workers_at[place] < most for place, most in places):
                return key, places
        return None

    def _leave(self, key: K) -> None:
        places = self._at_work.pop(key, ())
        self._workers_at.subtract(place for place, _ in places)
        self._workers_at += Counter()  # without the places where nobody is
        if places and self._waiting:
            self._changed.notify()  # a key may have waited for this room

    def _add(self, key: K) -> None:
        if key in self._at_work:
            self._again.add(key)
        elif key not in self._waiting:
            self._waiting[key] = None
            self._changed.notify()

    def _bring_due(self) -> None:
        now = self._clock()
        while self._later and (self._later[0][0] <= now or self._due.get(self._later[0][2]) != self._later[0][0]):
            due, _, key = heapq.heappop(self._later)
            if self._due.get(key) == due:
                del self._due[key]
                self._add(key)


def back_off(failures: int) -> float:
    """Return the seconds to wait after so many failures in a row. They vary at random, so that keys come back apart."""
    seconds = min(MOST_SECONDS, FIRST_SECONDS * 2.0 ** min(failures - 1, 30))
    return seconds * random.uniform(0.8, 1.0)
