"""Waiting for a server that is away, in code that follows its events."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from pitstop.errors import PitstopError

PAUSES = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
"""The pauses in seconds before the server is asked again, after the first, second … failure in a row. The last one repeats."""

Away = Callable[[PitstopError, float], object]
"""A callback for each failure, with its error and the seconds that the server has been away. What it raises ends the wait."""


class Absence:
    """The time that a server has been away, counted from the first failure in a row."""

    def __init__(self, call: Away, stop: threading.Event) -> None:
        """``stop`` ends every wait once it is set."""
        self._call, self._stop = call, stop
        self._failures, self._since = 0, 0.0

    def wait(self, error: PitstopError) -> None:
        """Report a failure, and return when the server is to be asked again."""
        now = time.monotonic()
        self._since = self._since if self._failures else now
        self._call(error, now - self._since)
        self._stop.wait(PAUSES[min(self._failures, len(PAUSES) - 1)])
        self._failures += 1

    def over(self) -> None:
        """End the absence: the server has answered."""
        self._failures = 0
