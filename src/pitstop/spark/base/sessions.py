"""The end of a session. Spark merges sessions that touch, so inside it each ends a microsecond, the smallest step of time, early.

Then only those touch whose events are less than the timeout apart.
"""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F


def timeout_in_state(timeout_ms: int) -> str:
    """How long after an event its session ends for Spark, as an interval."""
    return f"{timeout_in_state_us(timeout_ms)} microseconds"


def timeout_in_state_us(timeout_ms: int) -> int:
    """The same as a number of microseconds."""
    return timeout_ms * 1000 - 1


def end_as_shown(end: Column) -> Column:
    """The end as people know it, of the end that Spark has."""
    return F.timestamp_micros(F.unix_micros(end) + 1)


def end_in_state(end: Column) -> Column:
    """The end that Spark has, of the end as people know it."""
    return F.timestamp_micros(F.unix_micros(end) - 1)
