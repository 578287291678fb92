"""Sinks, one file each: a function from the rows of one epoch to the outside world."""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import DataFrame

from pitstop.pipeline.nodes import Node
from pitstop.spark.base.environment import Environment, EpochContext
from pitstop.spark.sinks.custom import write_custom, write_noop
from pitstop.spark.sinks.files import write_files
from pitstop.spark.sinks.logger import write_log
from pitstop.spark.sinks.map import write_map

Write = Callable[[Node, DataFrame, EpochContext, Environment], None]

_WRITERS: dict[str, Write] = {
    "map": write_map,
    "logger": write_log,
    "files": write_files,
    "noop": write_noop,
    "custom": write_custom,
}


def write_sink(node: Node, rows: DataFrame, epoch: int, environment: Environment) -> None:
    """Write one epoch's rows into the sink of a node; the same epoch written again changes nothing it need not."""
    context = EpochContext(environment.job_name, node.name, environment.lineage, epoch, environment.guarantee.value)
    _WRITERS[node.sink.kind](node, rows, context, environment)
