"""An ear for runs that report their progress, while a reader wants to know."""

from __future__ import annotations

import threading
from collections.abc import Callable

import structlog

from pitstop.control.ports.wake import Waiter

PAUSE_SECONDS = 0.05
"""The time within which all reports cause one call."""
LOOK_SECONDS = 1.0
"""The longest that the ear's thread goes on after it is closed."""

log = structlog.get_logger("pitstop.events")


class Ear:
    """Calls ``callback`` in a separate thread after each report, from :meth:`open` to :meth:`close`.

    Without it only time is lost: readers that follow changes also look now and then.
    """

    def __init__(self, waiter: Callable[[], Waiter], callback: Callable[[], None]) -> None:
        self._waiter, self._callback = waiter, callback
        self._closed: threading.Event | None = None

    def open(self) -> None:
        """Start to hear."""
        if self._closed is None:
            self._closed = threading.Event()
            threading.Thread(target=self._hear, args=(self._closed,), name="ear", daemon=True).start()

    def close(self) -> None:
        """Stop hearing."""
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
                    self._callback()
                    closed.wait(PAUSE_SECONDS)
        finally:
            waiter.close()
