"""A query that starts before its checkpoint is there: the slow steps are done, and its last source waits at a gate.

Spark makes a query's sources, each a Python process, before it looks where the checkpoint's logs end. The last source is told not
to be ready before the gate, a file, is there. So the checkpoint is laid into the waiting query's folder, and the gate opened.
tests/spark/test_rehearsal.py shows that Spark keeps to that order.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import DataFrame

from pitstop.errors import EngineError
from pitstop.kit.ids import new_lineage
from pitstop.kit.waiting import wait_until
from pitstop.model.data_folder import DataFolder
from pitstop.pipeline.nodes import Node
from pitstop.pipeline.specs import HashJoinSpec, SourceSpec
from pitstop.pipeline.stages import Pipeline
from pitstop.plan.cuts import tables_of
from pitstop.plan.model import Plan
from pitstop.snapshots.checkpoint import Checkpoint
from pitstop.spark.base.environment import Environment
from pitstop.spark.lowering import source as lower_source
from pitstop.spark.lowering.compiled_job import CompiledJob
from pitstop.spark.running.epochs import EpochWriter
from pitstop.spark.running.query import RunningQuery
from pitstop.spark.sources import source_kind
from pitstop.spark.sources.shared import GATE, reached

REACH_SECONDS = 120.0


@dataclass(frozen=True)
class GatedQuery:
    """A query that waits at a gate. ``lineage`` names the checkpoint that it waits for."""

    lineage: str
    running: RunningQuery
    gate: Path

    def waits_for(self, checkpoint: Path) -> bool:
        """True if it still waits, and for this checkpoint."""
        return self.running.active and self.running.checkpoint.path == checkpoint

    def go(self, environment: Environment) -> RunningQuery:
        """Open the gate: from now on the query runs as part of this run of the job."""
        assert isinstance(self.running.writer, EpochWriter), "queries in real time do not wait at gates"
        self.running.writer.belong_to(environment, self.running.checkpoint.epoch_of_before())
        self.gate.touch()
        return self.running


def can_wait_at_gate(pipeline: Pipeline, plan: Plan) -> bool:
    """True if all sources can be held back, and nothing else is read when a query is made (tables of hash joins)."""
    gated = all(source_kind(node).gated for node in pipeline.nodes if isinstance(node.spec, SourceSpec))
    joins = any(isinstance(node.spec, HashJoinSpec) for node in pipeline.nodes)
    return bool(plan.source_slots) and gated and not joins and not tables_of(pipeline.nodes)


def start_gated(
    job: CompiledJob, environment: Environment, data: DataFolder, rehearsed: Path, gate: Path, claim: Callable[[Path], None]
) -> GatedQuery | None:
    """Start the job's query as far as it goes without its checkpoint, and return once it waits; None if it cannot wait.

    ``rehearsed`` is the checkpoint that a rehearsal has left. ``claim`` gets the folder of the query's own checkpoint before it
    is made. EngineError if the query does not reach the gate.
    """
    if environment.by_options(job.config).real_time_ms is not None or not can_wait_at_gate(job.pipeline, job.plan):
        return None
    lineage = new_lineage()
    checkpoint = data.job(environment.job_id).checkpoint(lineage)
    claim(checkpoint)
    # Spark looks once, before it makes the sources, whether there are logs and of which version they are.
    Checkpoint(rehearsed).copy_logs(checkpoint)
    return _waiting(job, dataclasses.replace(environment, lineage=lineage), checkpoint, gate)


def _waiting(job: CompiledJob, environment: Environment, checkpoint: Path, gate: Path) -> GatedQuery:
    gate.unlink(missing_ok=True)
    reached(gate).unlink(missing_ok=True)
    last, settings = job.plan.source_slots[-1].stage, environment.sources
    gated = dataclasses.replace(settings, extra=settings.extra | {GATE: str(gate)})

    def open_source(node: Node) -> DataFrame:
        return lower_source.read_stream(job.spark, node, gated if node.name == last else settings)

    named = environment.by_options(job.config)
    running = RunningQuery.start(job.spark, job.pipeline, named, checkpoint, open_source=open_source)
    waits = wait_until(lambda: not running.active or reached(gate).exists(), REACH_SECONDS)
    if not waits or not running.active:
        failure = running.failure()
        running.query.stop()
        raise failure or EngineError(f"The query's sources were not ready within {REACH_SECONDS:.0f} seconds.")
    return GatedQuery(environment.lineage, running, gate)
