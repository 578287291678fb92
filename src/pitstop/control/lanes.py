"""Work that may be slow, off the control loop's thread: one thing after another within a lane, lanes side by side."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable

Work = Callable[[], None]
Spawn = Callable[[Work], object]
"""Runs a function soon, elsewhere."""


def in_thread(work: Work) -> None:
    """Run a function in a thread that does not keep the process from ending."""
    threading.Thread(target=work, daemon=True, name="act").start()


class Lanes:
    """Lanes of work. The work in a lane is done in order, even after a failure; no lane ever waits for another."""

    def __init__(self, spawn: Spawn) -> None:
        self._spawn = spawn
        self._lanes: dict[str, deque[Work]] = {}
        self._lock = threading.Condition()

    def put(self, lane: str, work: Work) -> None:
        """Add work to a lane, behind all that was put there before."""
        with self._lock:
            waiting = self._lanes.get(lane)
            if waiting is not None:
                waiting.append(work)
                return
            self._lanes[lane] = deque([work])
        try:
            self._spawn(lambda: self._do_next(lane))
        except RuntimeError:  # no thread is left: nothing is kept that nobody does, and whoever put it does so again
            with self._lock:
                del self._lanes[lane]
                self._lock.notify_all()
            raise

    def busy(self, lane: str) -> bool:
        """Return True while work of the lane is being done or waits."""
        with self._lock:
            return lane in self._lanes

    def settle(self, seconds: float | None = None) -> bool:
        """Wait until no work is left, for at most ``seconds``; return False if some is left. None: wait without a limit."""
        with self._lock:
            return self._lock.wait_for(lambda: not self._lanes, seconds)

    def _do_next(self, lane: str) -> None:
        with self._lock:
            work = self._lanes[lane][0]
        try:
            work()
        finally:
            if self._has_more_after(lane):
                try:
                    self._spawn(lambda: self._do_next(lane))
                except RuntimeError:  # a machine without threads left: this one goes on
                    self._do_next(lane)

    def _has_more_after(self, lane: str) -> bool:
        """Note that the first work of a lane is over; return True if there is more."""
        with self._lock:
            waiting = self._lanes[lane]
            waiting.popleft()
            if not waiting:
                del self._lanes[lane]
                self._lock.notify_all()
            return bool(waiting)
