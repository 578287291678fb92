"""Levels of the loggers of Spark's JVM, changed while it runs: by log4j's core, which Spark brings along."""

from __future__ import annotations

from pyspark.sql import SparkSession

from pitstop.machine.log_levels import ROOT, Levels
from pitstop.spark.internals.jvm import classes


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
