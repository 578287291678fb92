"""A version of a job, loaded and compiled; a warm spare does that, and rehearses the start, before the job is its own."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from pitstop.errors import ConflictError, PipelineError
from pitstop.model.config import JobConfig
from pitstop.model.data_folder import DataFolder
from pitstop.model.job import Job, JobSource
from pitstop.model.process_folders import SpareFolder, WorkerFolder
from pitstop.model.task import Compilation, Compile, Rehearse
from pitstop.plan.model import Plan
from pitstop.runner.artifacts import importable_copy, load_entry
from pitstop.runner.building import Built, build, built_without_spark
from pitstop.runner.logs import log
from pitstop.snapshots.checkpoint import Checkpoint
from pitstop.snapshots.export import export_checkpoint
from pitstop.spark.base.engines import has_joined
from pitstop.spark.base.environment import Environment, SourceSettings
from pitstop.spark.base.session import scratch_of, send_artifact, send_packages
from pitstop.spark.base.state_stores import store_of
from pitstop.spark.lowering.compiled_job import CompiledJob, compile_job
from pitstop.spark.lowering.looking import findings
from pitstop.spark.lowering.placing import placed
from pitstop.spark.lowering.tables import copies_of, has_copies
from pitstop.spark.restoring.migrations import try_migrations
from pitstop.spark.restoring.saved_facts import facts_at
from pitstop.spark.restoring.source_places import fates_at
from pitstop.spark.starting.gated_query import start_gated
from pitstop.spark.starting.head_start import HeadStart
from pitstop.spark.starting.rehearsal import rehearse

LOGGER = "pitstop.runner"


@dataclass(frozen=True)
class RunnerSettings:
    """The places in which a run works."""

    data: DataFolder
    store_url: str
    store_factory: str
    """``module:function`` by which worker processes open the map store."""

    def sources(self, job_id: str, job_name: str) -> SourceSettings:
        """Return the settings that the sources of a job get."""
        return SourceSettings.working_in(self.data.job(job_id).work, job_name, self.store_url, self.store_factory)


@dataclass(frozen=True)
class Prepared:
    """A compiled job, with its source and options."""

    source: JobSource
    options: dict[str, Any]
    base: JobConfig
    """The options in the job's own code."""
    compiled: CompiledJob
    head_start: HeadStart = field(default_factory=HeadStart)

    def for_run_of(self, job: Job) -> Prepared | None:
        """Return this with the job's present options; None if the job's code or options are others."""
        if (job.version.source, _own(job.version.options)) != (self.source, _own(self.options)):
            return None
        return replace(self, compiled=self.compiled.with_config(JobConfig.from_options(job.version.options, base=self.base)))


@dataclass(frozen=True)
class KeptVersion:
    """The remains of a job's version that has run before: its plan, if it is known, and the checkpoint with which it goes on."""

    plan: dict[str, Any] | None
    checkpoint: Path


def prepare(
    spark: SparkSession,
    source: JobSource,
    options: dict[str, Any],
    sources: SourceSettings,
    remains: KeptVersion | None = None,
    built: Built | None = None,
) -> Prepared:
    """Load and compile a version; ArtifactError, PipelineError or UsageError if it is faulty.

    ``remains``: the remains of an earlier run of this version. What an older release accepted of it stays accepted. If there is a
    copy of each table that it joins, it need not compile anew. ``built``: its pipeline, if the code has made it already.
    """
    dependencies = Path(source.dependencies) if source.dependencies is not None else None
    scratch = scratch_of(spark)
    artifact = Path(source.artifact)
    importable = importable_copy(artifact, scratch)
    definition = load_entry(artifact, source.entry, dependencies, importable) if built is None else None
    if dependencies is not None:
        send_packages(spark, dependencies, scratch)
    send_artifact(spark, importable)
    if built is None:
        assert definition is not None
        built = build(definition, source, options)
    pipeline, config = placed(built.pipeline, source.origin), built.config
    runs_already = remains is not None
    # Its plan has the columns that a run on its checkpoint joins with, whatever else the tables have by now.
    read_tables = copies_of(spark, pipeline, remains.checkpoint) if remains is not None else {}
    try:
        compiled = compile_job(spark, pipeline, config, sources, runs_already, read_tables=read_tables)
    except PipelineError as error:
        if remains is None or remains.plan is None or not has_copies(pipeline, remains.checkpoint):
            raise
        log("WARN", LOGGER, f"the version goes on with the tables that it has read last: {error.message}")
        compiled = compile_job(spark, pipeline, config, sources, runs_already, Plan.from_dict(remains.plan))
    return Prepared(source, options, built.base, compiled)


