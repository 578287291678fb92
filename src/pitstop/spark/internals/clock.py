"""The clock of a running query, by which Spark gives epochs their time."""

from __future__ import annotations

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from pitstop.spark.internals.jvm import classes, java_query

_STREAM = "org.apache.spark.sql.execution.streaming.runtime.StreamExecution"


def set_clock(spark: SparkSession, query: StreamingQuery, now_ms: int) -> None:
    """Let the epochs that are planned from now on have this time (ms since 1970). Use it only while no epoch begins."""
    jvm, execution = classes(spark), java_query(query)
    field = jvm.java.lang.Class.forName(_STREAM).getDeclaredField("triggerClock")
    field.setAccessible(True)
    field.set(execution, jvm.org.apache.spark.util.ManualClock(now_ms))
