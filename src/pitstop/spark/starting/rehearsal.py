"""The rehearsal of a start: a compiled job starts once from a snapshot, without its sources and sinks, and is forgotten.

All that a first epoch needs is then ready in this process: classes, the compiled code of this very plan, workers. And a start
that cannot succeed has failed before anything depends on it.
"""

from __future__ import annotations

import dataclasses
from functools import partial
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from pitstop.errors import EngineError
from pitstop.kit.waiting import wait_until
from pitstop.pipeline.nodes import Node
from pitstop.snapshots.checkpoint import Checkpoint
from pitstop.spark.base.environment import Environment, SourceSettings
from pitstop.spark.lowering import source as lower_source
from pitstop.spark.lowering.compiled_job import CompiledJob
from pitstop.spark.lowering.tables import HashJoinTables
from pitstop.spark.restoring.restore import restore
from pitstop.spark.running.query import RunningQuery
from pitstop.spark.sinks import rehearse_sink
from pitstop.spark.sources.hold import HoldSource

EPOCH_SECONDS = 300.0


def rehearse(job: CompiledJob, environment: Environment, snapshot: Path, folder: Path, laid_down: Path) -> Path | None:
    """Restore the snapshot into ``folder`` and run one epoch there: sources hold still, sinks write nothing.

    Returns the restored checkpoint, that epoch forgotten; None if the job is bounded, for which there is nothing to restore.
    A checkpoint of the job's structure is left in ``laid_down`` (see restore). Raises what a start from the snapshot would raise.
    Users' own sinks are not called.
    """
    if job.bounded:
        return None
    target = folder / "checkpoint"
    restore(job, snapshot, target, environment.job_name, environment.sources, laid_down)
    Checkpoint(target).rename_query()
    before = Checkpoint(target).committed()
    own = dataclasses.replace(
        environment.by_options(job.config),
        latency_ms=0,
        real_time_ms=None,
        lineage="rehearsal",
        work_dir=folder,
        log=lambda *_: None,
    )
    tables = HashJoinTables(job.spark, job.pipeline, own, target).at_start()
    running = RunningQuery.start(
        job.spark,
        job.pipeline,
        own,
        target,
        open_source=partial(_held, job.spark, environment.sources),
        write=rehearse_sink,
        tables=tables,
    )
    try:
        wait_until(lambda: not running.active or running.checkpoint.committed() > before, EPOCH_SECONDS)
        failure = running.failure()
        if failure is not None:
            raise failure
        if running.checkpoint.committed() <= before:
            raise EngineError(f"The new version did not do its first epoch within {EPOCH_SECONDS:.0f} seconds.")
    finally:
        running.query.stop()
        running.drop_tables()
    running.checkpoint.drop_after(before)
    return target


def _held(spark: SparkSession, settings: SourceSettings, node: Node) -> DataFrame:
    """Return a stand-in for a source: a stream with its columns that goes on from any offset and has no rows."""
    spark.dataSource.register(HoldSource)
    schema = lower_source.read_stream(spark, node, settings).schema
    # The name keeps two held sources of one schema apart: equal relations would become one source.
    return spark.readStream.format("pitstop_hold").option("schema", schema.json()).option("stage", node.name).load()
