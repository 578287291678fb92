"""Window definitions. Times are milliseconds inside, text or seconds or timedelta outside."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from pitstop.errors import UsageError
from pitstop.kit.durations import milliseconds, text

Duration = str | int | float | timedelta


@dataclass(frozen=True)
class Window:
    """A tumbling window is a sliding one whose slide equals its size (jet.md §3.4)."""

    size_ms: int
    slide_ms: int

    @property
    def tumbling(self) -> bool:
        return self.size_ms == self.slide_ms

    def describe(self) -> str:
        if self.tumbling:
            return f"tumbling({text(self.size_ms)})"
        return f"sliding({text(self.size_ms)}, {text(self.slide_ms)})"


def tumbling(size: Duration) -> Window:
    """Windows of ``size`` that touch and do not overlap: ``tumbling("1 minute")``."""
    ms = milliseconds(size, "window size")
    if ms == 0:
        raise UsageError("A window's size must be more than 0.")
    return Window(ms, ms)


def sliding(size: Duration, slide: Duration) -> Window:
    """Windows of ``size``, one ending every ``slide``; size must be a multiple of slide.

    State is kept in frames of the slide, so an event is touched once however many windows cover it.
    """
    size_ms, slide_ms = milliseconds(size, "window size"), milliseconds(slide, "window slide")
    if slide_ms == 0 or size_ms == 0:
        raise UsageError("A window's size and slide must be more than 0.")
    if size_ms % slide_ms:
        raise UsageError(f"A sliding window's size must be a multiple of its slide: {text(size_ms)} is none of {text(slide_ms)}.")
    return Window(size_ms, slide_ms)
