"""A job as one Spark session knows it: its pipeline, its options, and the plan that they compile to there."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession

from pitstop.errors import PipelineError
from pitstop.model.config import Execution, JobConfig, StateStore
from pitstop.model.snapshot import SnapshotManifest
from pitstop.pipeline.stages import Pipeline
from pitstop.plan.model import Plan
from pitstop.plan.rules import check_state_store
from pitstop.spark.base.environment import SourceSettings
from pitstop.spark.base.session import apply_settings, placement_of
from pitstop.spark.base.state_stores import chosen_store, store_of, use_state_store
from pitstop.spark.lowering.compile import bounded, compile_pipeline, grows_in_steps
from pitstop.spark.lowering.real_time import check_real_time


@dataclass(frozen=True)
class CompiledJob:
    """A pipeline that compiled in this session, with the options it was compiled with."""

    spark: SparkSession
    pipeline: Pipeline
    config: JobConfig
    plan: Plan

    @property
    def bounded(self) -> bool:
        """True if all its sources end: it then runs once, as one epoch, and has no checkpoint."""
        return bounded(self.pipeline)

    def use_store_for(self, saved: SnapshotManifest | None, store: StateStore | None = None) -> str:
        """Let a new checkpoint keep its state in ``store``, or else where its state belongs, that of ``saved`` included.

        Returns the class of the store's provider.
        """
        chosen = store or chosen_store(self.spark, self.config, self.plan, saved, grows_in_steps(self.pipeline))
        return use_state_store(self.spark, self.config, chosen)

    def use_store_of(self, provider: str) -> None:
        """Set the session up for a checkpoint that this provider has written and goes on with."""
        use_state_store(self.spark, self.config, store_of(provider))

    def with_config(self, config: JobConfig) -> CompiledJob:
        """Return the job under options that compile to the same plan, such as the name of a snapshot to start from."""
        return dataclasses.replace(self, config=config)


def compile_job(
    spark: SparkSession,
    pipeline: Pipeline,
    config: JobConfig,
    sources: SourceSettings,
    runs_already: bool = False,
    plan: Plan | None = None,
    read_tables: Mapping[str, DataFrame] | None = None,
) -> CompiledJob:
    """Set the session up for the job and compile its pipeline there; PipelineError names the stage at fault.

    ``runs_already``: this version was accepted before, perhaps by an older release. ``plan``: the plan that the same version
    compiled to before, for when a table that it reads is away now. ``read_tables``: see ``compile_pipeline``.
    """
    apply_settings(spark, config.partitions or default_partitions(spark), config.spark)
    plan = plan or compile_pipeline(spark, pipeline, sources, config.partitions, runs_already, read_tables)
    check_state_store(plan, config.state_store)
    if config.execution is Execution.REALTIME:
        check_real_time(spark, pipeline, sources)
    use_state_store(spark, config, chosen_store(spark, config, plan, None, grows_in_steps(pipeline)))
    if config.max_accumulated_records is not None and bounded(pipeline):
        raise PipelineError(
            "The option max_accumulated_records counts saved state, and a job whose sources all end keeps none: leave it out, or "
            "write none."
        )
    if config.partitions is None and config.auto_scaling and _can_be_spread(plan, config):
        placement = placement_of(spark)
        plan = dataclasses.replace(plan, partitions=placement.cores if placement is not None else None)
    return CompiledJob(spark, pipeline, config, plan)


def _can_be_spread(plan: Plan, config: JobConfig) -> bool:
    """Return True if the job's state can go on in another number of partitions."""
    fixed = any(layout.parameters.get("fixed") is not None for layout in plan.stateful.values())
    return config.state_store is not StateStore.MEMORY and not fixed


def default_partitions(spark: SparkSession) -> int:
    """Return the default number of partitions: one for each core.

    State is kept by partition, and a core works on one at a time.
    """
    # On a cluster the executors may not be there yet.
    cores = spark.sparkContext.getConf().get("spark.cores.max")
    return int(cores) if cores else max(1, spark.sparkContext.defaultParallelism or os.cpu_count() or 1)
