"""A query that is started before its checkpoint is there: what takes seconds is done, and its last source waits at a gate.

Spark makes a query's sources, each a Python process, before it looks where the checkpoint's logs end. The last source is told
not to be ready before the gate, a file, is there. So the checkpoint is laid into the waiting query's folder, and the gate
opened. tests/spark/test_rehearsal.py shows that Spark keeps to that order.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from pitstop.errors import EngineError
from pitstop.pipeline.nodes import Node
from pitstop.pipeline.specs import HashJoinSpec, SourceSpec
from pitstop.pipeline.stages import Pipeline
from pitstop.plan.cuts import tables_of
from pitstop.plan.model import Plan
from pitstop.spark.base.environment import Environment
from pitstop.spark.lowering import source as lower_source
from pitstop.spark.running.query import RunningQuery, wait_until
from pitstop.spark.sources import source_kind
from pitstop.spark.sources.shared import GATE, reached

REACH_SECONDS = 120.0


@dataclass(frozen=True)
class Poised:
    """``lineage`` names the checkpoint that the query waits for."""

    lineage: str
    running: RunningQuery
    gate: Path

    def go(self, environment: Environment) -> RunningQuery:
        """Let it run, as part of this run of the job."""
        self.running.writer.belong_to(environment)
        self.gate.touch()
        return self.running


def can_be_poised(pipeline: Pipeline, plan: Plan) -> bool:
    """True if all sources can be held back, and nothing else is read when a query is made (tables of hash joins)."""
    sources = [node for node in pipeline.nodes if isinstance(node.spec, SourceSpec)]
    gated = all(source_kind(node).gated for node in sources)
    joins = any(isinstance(node.spec, HashJoinSpec) for node in pipeline.nodes)
    return bool(plan.source_slots) and gated and not joins and not tables_of(pipeline.nodes)


def poised(spark: SparkSession, pipeline: Pipeline, plan: Plan, environment: Environment, checkpoint: Path, gate: Path) -> Poised:
    """Start the query and return once it waits; EngineError if it does not come to that."""
    gate.unlink(missing_ok=True)
    reached(gate).unlink(missing_ok=True)
    last, settings = plan.source_slots[-1].stage, environment.sources
    gated = dataclasses.replace(settings, extra=settings.extra | {GATE: str(gate)})

    def open_source(node: Node) -> DataFrame:
        return lower_source.read_stream(spark, node, gated if node.name == last else settings)

    running = RunningQuery(spark, pipeline, environment, checkpoint, {}, open_source=open_source)
    waits = wait_until(lambda: not running.active or reached(gate).exists(), REACH_SECONDS)
    if not waits or not running.active:
        failure = running.failure()
        running.query.stop()
        raise failure or EngineError(f"The query's sources were not ready within {REACH_SECONDS:.0f} seconds.")
    return Poised(environment.lineage, running, gate)
