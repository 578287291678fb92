"""Rows that ``localCheckpoint`` keeps."""

from __future__ import annotations

from pyspark.sql import DataFrame

from pitstop.spark.internals.jvm import java_frame


def forget_rows(checkpointed: DataFrame) -> None:
    """Free what ``localCheckpoint`` keeps of a DataFrame, which Spark itself does only after some garbage collection."""
    java_frame(checkpointed).queryExecution().logical().rdd().unpersist(False)
