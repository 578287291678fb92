"""A version of a job, loaded and compiled; a warm spare does that, and rehearses the start, before the job is its own."""

from __future__ import annotations

import shutil
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from pitstop.errors import ConflictError, EngineError, PitstopError
from pitstop.model.config import JobConfig
from pitstop.model.job import Job, JobSource
from pitstop.runner.artifacts import load_entry
from pitstop.runner.logs import log
from pitstop.snapshots.checkpoint import Checkpoint
from pitstop.snapshots.export import checkpoint_folder, export_checkpoint
from pitstop.spark.base.environment import Environment, SourceSettings
from pitstop.spark.engine import Engine
from pitstop.spark.restoring.migrations import try_migrations
from pitstop.spark.starting.rehearsal import rehearse

LOGGER = "pitstop.runner"


@dataclass(frozen=True)
class RunnerSettings:
    """Where a run works."""

    data_dir: Path
    store_url: str
    store_factory: str
    """``module:function`` by which worker processes open the map store."""

    def job_dir(self, job_id: str) -> Path:
        return self.data_dir / "jobs" / job_id

    def sources(self, job_id: str, job_name: str) -> SourceSettings:
        """What the sources of a job are told."""
        return SourceSettings.working_in(self.job_dir(job_id) / "work", job_name, self.store_url, self.store_factory)


@dataclass(frozen=True)
class Prepared:
    """An engine, and what it was made of."""

    source: JobSource
    options: dict[str, Any]
    base: JobConfig
    """The options in the job's own code."""
    engine: Engine

    def engine_of(self, job: Job, environment: Environment) -> Engine | None:
        """The engine, for this run of a job; None if the job's code or options are others."""
        if (job.source, _own(job.options)) != (self.source, _own(self.options)):
            return None
        self.engine.take_over(JobConfig.from_options(job.options, base=self.base), environment)
        return self.engine


def prepare(spark: SparkSession, source: JobSource, options: dict[str, Any], environment: Environment) -> Prepared:
    """Load and compile; ArtifactError, PipelineError or UsageError say what is wrong."""
    definition = load_entry(Path(source.artifact), source.entry)
    spark.sparkContext.addPyFile(source.artifact)
    pipeline = definition.build(source.args)
    config = JobConfig.from_options(options, base=definition.config)
    engine = Engine(spark, pipeline, config, replace(environment, guarantee=config.processing_guarantee))
    return Prepared(source, options, definition.config, engine)


def _own(options: dict[str, Any]) -> dict[str, Any]:
    """Options without the name of the snapshot, which is taken only when the job stops."""
    return {key: value for key, value in options.items() if key != "initial_snapshot"}


class Standby:
    """The tasks of a spare that makes itself ready for one version (launchers.standby)."""

    def __init__(self, spark: SparkSession, settings: RunnerSettings, folder: Path) -> None:
        self._spark, self._settings, self._folder = spark, settings, folder
        self.prepared: Prepared | None = None

    def do(self, task: dict[str, Any]) -> dict[str, Any]:
        """The answer to a task: its result, or ``{"error"}``."""
        began = time.monotonic()
        try:
            result = self._compile(task) if task["do"] == "compile" else self._rehearse(task)
            log("INFO", LOGGER, f"{task['do']} took {time.monotonic() - began:.1f} s")
            return result
        except PitstopError as error:
            return {"error": error.to_dict()}
        except Exception as error:
            return {"error": EngineError(f"{type(error).__name__}: {error}").to_dict()}

    def _compile(self, task: dict[str, Any]) -> dict[str, Any]:
        environment = Environment(
            job_id=task["job"],
            job_name=task["name"],
            lineage="",
            guarantee=JobConfig().processing_guarantee,
            work_dir=self._folder / "work",
            log=log,
            sources=self._settings.sources(task["job"], task["name"]),
        )
        self.prepared = prepare(self._spark, JobSource.from_dict(task["source"]), task["options"], environment)
        engine, against = self.prepared.engine, task["against"]
        state, scratch = Path(against) if against is not None else None, self._folder / "migrations"
        try:
            tried = try_migrations(self._spark, engine.pipeline, engine.plan, state, engine.config.renamed, scratch)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
        return {"plan": engine.plan.to_dict(), "migrations": tried}

    def _rehearse(self, task: dict[str, Any]) -> dict[str, Any]:
        if self.prepared is None:
            raise ConflictError("A version is compiled before it is rehearsed.")
        engine = self.prepared.engine
        running = Checkpoint(checkpoint_folder(self._settings.data_dir, engine.environment.job_id, task["lineage"]))
        scratch = self._folder / "rehearsal"
        engine.keep_aside(self._folder)
        try:
            record = export_checkpoint(running, scratch, "rehearsal")
            rehearsed = rehearse(engine, Path(record.path), scratch)
            if rehearsed is not None:
                engine.get_ready(self._settings.data_dir, rehearsed, self._folder, self._claim)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
        return {}

    def _claim(self, checkpoint: Path) -> None:
        # Whoever removes this standby's folder although it never got its run removes that one, too (launchers.spares).
        (self._folder / "checkpoint").write_text(str(checkpoint))
