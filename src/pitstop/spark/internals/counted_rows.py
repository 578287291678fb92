"""The numbers of rows of frames, counted while actions read them. An action may read a frame in part, or several times."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from pitstop.spark.internals.java_code import driver_class, new
from pitstop.spark.internals.jvm import JavaError, session_of

WAIT_MS = 5000
"""The longest wait for Spark to tell of actions that have ended."""


class CountedRows:
    """Counts rows of frames by name, in the actions of a session within a ``with`` block."""

    def __init__(self, spark: SparkSession) -> None:
        self._listener = new(spark, driver_class(spark, "CountedRows"), session_of(spark))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._listener.end()

    def counted(self, frame: DataFrame, name: str) -> DataFrame:
        """Return the rows as they are; they are counted on the way."""
        return frame.observe(name, F.count(F.lit(1)).alias("rows"))

    def now(self) -> dict[str, int]:
        """Return name -> rows, as the action has seen them that has read most."""
        try:
            return {str(name): int(rows) for name, rows in dict(self._listener.now(str(WAIT_MS))).items()}
        except JavaError:  # Spark is too busy to tell: the numbers of the next time have these rows
            return {}
