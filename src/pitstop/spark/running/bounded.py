"""A pipeline whose sources all end, which is run once."""

from __future__ import annotations

import secrets
import time
from collections.abc import Hashable

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from pitstop.errors import EngineError
from pitstop.pipeline.specs import SinkSpec
from pitstop.pipeline.stages import Pipeline
from pitstop.spark.base.environment import Environment
from pitstop.spark.base.failures import explain
from pitstop.spark.base.left_out import tell_seen
from pitstop.spark.base.session import local_folder
from pitstop.spark.internals.jvm import JavaError, ended_tasks
from pitstop.spark.internals.observations import Observations
from pitstop.spark.lowering.lowering import Lowering
from pitstop.spark.sinks import sink_kind, write_sink


def run_bounded(spark: SparkSession, pipeline: Pipeline, environment: Environment) -> None:
    """Read everything there is and write all sinks, as one epoch."""
    BoundedRun(spark, pipeline, environment).run()


class BoundedRun:
    """The run of such a pipeline in a runner's process (runner.runtime.Whole)."""

    def __init__(self, spark: SparkSession, pipeline: Pipeline, environment: Environment) -> None:
        self._spark, self._pipeline, self._environment = spark, pipeline, environment
        self._sinks, self._ended = 0, False
        self._tag = f"pitstop-{secrets.token_hex(8)}"
        """The tag of all of Spark's jobs that it runs: the JVM may run those of others as well."""

    def run(self) -> None:
        self._spark.sparkContext.addJobTag(self._tag)
        observations, now_ms = Observations(), round(time.time() * 1000)
        lowering = Lowering(
            self._spark,
            self._environment.sources,
            streaming=False,
            max_ahead_ms=self._environment.max_ahead_ms,
            now_ms=lambda: now_ms,
            observe=observations.observe,
            observe_table=observations.observe,
        )
        try:
            self._write(lowering, observations)
        finally:
            self._spark.sparkContext.removeJobTag(self._tag)
            # Else Spark would give these rows to a later run in this session whose tables have changed meanwhile.
            for table in lowering.tables.values():
                table.unpersist()

    def _write(self, lowering: Lowering, observations: Observations) -> None:
        sinks = [node for node in self._pipeline.nodes if isinstance(node.spec, SinkSpec)]
        for node in sorted(sinks, key=lambda sink: sink_kind(sink).rank):
            self._environment.ownership.check()
            if self._ended:
                raise EngineError("The run was asked to end.")
            try:
                write_sink(node, lowering.frame(node), 0, self._environment)
            except (PySparkException, JavaError) as error:
                nodes, scratch = self._pipeline.nodes, local_folder(self._spark)
                raise explain(error, error, nodes, lowering.layouts, node, what="The job", scratch=scratch) from error
            self._sinks += 1
            tell_seen(observations, self._environment.log)

    def done(self) -> Hashable:
        return self._sinks, ended_tasks(self._spark, self._tag)

    def end(self) -> None:
        self._ended = True
        self._spark.sparkContext.cancelJobsWithTag(self._tag)
