"""Rows that are late for an operator with state, found as they arrive (LateRows.java).

Spark sees those of windows only after they are combined, and keeps none.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F

from pitstop.spark.internals.java_code import driver_class, inject_columnar, new

LATE = "late:"
"""The prefix of an aggregate or column that tells which rows are late for an operator."""

_NEVER = -(2**63) + 41
"""The value used for the last late time when there is none: no time is as low."""
_INJECTOR = "LateRows"
_INJECTED, _OPERATOR = "spark.pitstop.late", "spark.pitstop.operator."
"""The setting of a context that says that the rule is there; the prefix of those of a session that give Spark's number of an
operator, whose name follows."""
_SETTING = threading.Lock()


@contextmanager
def finding_late_rows(spark: SparkSession, operators: Mapping[str, int]) -> Iterator[None]:
    """Let the query that starts within find late rows. Without this, no row is late there.

    ``operators``: the name of an operator with state -> Spark's number for it. A query copies the settings when it starts, so
    those of two queries of one session never meet.
    """
    settings = {f"{_OPERATOR}{name}": str(number) for name, number in operators.items()}
    with _SETTING:
        inject_columnar(spark, _INJECTED, lambda: new(spark, driver_class(spark, _INJECTOR)))
        try:
            for key, value in settings.items():
                spark.conf.set(key, value)
            yield
        finally:
            for key in settings:
                spark.conf.unset(key)


def late_rows(time: Column, operator: str, grid_us: int, gap_us: int) -> Column:
    """Return an aggregate for an observation of an operator's rows: the number of them that the epoch drops as late.

    ``operator`` is the operator's name. A row is late if the watermark has reached its end. With a ``grid_us`` of 1 that is
    ``gap_us`` microseconds after ``time``. Otherwise it is the next multiple of ``grid_us`` after it, and ``gap_us`` is 1.
    """
    # Spark moves the condition of a count_if out of the observation.
    late = F.when(F.unix_micros(time) <= F.lit(_NEVER), True)
    return F.count(late).alias(_name(operator, grid_us, gap_us))


def last_late(time: Column, operator: str, grid_us: int, gap_us: int) -> Column:
    """Return a column, for a select, that holds the last late time in microseconds where a row is late, else null.

    The parameters are those of :func:`late_rows`. Observe it at once: what is above must not be computed by the stand-in.
    """
    return F.when(F.unix_micros(time) <= F.lit(_NEVER), F.lit(_NEVER)).alias(_name(operator, grid_us, gap_us))


def _name(operator: str, grid_us: int, gap_us: int) -> str:
    return f"{LATE}{grid_us}:{gap_us}:{operator}"
