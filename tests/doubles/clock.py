"""A clock that a test moves."""

from __future__ import annotations


class ManualClock:
    """A kit.clock.Clock that is moved by hand. It begins at a second of 2001, its monotonic clock at 0."""

    def __init__(self, now: float = 1_000_000_000.0) -> None:
        self._now, self._monotonic = now, 0.0

    def now(self) -> float:
        return self._now

    def monotonic(self) -> float:
        return self._monotonic

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self._now += seconds
        self._monotonic += seconds

    def set_by(self, seconds: float) -> None:
        """Set the wall clock forwards or (less than 0) backwards, or let the machine sleep. No time passes for processes."""
        self._now += seconds
