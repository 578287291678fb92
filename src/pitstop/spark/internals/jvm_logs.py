"""Levels of the loggers of Spark's JVM, and the epoch in its lines: by log4j, which Spark brings along."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from pitstop.machine.log_levels import ROOT, Levels
from pitstop.spark.internals.jvm import classes

_EPOCH = "epoch"
"""The key in log4j's context of a thread, of which log4j2.properties makes a key of the line."""
_OF_TASKS = f"mdc.{_EPOCH}"
"""The property of Spark's that puts the key into the context of each task."""


def apply_to_jvm(spark: SparkSession, levels: Levels) -> None:
    """Let these levels hold in the driver's JVM, over those of its configuration file."""
    log4j = classes(spark).org.apache.logging.log4j
    configurator = log4j.core.config.Configurator
    configurator.reconfigure()
    for name, level in levels.items():
        java_level = log4j.Level.toLevel(level.value)
        if name == ROOT:
            configurator.setRootLevel(java_level)
        else:
            configurator.setLevel(name, java_level)


def with_epoch_in_lines(write: Callable[[DataFrame, int], None]) -> Callable[[DataFrame, int], None]:
    """Return a callback of ``foreachBatch`` for whose work Java's lines have the key ``epoch``: on the driver, and of tasks."""

    def written(rows: DataFrame, epoch: int) -> None:
        # Python's calls come back on the query's own thread in Java, from which tasks have their properties.
        threads: Any = classes(rows.sparkSession).org.apache.logging.log4j.ThreadContext
        context = rows.sparkSession.sparkContext
        threads.put(_EPOCH, str(epoch))
        context.setLocalProperty(_OF_TASKS, str(epoch))
        try:
            write(rows, epoch)
        finally:
            threads.remove(_EPOCH)
            context.setLocalProperty(_OF_TASKS, None)  # type: ignore[arg-type]

    return written
