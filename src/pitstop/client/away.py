"""Servers that are away for a while, for who follows what happens there."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from pitstop.errors import PitstopError

PAUSES = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
"""How many seconds after the first, second … failure in a row the server is asked again."""

Away = Callable[[PitstopError, float], object]
"""What hears at each failure why, and for how many seconds the server has been away. What it raises ends the following."""


class Absence:
    """How long a server has been away by now."""

    def __init__(self, told: Away, stop: threading.Event) -> None:
        """``stop``: nobody waits any more once it is set."""
        self._told, self._stop = told, stop
        self._failures, self._since = 0, 0.0

    def wait(self, error: PitstopError) -> None:
        """It does not answer: return when it is to be asked again."""
        now = time.monotonic()
        self._since = self._since if self._failures else now
        self._told(error, now - self._since)
        self._stop.wait(PAUSES[min(self._failures, len(PAUSES) - 1)])
        self._failures += 1

    def over(self) -> None:
        """It has answered."""
        self._failures = 0
