"""The interest of a query's caller, as the thread sees it that carries the query out."""

from __future__ import annotations

import threading
from collections.abc import Callable

MOST_UNTAKEN = 16
"""The number of a query's batches that are sent before somebody has to take one."""


class Asking:
    """The interest in a query's rows: somebody asks for them, and takes them, until it is over."""

    def __init__(self) -> None:
        self._over = threading.Event()
        self._room = threading.Semaphore(MOST_UNTAKEN)
        self._then: list[Callable[[], None]] = []
        self._ending = threading.Lock()
        self.late = False
        """True if nobody asks any more because the query has had its time."""

    @property
    def over(self) -> bool:
        """True once nobody asks any more."""
        return self._over.is_set()

    def wait(self, seconds: float) -> bool:
        """Return True once nobody asks any more, or False after this many seconds."""
        return self._over.wait(seconds)

    def then(self, call: Callable[[], None]) -> None:
        """Call this once nobody asks any more, at once if that is so already."""
        with self._ending:
            if not self.over:
                self._then.append(call)
                return
        call()

    def taken(self) -> None:
        """Note that somebody has taken a batch."""
        self._room.release()

    def wait_for_room(self) -> bool:
        """Wait, before a batch is sent, until there is room for it; return False if nobody asks any more."""
        if not self.over:
            self._room.acquire()
        return not self.over

    def end(self, late: bool = False) -> None:
        """Note that nobody asks any more; ``late``: the query has had its time."""
        with self._ending:
            if self.over:
                return
            self.late = late
            self._over.set()
        self._room.release()
        for call in self._then:
            call()
