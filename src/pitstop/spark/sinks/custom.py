"""Sinks of one's own, and the sink that writes nothing."""

from __future__ import annotations

from pyspark.sql import DataFrame

from pitstop.pipeline.nodes import Node
from pitstop.spark.base.environment import Environment, EpochContext


def write_custom(node: Node, rows: DataFrame, context: EpochContext, environment: Environment) -> None:
    """Hand the rows to the user's SinkWriter."""
    node.sink.writer.write(rows, context)


def write_noop(node: Node, rows: DataFrame, context: EpochContext, environment: Environment) -> None:
    """Compute every row and write none."""
    rows.write.format("noop").mode("overwrite").save()
