"""Durations as users write them: ``"4 minutes"``, ``"15 seconds"``, ``"250 ms"``, ``10``."""

from __future__ import annotations

import re
from datetime import timedelta

from pitstop.errors import UsageError

Duration = str | int | float | timedelta
"""A text such as ``"4 minutes"``, a number of seconds, or a timedelta."""

_UNITS_MS = {
    "ms": 1, "millisecond": 1, "milliseconds": 1,
    "s": 1000, "sec": 1000, "second": 1000, "seconds": 1000,
    "m": 60_000, "min": 60_000, "minute": 60_000, "minutes": 60_000,
    "h": 3_600_000, "hour": 3_600_000, "hours": 3_600_000,
    "d": 86_400_000, "day": 86_400_000, "days": 86_400_000,
}  # fmt: skip
LONGEST_MS = 100 * 366 * 86_400_000
"""A hundred years, in milliseconds. A longer time is a mistake, and moments after it would be beyond the calendar."""
UNLIMITED = "unlimited"
"""The word by which users say that there is no limit."""
_TEXT = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([a-z]+)\s*", re.IGNORECASE)


def milliseconds(value: str | int | float | timedelta, what: str = "duration") -> int:
    """Return a duration in whole milliseconds. Numbers are seconds. ``what`` names it in the error."""
    if isinstance(value, timedelta):
        result: float = value.total_seconds() * 1000
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        result = value * 1000
    else:
        match = _TEXT.fullmatch(str(value))
        unit = _UNITS_MS.get(match.group(2).lower()) if match else None
        if match is None or unit is None:
            raise UsageError(f"{value!r} is no {what}: write a number and a unit, such as '10 seconds' or '4 minutes'.")
        result = float(match.group(1)) * unit
    if result < 0:
        raise UsageError(f"The {what} can't be negative: {value!r}.")
    if not result <= LONGEST_MS:  # NaN is not, either
        raise UsageError(f"The {what} is a hundred years at most, not {value!r}.")
    return round(result)


def text(ms: int) -> str:
    """Return a duration in its largest whole unit, as Spark reads it: ``240000`` -> ``4 minutes``."""
    for unit, size in (("days", 86_400_000), ("hours", 3_600_000), ("minutes", 60_000), ("seconds", 1000)):
        if ms and ms % size == 0:
            return f"{ms // size} {unit}"
    return f"{ms} milliseconds"


def words(ms: int) -> str:
    """Return a duration for people: ``240000`` -> ``4 minutes``, ``60000`` -> ``1 minute``. Plans keep :func:`text`."""
    duration = text(ms)
    return duration.removesuffix("s") if duration.startswith("1 ") else duration


def short(ms: int) -> str:
    """Return a duration in the fewest letters: ``240000`` -> ``4min``."""
    for unit, size in (("d", 86_400_000), ("h", 3_600_000), ("min", 60_000), ("s", 1000)):
        if ms and ms % size == 0:
            return f"{ms // size}{unit}"
    return f"{ms}ms"