def _own(options: dict[str, Any]) -> dict[str, Any]:
    """Return options without the name of the snapshot, which is taken only when the job stops."""
    return {key: value for key, value in options.items() if key != "initial_snapshot"}


def compiled_for_check(session: Callable[[], SparkSession], task: Compile, folder: WorkerFolder) -> Compilation:
    """Compile a version as its run would, only to judge it."""
    built = built_without_spark(task.source, task.options)
    spark = session()
    prepared = prepare(spark, task.source, task.options, SourceSettings(), built=built)
    compilation = _compilation(prepared, task, folder.state)
    if not task.looks:
        return compilation
    return replace(compilation, findings=findings(spark, prepared.compiled.pipeline, prepared.compiled.plan))


def _compilation(prepared: Prepared, task: Compile, scratch: Path) -> Compilation:
    """Return the compilation, with facts about the state that it is to take over, and with its migrations tried on that state."""
    compiled = prepared.compiled
    against = Path(task.against) if task.against is not None else None
    try:
        renamed = compiled.config.renamed
        facts = facts_at(compiled.spark, against, compiled.plan, renamed, scratch / "facts")
        fates = fates_at(compiled.spark, against, compiled.pipeline, compiled.plan, compiled.config)
        tried = try_migrations(compiled.spark, compiled.pipeline, compiled.plan, against, renamed, scratch / "migrations")
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return Compilation(compiled.plan.to_dict(), tried, compiled.config.allow_shared, facts, fates)


class StandbyTasks:
    """The tasks of a spare that gets ready for one version of a job (launchers.standby)."""

    def __init__(self, spark: SparkSession, settings: RunnerSettings, folder: SpareFolder) -> None:
        self._spark, self._settings, self._folder = spark, settings, folder
        self.prepared: Prepared | None = None
        self._environment: Environment | None = None

    def do(self, task: Compile | Rehearse) -> Compilation | None:
        """Do a task, and log the time that it took."""
        began = time.monotonic()
        result: Compilation | None = None
        if isinstance(task, Compile):
            result = self._compile(task)
        else:
            self._rehearse(task)
        log("INFO", LOGGER, f"{task.kind} took {time.monotonic() - began:.1f} s")
        return result

    def _compile(self, task: Compile) -> Compilation:
        sources = self._settings.sources(task.job_id, task.job_name)
        self.prepared = prepare(self._spark, task.source, task.options, sources)
        self._environment = Environment(
            job_id=task.job_id,
            job_name=task.job_name,
            lineage="",
            guarantee=self.prepared.compiled.config.processing_guarantee,
            work_dir=self._folder.work,
            log=log,
            sources=sources,
            in_engine=has_joined(),
        )
        return _compilation(self.prepared, task, self._folder.migrations)

    def _rehearse(self, task: Rehearse) -> None:
        if self.prepared is None or self._environment is None:
            raise ConflictError("A version is compiled before it is rehearsed.")
        compiled, environment, data = self.prepared.compiled, self._environment, self._settings.data
        running = Checkpoint(data.job(environment.job_id).checkpoint(task.lineage))
        scratch, laid_down = self._folder.rehearsal, self._folder.laid_down
        self.prepared = replace(self.prepared, head_start=HeadStart(laid_down))
        try:
            saved = task.snapshot
            if saved is None:
                saved = export_checkpoint(running, DataFolder(scratch).snapshot("rehearsal"), "rehearsal", task.stages).path
            rehearsed = rehearse(compiled, environment, Path(saved), scratch, laid_down)
            # A query that is begun before it gets its state takes over the present one.
            if rehearsed is not None and task.snapshot is None:
                store = store_of(Checkpoint(rehearsed).provider())
                gated = start_gated(compiled, environment, data, rehearsed, self._folder.gate, self._claim)
                self.prepared = replace(self.prepared, head_start=HeadStart(laid_down, gated, store))
        finally:
            shutil.rmtree(scratch, ignore_errors=True)

    def _claim(self, checkpoint: Path) -> None:
        # Whoever removes this standby's folder although it never got its run removes that one, too (launchers.spares).
        self._folder.begun.write_text(str(checkpoint))
