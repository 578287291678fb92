"""Time as a value that can be replaced in tests, and moments as text."""

from __future__ import annotations

import re
import time
from datetime import UTC, datetime
from typing import Protocol

_CYCLE_YEARS, _CYCLE_SECONDS = 400, 146_097 * 86_400
"""The time after which the calendar repeats itself."""
_MOMENT = re.compile(r"([+-]?\d{4,})(-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?)(?:Z|\+00:00)?")


class Clock(Protocol):
    """Wall clock and monotonic clock, both in seconds."""

    def now(self) -> float:
        """Return the seconds since the epoch."""
        ...

    def monotonic(self) -> float:
        """Return the seconds from an arbitrary start; they never go backwards."""
        ...


class SystemClock:
    """The machine's clocks."""

    def now(self) -> float:
        return time.time()

    def monotonic(self) -> float:
        return time.monotonic()


def iso(seconds: float | None) -> str | None:
    """Return a moment as ``2020-03-15T14:37:01.011`` in UTC, the layout of Jet's lists; None stays None.

    A year beyond Python's, 1 to 9999, is ISO 8601 with more digits: ``+057971-02-27T02:00:00.000``, as JavaScript reads it.
    """
    if seconds is None:
        return None
    try:
        return _text(datetime.fromtimestamp(seconds, UTC))
    except (ValueError, OverflowError, OSError):
        cycles, rest = divmod(seconds, _CYCLE_SECONDS)
        within = datetime.fromtimestamp(rest, UTC)
        return f"{within.year + int(cycles) * _CYCLE_YEARS:+07d}{_text(within)[4:]}"


def milliseconds_of(moment: str) -> int:
    """Return the milliseconds since the epoch of a moment in ISO 8601, in UTC, of any year. ValueError if it is none."""
    parts = _MOMENT.fullmatch(moment)
    if parts is None:
        raise ValueError(f"{moment!r} is no moment in ISO 8601")
    cycles, year = divmod(int(parts[1]) - 2000, _CYCLE_YEARS)
    within = datetime.fromisoformat(f"{year + 2000}{parts[2]}").replace(tzinfo=UTC)
    return round(within.timestamp() * 1000) + cycles * _CYCLE_SECONDS * 1000


def days_ahead(moment_ms: int | None, now: float) -> int:
    """Return the whole days by which a moment, in milliseconds since the epoch, is ahead of now; 0 if it is not, or is None."""
    return 0 if moment_ms is None else max(0, (moment_ms - round(now * 1000)) // 86_400_000)


def _text(moment: datetime) -> str:
    return moment.replace(tzinfo=None).isoformat(timespec="milliseconds")
