"""A version of a job, loaded and compiled; a warm spare does that, and rehearses the start, before the job is its own."""

from __future__ import annotations

import shutil
import time
from dataclasses import dataclass, field, replace
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
from pitstop.spark.lowering.compiled_job import CompiledJob, compile_job
from pitstop.spark.restoring.migrations import try_migrations
from pitstop.spark.starting.gated_query import start_gated
from pitstop.spark.starting.head_start import HeadStart
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
    """A compiled job, and what it was made of."""

    source: JobSource
    options: dict[str, Any]
    base: JobConfig
    """The options in the job's own code."""
    compiled: CompiledJob
    head_start: HeadStart = field(default_factory=HeadStart)

    def for_run_of(self, job: Job) -> Prepared | None:
        """The same, with the options of this job as they are now; None if the job's code or options are others."""
        if (job.source, _own(job.options)) != (self.source, _own(self.options)):
            return None
        return replace(self, compiled=self.compiled.with_config(JobConfig.from_options(job.options, base=self.base)))


def prepare(spark: SparkSession, source: JobSource, options: dict[str, Any], sources: SourceSettings) -> Prepared:
    """Load and compile; ArtifactError, PipelineError or UsageError say what is wrong."""
    definition = load_entry(Path(source.artifact), source.entry)
    spark.sparkContext.addPyFile(source.artifact)
    pipeline = definition.build(source.args)
    config = JobConfig.from_options(options, base=definition.config)
    return Prepared(source, options, definition.config, compile_job(spark, pipeline, config, sources))


def _own(options: dict[str, Any]) -> dict[str, Any]:
    """Options without the name of the snapshot, which is taken only when the job stops."""
    return {key: value for key, value in options.items() if key != "initial_snapshot"}


class Standby:
    """The tasks of a spare that makes itself ready for one version (launchers.standby)."""

    def __init__(self, spark: SparkSession, settings: RunnerSettings, folder: Path) -> None:
        self._spark, self._settings, self._folder = spark, settings, folder
        self.prepared: Prepared | None = None
        self._environment: Environment | None = None

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
        sources = self._settings.sources(task["job"], task["name"])
        self.prepared = prepare(self._spark, JobSource.from_dict(task["source"]), task["options"], sources)
        compiled, against = self.prepared.compiled, task["against"]
        self._environment = Environment(
            job_id=task["job"],
            job_name=task["name"],
            lineage="",
            guarantee=compiled.config.processing_guarantee,
            work_dir=self._folder / "work",
            log=log,
            sources=sources,
        )
        state, scratch = Path(against) if against is not None else None, self._folder / "migrations"
        try:
            tried = try_migrations(self._spark, compiled.pipeline, compiled.plan, state, compiled.config.renamed, scratch)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
        return {"plan": compiled.plan.to_dict(), "migrations": tried}

    def _rehearse(self, task: dict[str, Any]) -> dict[str, Any]:
        if self.prepared is None or self._environment is None:
            raise ConflictError("A version is compiled before it is rehearsed.")
        compiled, environment, data_dir = self.prepared.compiled, self._environment, self._settings.data_dir
        running = Checkpoint(checkpoint_folder(data_dir, environment.job_id, task["lineage"]))
        scratch, laid_down = self._folder / "rehearsal", self._folder / "laid-down"
        self.prepared = replace(self.prepared, head_start=HeadStart(laid_down))
        try:
            record = export_checkpoint(running, scratch, "rehearsal")
            rehearsed = rehearse(compiled, environment, Path(record.path), scratch, laid_down)
            if rehearsed is not None:
                gated = start_gated(compiled, environment, data_dir, rehearsed, self._folder / "gate", self._claim)
                self.prepared = replace(self.prepared, head_start=HeadStart(laid_down, gated))
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
        return {}

    def _claim(self, checkpoint: Path) -> None:
        # Whoever removes this standby's folder although it never got its run removes that one, too (launchers.spares).
        (self._folder / "checkpoint").write_text(str(checkpoint))
