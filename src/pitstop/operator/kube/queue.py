"""What is to be looked at again, each thing once however often it was asked for, and by one worker at a time."""

from __future__ import annotations

import heapq
import random
import threading
import time
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)

FIRST_SECONDS, MOST_SECONDS = 0.2, 60.0
"""How long who has failed waits: at first, and at most."""


class WorkQueue(Generic[K]):
    """Keys in the order in which they were asked for. ``clock``: seconds that never go back."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._changed = threading.Condition()
        self._waiting: dict[K, None] = {}
        self._at_work: set[K] = set()
        self._again: set[K] = set()
        self._later: list[tuple[float, int, K]] = []
        self._due: dict[K, float] = {}
        """The one time at which a key comes by itself; what stands otherwise in ``_later`` is out of date."""
        self._failures: dict[K, int] = {}
        self._number = 0
        self._closed = False

    def add(self, key: K) -> None:
        """Look at it soon; once more if that is being done just now."""
        with self._changed:
            self._add(key)

    def add_after(self, key: K, seconds: float) -> None:
        """Look at it after so long, or sooner if somebody else asks for it; then not once more for this."""
        with self._changed:
            due = self._clock() + seconds
            if due >= self._due.get(key, float("inf")):
                return
            self._number += 1
            self._due[key] = due
            heapq.heappush(self._later, (due, self._number, key))
            self._changed.notify()

    def take(self) -> K | None:
        """The next key, once there is one; None once the queue is closed. Whoever takes one gives it back with ``done``."""
        with self._changed:
            while not self._closed:
                self._bring_due()
                if self._waiting:
                    key = next(iter(self._waiting))
                    del self._waiting[key]
                    self._due.pop(key, None)
                    self._at_work.add(key)
                    return key
                self._changed.wait(self._later[0][0] - self._clock() if self._later else None)
            return None

    def done(self, key: K, failed: bool = False) -> None:
        """It was looked at. After a failure it comes again by itself, each time twice as late."""
        with self._changed:
            self._at_work.discard(key)
            if key in self._again:
                self._again.discard(key)
                self._add(key)
            if not failed:
                self._failures.pop(key, None)
                return
            count = self._failures[key] = self._failures.get(key, 0) + 1
        self.add_after(key, back_off(count))

    def close(self) -> None:
        """Whoever takes gets None from now on."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def __len__(self) -> int:
        """How many wait to be looked at now."""
        with self._changed:
            return len(self._waiting)

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
    """Seconds to wait after so many failures in a row; a little by chance, so that not all come back at once."""
    seconds = min(MOST_SECONDS, FIRST_SECONDS * 2.0 ** min(failures - 1, 30))
    return seconds * random.uniform(0.8, 1.0)
