"""Rows that are late for windows, found as they arrive (LateRows.java): Spark sees them only after they are combined."""

from __future__ import annotations

import threading

from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F

from pitstop.spark.internals.java_code import driver_class, new
from pitstop.spark.internals.jvm import session_of

LATE = "late:"
"""The prefix of an aggregate or column that tells which rows are late for windows."""

_NEVER = -(2**63) + 41
"""The value used for the last late time when there is none: no time is as low."""
_INJECTOR = "LateRows"
_INJECTED = "spark.pitstop.late"
_SETTING = threading.Lock()


def find_late_rows(spark: SparkSession) -> None:
    """Let queries that start in this session from now on find late rows. Without this, no row there is late."""
    with _SETTING:
        if spark.conf.get(_INJECTED, None) is None:
            session_of(spark).extensions().injectColumnar(new(spark, driver_class(spark, _INJECTOR)))
            spark.conf.set(_INJECTED, "true")


def late_rows(time: Column, window: str, grid_us: int, gap_us: int) -> Column:
    """Return an aggregate for an observation of rows that a window combines: the number of them that the epoch drops as late.

    ``window`` is the column of the window that Spark groups by. With a ``grid_us`` of 1 the window ends ``gap_us`` microseconds
    after an event. Otherwise it ends at the next multiple of ``grid_us`` after the event, and ``gap_us`` is 1.
    """
    # Spark moves the condition of a count_if out of the observation.
    late = F.when(F.unix_micros(time) <= F.lit(_NEVER), True)
    return F.count(late).alias(_name(window, grid_us, gap_us))


def last_late(time: Column, window: str, grid_us: int, gap_us: int) -> Column:
    """Return a column, for a select, that holds the last late time in microseconds where a row is late, else null.

    The parameters are those of :func:`late_rows`. Observe it at once: what is above must not be computed by the stand-in.
    """
    return F.when(F.unix_micros(time) <= F.lit(_NEVER), F.lit(_NEVER)).alias(_name(window, grid_us, gap_us))


def _name(window: str, grid_us: int, gap_us: int) -> str:
    return f"{LATE}{grid_us}:{gap_us}:{window}"
