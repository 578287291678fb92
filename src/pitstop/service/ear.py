"""Hears that runs have reported their progress, while somebody wants to know."""

from __future__ import annotations

import threading
from collections.abc import Callable

import structlog

from pitstop.control.ports import Waiter

PAUSE_SECONDS = 0.05
"""What is reported within this time is told once."""
LOOK_SECONDS = 1.0
"""It ends so long after it is to hear no more."""

log = structlog.get_logger("pitstop.events")


class Ear:
    """Calls ``told`` in a thread of its own after each report, from :meth:`open` to :meth:`close`.

    Without it nothing is lost but time: who follows what changes looks now and then anyway.
    """

    def __init__(self, waiter: Callable[[], Waiter], told: Callable[[], None]) -> None:
        self._waiter, self._told = waiter, told
        self._closed: threading.Event | None = None

    def open(self) -> None:
        """Hear from now on."""
        if self._closed is None:
            self._closed = threading.Event()
            threading.Thread(target=self._hear, args=(self._closed,), name="ear", daemon=True).start()

    def close(self) -> None:
        """Hear no more."""
        if self._closed is not None:
            self._closed.set()
            self._closed = None

    def _hear(self, closed: threading.Event) -> None:
        try:
            waiter = self._waiter()
        except OSError as error:
            log.warning("progress is seen late: nobody can tell that it is reported", reason=str(error))
            return
        try:
            while not closed.is_set():
                if waiter.wait(LOOK_SECONDS):
                    self._told()
                    closed.wait(PAUSE_SECONDS)
        finally:
            waiter.close()
