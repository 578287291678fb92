"""Spark's memory of a query's last epochs: the times of tasks, and the physical plan."""

from __future__ import annotations

import json
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from pitstop.spark.internals.java_code import call, driver_class


def stages_of_epochs(spark: SparkSession, query: StreamingQuery, epochs: int) -> list[dict[str, Any]]:
    """Return the stages of a query's newest epochs, as ``pitstop.model.execution.epochs_of`` takes them."""
    java_class = driver_class(spark, "TaskTimes")
    text = call(spark, java_class, "of", spark.sparkContext._jsc.sc(), str(query.runId), str(epochs))
    stages: list[dict[str, Any]] = json.loads(str(text))
    return stages


def physical_plan(query: StreamingQuery) -> str:
    """Return the physical plan of a query's last epoch; empty before the first."""
    text = str(query._jsq.explainInternal(False)).strip()
    return text if text.startswith("==") else ""
