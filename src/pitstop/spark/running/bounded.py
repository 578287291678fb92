"""A pipeline whose sources all end: it is run once."""

from __future__ import annotations

from pyspark.sql import SparkSession

from pitstop.pipeline.specs import SinkSpec
from pitstop.pipeline.stages import Pipeline
from pitstop.spark.base.environment import Environment
from pitstop.spark.lowering.lowering import Lowering
from pitstop.spark.sinks import write_sink


def run_bounded(spark: SparkSession, pipeline: Pipeline, environment: Environment) -> None:
    """Read all there is and write all sinks, as one epoch."""
    lowering = Lowering(spark, environment.sources, streaming=False)
    for node in pipeline.nodes:
        if isinstance(node.spec, SinkSpec):
            environment.ownership.check()
            write_sink(node, lowering.frame(node), 0, environment)
