"""Levels of the loggers of Spark's JVM, and the epoch in lines of its tasks: by log4j, which Spark brings along."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession

from pitstop.machine.log_levels import ROOT, Levels
from pitstop.spark.internals.jvm import classes

_EPOCH = "mdc.epoch"
"""The property of tasks that log4j2.properties writes as a key of each line. Spark copies properties that begin with ``mdc.``."""

_QUIET = ("ends", "quietly")
"""The fact of a thread whose lines log4j2.properties leaves out."""
_CALLBACKS = "py4j.clientserver"
"""The logger of errors in what Java calls in Python."""


@dataclass(frozen=True)
class _Quiet(logging.Filter):
    """Leaves out errors of one type. Equal filters are one for a logger, however often they are added."""

    type: type[BaseException]

    def filter(self, record: logging.LogRecord) -> bool:
        return record.exc_info is None or not isinstance(record.exc_info[1], self.type)


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


def with_epoch_in_lines(write: Callable[[DataFrame, int], None], quiet: type[BaseException]) -> Callable[[DataFrame, int], None]:
    """Return a callback of ``foreachBatch`` whose tasks have the key ``epoch`` in the lines that Java logs.

    An error of the type ``quiet`` ends the query, and neither Java nor Python logs it: it is no fault.
    """
    logging.getLogger(_CALLBACKS).addFilter(_Quiet(quiet))

    def written(rows: DataFrame, epoch: int) -> None:
        # Python's calls come back on the query's own thread in Java, from which tasks have their properties.
        context = rows.sparkSession.sparkContext
        context.setLocalProperty(_EPOCH, str(epoch))
        try:
            write(rows, epoch)
        except quiet:
            classes(rows.sparkSession).org.apache.logging.log4j.ThreadContext.put(*_QUIET)
            raise
        finally:
            context.setLocalProperty(_EPOCH, None)  # type: ignore[arg-type]

    return written
