"""The end of a session window, which for Spark is a microsecond early.

Spark merges sessions that touch. So each ends earlier by the smallest step of time, and only sessions touch whose events are less
than the timeout apart.
"""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F


def timeout_in_state(timeout_ms: int) -> str:
    """Return the time after an event at which its session ends for Spark, as an interval."""
    return f"{timeout_in_state_us(timeout_ms)} microseconds"


def timeout_in_state_us(timeout_ms: int) -> int:
    """Return the time of :func:`timeout_in_state` in microseconds."""
    return timeout_ms * 1000 - 1


def end_as_shown(end: Column) -> Column:
    """Return the end that is shown to people for the end that Spark keeps."""
    return F.timestamp_micros(F.unix_micros(end) + 1)


def end_in_state(end: Column) -> Column:
    """Return the end that Spark keeps for the end that is shown to people."""
    return F.timestamp_micros(F.unix_micros(end) - 1)
