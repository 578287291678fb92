"""Time that passes when a test says so."""

from __future__ import annotations


class ManualClock:
    """kit.clock.Clock that is moved by hand. It begins at some second of 2001, its monotonic clock at 0."""

    def __init__(self, now: float = 1_000_000_000.0) -> None:
        self._now, self._monotonic = now, 0.0

    def now(self) -> float:
        return self._now

    def monotonic(self) -> float:
        return self._monotonic

    def advance(self, seconds: float) -> None:
        """Time passes."""
        self._now += seconds
        self._monotonic += seconds

    def set_by(self, seconds: float) -> None:
        """The wall clock is set forwards or (less than 0) backwards, or the machine has slept: no time passes for processes."""
        self._now += seconds
