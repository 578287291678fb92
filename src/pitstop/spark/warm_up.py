"""Warm a new session up: a small job, so that the first epoch of a real one finds its classes, code and workers ready."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from pitstop.errors import EngineError
from pitstop.kit.waiting import wait_until
from pitstop.model.config import JobConfig, ProcessingGuarantee, StateStore
from pitstop.model.data_folder import DataFolder
from pitstop.model.job import Progress
from pitstop.pipeline import aggregates, sinks, sources
from pitstop.pipeline.stages import Pipeline
from pitstop.pipeline.windows import tumbling
from pitstop.spark.base.environment import Environment, SourceSettings
from pitstop.spark.lowering.compiled_job import compile_job
from pitstop.spark.run import Run
from pitstop.spark.starting.start_point import start_point

NAME = "warm-up"
EPOCH_SECONDS, STOP_SECONDS = 60.0, 20.0


def warm_up(spark: SparkSession, folder: Path) -> None:
    """Run the first epoch of a small job that keeps its files in ``folder``, which does not exist; gives up after a minute.

    It goes the way of every job: compiled, begun, written to sinks, stopped. Its state is in RocksDB, which loads slowly.
    """
    told = SourceSettings.working_in(folder / "sources", NAME, None, None)
    config = JobConfig(processing_guarantee=ProcessingGuarantee.EXACTLY_ONCE, state_store=StateStore.ROCKSDB)
    environment = Environment(NAME, NAME, "", config.processing_guarantee, folder, lambda *_: None, sources=told)
    job = compile_job(spark, _pipeline(folder), config, told)
    point = start_point(job, environment, DataFolder(folder), None, lambda: None)
    run = Run.start(job, replace(environment, lineage=point.lineage), point, Progress(), lambda: None)

    def begun() -> bool:
        run.look()
        return run.tracker.first_epoch or not run.active

    wait_until(begun, EPOCH_SECONDS)
    with contextlib.suppress(EngineError):  # its epoch lasts longer than a warm-up may
        run.stop(STOP_SECONDS)


def use_formats(spark: SparkSession, folder: Path) -> None:
    """Write and read a few rows in the formats of sources, sinks and snapshots."""
    numbers = spark.range(10).withColumn("text", F.col("id").cast("string"))
    for name in ("parquet", "json", "csv"):
        path = str(folder / name)
        numbers.write.format(name).save(path)
        spark.read.format(name).load(path).groupBy().count().toArrow()


def _pipeline(folder: Path) -> Pipeline:
    p = Pipeline()
    numbers = p.read_from(sources.rate(100), name="numbers").with_timestamps("time", allowed_lag="1 second")
    keyed = numbers.with_columns(key="sequence % 10").filter("sequence >= 0").group_by("key")
    counted = {"n": aggregates.count(), "high": aggregates.max("sequence"), "mean": aggregates.avg("sequence")}
    keyed.window(tumbling("1 second")).aggregate("windows", **counted).write_to(
        sinks.files(str(folder / "out")), name="windows out"
    )
    keyed.rolling_aggregate("so far", n=aggregates.count()).write_to(sinks.noop(), name="so far out")
    return p
