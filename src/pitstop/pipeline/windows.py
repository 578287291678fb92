"""Window definitions. Times are milliseconds inside, text or seconds or timedelta outside."""

from __future__ import annotations

from dataclasses import dataclass

from pitstop.errors import UsageError
from pitstop.kit.durations import Duration, milliseconds, text


@dataclass(frozen=True)
class Window:
    """A sliding or tumbling window. A tumbling one slides by its size."""

    size_ms: int
    slide_ms: int

    @property
    def tumbling(self) -> bool:
        return self.size_ms == self.slide_ms

    def describe(self) -> str:
        if self.tumbling:
            return f"tumbling({text(self.size_ms)})"
        return f"sliding({text(self.size_ms)}, {text(self.slide_ms)})"


@dataclass(frozen=True)
class Session:
    """A window that lasts while events of its key follow one another within the timeout."""

    timeout_ms: int

    def describe(self) -> str:
        return f"session({text(self.timeout_ms)})"


def tumbling(size: Duration) -> Window:
    """Return windows of ``size`` that touch and do not overlap: ``tumbling("1 minute")``."""
    ms = _positive(size, "A window's size")
    return Window(ms, ms)


def sliding(size: Duration, slide: Duration) -> Window:
    """Return windows of ``size``, one ending every ``slide``; size must be a multiple of slide.

    State is kept in frames of the slide: an event is touched once, even if many windows cover it.
    """
    size_ms, slide_ms = _positive(size, "A window's size"), _positive(slide, "A window's slide")
    if size_ms % slide_ms:
        raise UsageError(
            f"A sliding window's size must be a multiple of its slide: {text(size_ms)} is not a multiple of {text(slide_ms)}."
        )
    return Window(size_ms, slide_ms)


def session(timeout: Duration) -> Session:
    """Return windows of a key's events that follow one another in less than ``timeout``. One ends ``timeout`` after its last.

    Windows that merely touch stay apart.
    """
    return Session(_positive(timeout, "A session's timeout"))


def _positive(duration: Duration, what: str) -> int:
    ms = milliseconds(duration, what[2:])
    if ms == 0:
        raise UsageError(f"{what} must be more than 0.")
    return ms
