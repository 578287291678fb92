"""The asker, who waits for the present work. Work that nobody waits for any more can be ended."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from contextvars import ContextVar


class Asker:
    """An asker, who waits for an answer until they leave."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._ends: list[Callable[[], object]] = []
        self._left = False

    def leave(self) -> None:
        """Note that the asker has left, and end the work that they waited for."""
        with self._lock:
            self._left, ends = True, list(self._ends)
        for end in ends:
            end()

    @contextlib.contextmanager
    def ending(self, end: Callable[[], object]) -> Iterator[None]:
        """Return a context in which ``end`` is called when the asker leaves, or at once if they have left."""
        with self._lock:
            self._ends.append(end)
            has_left = self._left
        try:
            if has_left:
                end()
            yield
        finally:
            with self._lock:
                self._ends.remove(end)


ASKER: ContextVar[Asker | None] = ContextVar("pitstop_asker", default=None)
"""The asker who waits for this thread or task; None: one who does not leave."""


def ended_when_nobody_waits(end: Callable[[], object]) -> contextlib.AbstractContextManager[None]:
    """Return a context in which ``end`` is called once nobody waits for this thread any more."""
    asker = ASKER.get()
    return contextlib.nullcontext() if asker is None else asker.ending(end)
