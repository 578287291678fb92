"""Levels of the loggers of Spark's JVM, and the epoch in lines of its tasks: by log4j, which Spark brings along."""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import DataFrame, SparkSession

from pitstop.machine.log_levels import ROOT, Levels
from pitstop.spark.internals.jvm import classes

_EPOCH = "mdc.epoch"
"""The property of tasks that log4j2.properties writes as a key of each line. Spark copies properties that begin with ``mdc.``."""


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
    """Return a callback of ``foreachBatch`` whose tasks have the key ``epoch`` in the lines that Java logs."""

    def written(rows: DataFrame, epoch: int) -> None:
        # Python's calls come back on the query's own thread in Java, from which tasks have their properties.
        context = rows.sparkSession.sparkContext
        context.setLocalProperty(_EPOCH, str(epoch))
        try:
            write(rows, epoch)
        finally:
            context.setLocalProperty(_EPOCH, None)  # type: ignore[arg-type]

    return written
