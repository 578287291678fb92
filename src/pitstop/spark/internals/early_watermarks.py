"""Watermarks before 1970. Spark takes a watermark below 0 for 0; the queries of a session that is set up here do not."""

from __future__ import annotations

from pyspark.sql import SparkSession

from pitstop.spark.internals.java_code import driver_class, new
from pitstop.spark.internals.jvm import session_of

LOWEST_MS = -62_135_596_800_000
"""The watermark of a query that has seen no event time yet: the beginning of the year 1, in ms since 1970."""

_LISTENER = "EarlyWatermarks"


def allow_early_watermarks(spark: SparkSession) -> None:
    """Let queries that start in this session from now on have watermarks from the year 1 on."""
    manager = session_of(spark).streams()
    if any(listener.getClass().getName() == _LISTENER for listener in manager.listListeners()):
        return
    manager.addListener(_listener(spark))


def _listener(spark: SparkSession) -> object:
    return new(spark, driver_class(spark, _LISTENER), session_of(spark))
