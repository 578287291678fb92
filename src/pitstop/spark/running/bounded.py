"""A pipeline whose sources all end, which is run once."""

from __future__ import annotations

import dataclasses
import secrets
import time
from collections.abc import Hashable

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from pitstop.errors import EngineError
from pitstop.model.job import Progress
from pitstop.model.left_out import BAD, LeftOut
from pitstop.pipeline.nodes import Node
from pitstop.pipeline.specs import SinkSpec, SourceSpec
from pitstop.pipeline.stages import Pipeline
from pitstop.spark.base.environment import Environment
from pitstop.spark.base.failures import explain
from pitstop.spark.base.left_out import tell_seen
from pitstop.spark.base.naming import ROWS_IN, ROWS_OUT
from pitstop.spark.base.session import local_folder
from pitstop.spark.internals.counted_rows import CountedRows
from pitstop.spark.internals.jvm import JavaError, ended_tasks
from pitstop.spark.internals.observations import Observations
from pitstop.spark.lowering.accounting import GIVEN, TAKEN
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
        self._progress = Progress()
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
            with CountedRows(self._spark) as rows:
                self._write(lowering, observations, rows)
        finally:
            self._spark.sparkContext.removeJobTag(self._tag)
            # Else Spark would give these rows to a later run in this session whose tables have changed meanwhile.
            for table in lowering.tables.values():
                table.unpersist()

    def _write(self, lowering: Lowering, observations: Observations, rows: CountedRows) -> None:
        sinks = [node for node in self._pipeline.nodes if isinstance(node.spec, SinkSpec)]
        sources = _sources_of(sinks)
        for node in sources:
            lowering.frames[id(node)] = rows.counted(lowering.frame(node), ROWS_OUT + node.name)
        for node in sorted(sinks, key=lambda sink: sink_kind(sink).rank):
            self._environment.ownership.check()
            if self._ended:
                raise EngineError("The run was asked to end.")
            try:
                write_sink(node, rows.counted(lowering.frame(node), ROWS_IN + node.name), 0, self._environment)
            except (PySparkException, JavaError) as error:
                nodes, scratch = self._pipeline.nodes, local_folder(self._spark)
                raise explain(error, error, nodes, lowering.layouts, node, what="The job", scratch=scratch) from error
            self._sinks += 1
            left_out = tell_seen(observations, self._environment.log)
            self._note(rows.now(), left_out)

    def _note(self, counts: dict[str, int], left_out: list[tuple[str, LeftOut, int]]) -> None:
        """Take note of the rows that were counted so far, and of those that are left out since the last time."""
        stages = {name: dict(facts) for name, facts in self._progress.stages.items()}
        for name, rows in counts.items():
            figure = GIVEN if name.startswith(ROWS_OUT) else TAKEN
            stages.setdefault(name.removeprefix(ROWS_OUT).removeprefix(ROWS_IN), {})[figure] = rows
        for stage, reason, rows in left_out:
            if rows:
                facts = stages.setdefault(stage, {})
                facts[str(reason)] = int(facts.get(reason) or 0) + rows
        read = sum(rows for name, rows in counts.items() if name.startswith(ROWS_OUT))
        bad = self._progress.bad_rows + sum(rows for _, reason, rows in left_out if reason in BAD)
        read = max(read, self._progress.input_rows)  # if Spark has not told in time, the numbers from before stand
        self._progress = dataclasses.replace(self._progress, input_rows=read, bad_rows=bad, stages=stages)

    @property
    def progress(self) -> Progress:
        """Rows that were read and written so far. The numbers change with each sink that is written."""
        return self._progress

    def done(self) -> Hashable:
        return self._sinks, ended_tasks(self._spark, self._tag)

    def end(self) -> None:
        self._ended = True
        self._spark.sparkContext.cancelJobsWithTag(self._tag)


def _sources_of(sinks: list[Node]) -> list[Node]:
    """Return the sources whose rows go to sinks, without those that are tables of joins."""
    nodes, pending = dict[int, Node](), list(sinks)
    while pending:
        node = pending.pop()
        if id(node) not in nodes:
            nodes[id(node)] = node
            pending.extend(node.streams)
    return [node for node in nodes.values() if isinstance(node.spec, SourceSpec)]
