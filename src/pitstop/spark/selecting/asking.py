"""Whoever has asked for a query, as the thread sees them that carries it out."""

from __future__ import annotations

import threading
from collections.abc import Callable

MOST_UNTAKEN = 16
"""So many batches of a query are told before somebody has to take one."""


class Asking:
    """Whether somebody still asks for the rows of a query, and takes them."""

    def __init__(self) -> None:
        self._over = threading.Event()
        self._room = threading.Semaphore(MOST_UNTAKEN)
        self._then: list[Callable[[], None]] = []
        self._ending = threading.Lock()
        self.late = False
        """Nobody does because the query has had its time."""

    @property
    def over(self) -> bool:
        """Nobody does."""
        return self._over.is_set()

    def wait(self, seconds: float) -> bool:
        """True once nobody does; False after so long."""
        return self._over.wait(seconds)

    def then(self, call: Callable[[], None]) -> None:
        """Call it once nobody does."""
        with self._ending:
            if not self.over:
                self._then.append(call)
                return
        call()

    def taken(self) -> None:
        """Somebody has taken a batch."""
        self._room.release()

    def wait_for_room(self) -> bool:
        """Before a batch is told: True once there is room for it, False if nobody asks any more."""
        if not self.over:
            self._room.acquire()
        return not self.over

    def end(self, late: bool = False) -> None:
        """Nobody does any more; ``late``: the query has had its time."""
        with self._ending:
            if self.over:
                return
            self.late = late
            self._over.set()
        self._room.release()
        for call in self._then:
            call()
