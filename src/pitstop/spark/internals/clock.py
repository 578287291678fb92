"""The clock of a running query, by which Spark gives epochs their time, and the interval at which they begin."""

from __future__ import annotations

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from pitstop.spark.internals.jvm import classes, java_query

_STREAM = "org.apache.spark.sql.execution.streaming.runtime.StreamExecution"


def set_interval(query: StreamingQuery, interval_ms: int) -> None:
    """Let the epochs of a query that has a processing-time trigger begin at this interval, from the one after the next on."""
    executor = java_query(query).triggerExecutor()
    if executor is not None:  # else the first epoch is still to begin
        field = executor.getClass().getDeclaredField("intervalMs")
        field.setAccessible(True)
        field.setLong(executor, interval_ms)


def set_clock(spark: SparkSession, query: StreamingQuery, now_ms: int) -> None:
    """Let the epochs that are planned from now on have this time (ms since 1970). Use it only while no epoch begins."""
    jvm, execution = classes(spark), java_query(query)
    field = jvm.java.lang.Class.forName(_STREAM).getDeclaredField("triggerClock")
    field.setAccessible(True)
    field.set(execution, jvm.org.apache.spark.util.ManualClock(now_ms))
