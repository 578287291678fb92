"""PySpark's logs of wrong queries, which are kilobytes of JSON for each: our errors tell stages and their places."""

from __future__ import annotations

import logging

from pyspark.logger import PySparkLogger

_LOGGERS = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")


def log_no_wrong_queries() -> None:
    """Keep these loggers of this process from writing."""
    for name in _LOGGERS:
        PySparkLogger.getLogger(name).setLevel(logging.CRITICAL)
