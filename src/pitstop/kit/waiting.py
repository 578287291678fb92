"""Waits for conditions that nobody signals."""

from __future__ import annotations

import time
from collections.abc import Callable


def wait_until(condition: Callable[[], bool], timeout: float, step: float = 0.005) -> bool:
    """Poll a condition every ``step`` seconds; True as soon as it holds, False if it does not within ``timeout`` seconds."""
    deadline = time.monotonic() + timeout
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(step)
    return True
