"""Spark's real-time mode: the rows of an epoch flow through all its tasks at once, within one JVM."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import SparkSession
from pyspark.sql.streaming.readwriter import DataStreamWriter

from pitstop.spark.internals.java_code import call, driver_class, inject_columnar, new
from pitstop.spark.internals.settings import HAND_OVER

FAN = "Fan"
"""The format by which a query gives its rows to the runner (Fan.java). Its option ``socket`` is the path of a Unix socket."""

_RULE, _SLOTS = "RowByRow", "TaskSlots"
_INJECTED = "spark.pitstop.row.by.row.rule"
_ROW_BY_ROW = "spark.pitstop.row.by.row"
"""The setting with which the sort below a function with state is taken away."""
_SETTINGS = {
    # Spark's list has its own sinks alone.
    "spark.sql.streaming.realTimeMode.allowlistCheck": "false",
    # Otherwise Spark would write the logs of queries without state later, and refuse other sinks than its own.
    "spark.sql.streaming.realTimeMode.asyncProgressTrackingByDefault.enabled": "false",
}
_SETTING = threading.Lock()


def hands_over(spark: SparkSession) -> bool:
    """Return True if the JVM of a session hands rows over within itself, and opens no port for them."""
    settings = spark.sparkContext.getConf()
    return all(settings.get(key) == value for key, value in HAND_OVER.items())


def set_task_slots(spark: SparkSession, slots: int) -> int:
    """Let so many tasks run at the same time in the JVM of a session, whose master is local; return their number.

    The number of partitions stays as it was.
    """
    return int(call(spark, driver_class(spark, _SLOTS), "set", spark.sparkContext._jsc.sc(), str(slots)))


def in_real_time(stream: DataStreamWriter, length_ms: int) -> DataStreamWriter:
    """Return a stream whose query runs in real time, in epochs of that length."""
    trigger = {"realTime": f"{length_ms} milliseconds"}
    return stream.trigger(**trigger)


@contextmanager
def starting_in_real_time(spark: SparkSession) -> Iterator[None]:
    """Let the query that starts within run in real time.

    A query copies the settings of its session when it starts, but Spark looks into the session for its own list in each epoch.
    """
    with _SETTING:
        inject_columnar(spark, _INJECTED, lambda: new(spark, driver_class(spark, _RULE)))
        for key, value in _SETTINGS.items():
            spark.conf.set(key, value)
        spark.conf.set(_ROW_BY_ROW, "true")
        try:
            yield
        finally:
            spark.conf.unset(_ROW_BY_ROW)
