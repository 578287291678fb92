"""Whoever waits for what is done at this moment: work that nobody waits for any more can be ended."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from contextvars import ContextVar


class Asker:
    """Somebody who waits for an answer, until they leave."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._ends: list[Callable[[], object]] = []
        self._left = False

    def leave(self) -> None:
        """They wait no more: what they wait for is ended."""
        with self._lock:
            self._left, ends = True, list(self._ends)
        for end in ends:
            end()

    @contextlib.contextmanager
    def ending(self, end: Callable[[], object]) -> Iterator[None]:
        """Within this, ``end`` is called once they leave, or at once if they have left."""
        with self._lock:
            self._ends.append(end)
            left = self._left
        try:
            if left:
                end()
            yield
        finally:
            with self._lock:
                self._ends.remove(end)


ASKER: ContextVar[Asker | None] = ContextVar("pitstop_asker", default=None)
"""Who waits for what this thread or task does; None: somebody who does not leave."""


def ended_when_nobody_waits(end: Callable[[], object]) -> contextlib.AbstractContextManager[None]:
    """Within this, ``end`` is called once nobody waits any more for what this thread does."""
    asker = ASKER.get()
    return contextlib.nullcontext() if asker is None else asker.ending(end)
