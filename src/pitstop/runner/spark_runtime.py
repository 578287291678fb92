"""Spark as the runtime of a run. A warm spare has prepared the version of the job, or it is compiled now."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from pyspark.sql import SparkSession

from pitstop.control.ports.ownership import Ownership
from pitstop.errors import PitstopError
from pitstop.maps.ports import Fence, MapStore
from pitstop.model.job import Job, Progress
from pitstop.model.report import Verdict
from pitstop.model.snapshot import SnapshotRecord
from pitstop.runner.joining import Membership
from pitstop.runner.logs import log
from pitstop.runner.ownership import LOGGER
from pitstop.runner.prepared import KeptVersion, Prepared, RunnerSettings, prepare
from pitstop.runner.runtime import Opened, Ties
from pitstop.snapshots.checkpoint import Checkpoint
from pitstop.snapshots.export import export_checkpoint
from pitstop.spark.base.engines import has_joined
from pitstop.spark.base.environment import Environment
from pitstop.spark.base.failures import explain_run
from pitstop.spark.base.session import placement_of
from pitstop.spark.run import Run
from pitstop.spark.running.bounded import BoundedRun
from pitstop.spark.starting.start_point import StartPoint, start_point

EXPORT_SECONDS = 30.0
"""The time in which an epoch in real time may come to its end for an export, in seconds; else the one before is exported."""


class SparkRuntime:
    """Opens the versions of jobs (runner.runtime.Runtime). ``spark`` is asked for once the job is claimed."""

    def __init__(
        self,
        settings: RunnerSettings,
        maps: MapStore,
        spark: Callable[[], SparkSession],
        prepared: Prepared | None = None,
        membership: Membership | None = None,
    ) -> None:
        """``membership``: in the engine that the run shares with others."""
        self._settings, self._maps, self._spark, self._prepared = settings, maps, spark, prepared
        self._membership = membership or Membership()

    def open(self, job: Job, ties: Ties) -> Opened:
        self._membership.take(job.id, job.token)
        prepared = self._prepared_for(job)
        compiled, head_start = prepared.compiled, prepared.head_start
        ties.when_compiled(compiled.config)
        self._membership.weigh(compiled.config.weight)
        job = dataclasses.replace(job, version=dataclasses.replace(job.version, config=compiled.config))
        environment = self._environment(job, ties.ownership)
        point = start_point(compiled, environment, self._settings.data, job.version.lineage, ties.snapshot, head_start)
        _say_start(job, point)

        def start(before: Progress) -> StartedRun:
            # A job whose state could not be moved would stand still for as long as it cannot.
            run = Run.start(compiled, environment, point, before, ties.poke, head_start, holds=job.moves_failed == 0)
            return StartedRun(run, self._settings)

        plan, config = compiled.plan.to_dict(), compiled.config
        if compiled.bounded:
            named = dataclasses.replace(environment.by_options(config), lineage=point.lineage)
            return Opened(plan, config, point.lineage, start, BoundedRun(compiled.spark, compiled.pipeline, named))
        return Opened(plan, config, point.lineage, start, placement=placement_of(compiled.spark))

    def has_ended(self) -> bool:
        return self._membership.has_ended()

    def explain(self, error: Exception) -> Exception:
        return explain_run(error)

    def _prepared_for(self, job: Job) -> Prepared:
        ready = self._prepared.for_run_of(job) if self._prepared is not None else None
        if ready is not None:
            return ready
        sources, lineage = self._settings.sources(job.id, job.display_name), job.version.lineage
        remains = None
        if lineage is not None:
            remains = KeptVersion(job.version.plan, self._settings.data.job(job.id).checkpoint(lineage))
        return prepare(self._spark(), job.version.source, job.version.options, sources, remains)

    def _environment(self, job: Job, ownership: Ownership) -> Environment:
        return Environment(
            job_id=job.id,
            job_name=job.display_name,
            lineage=job.version.lineage or "",
            guarantee=job.version.config.processing_guarantee,
            work_dir=self._settings.data.job(job.id).work,
            log=log,
            ownership=ownership,
            notes=self._settings.data.job(job.id).withdrawable,
            outputs=self._settings.data.job(job.id).outputs,
            fence=Fence(job.id, job.token),
            maps=self._maps,
            sources=self._settings.sources(job.id, job.display_name),
            in_engine=has_joined(),
        )


class StartedRun:
    """A query of Spark, as the runner drives it (runner.runtime.Started)."""

    def __init__(self, run: Run, settings: RunnerSettings) -> None:
        self._run, self._settings = run, settings

    @property
    def active(self) -> bool:
        return self._run.active

    @property
    def up(self) -> bool:
        return self._run.up

    @property
    def first_epoch(self) -> bool:
        return self._run.tracker.first_epoch

    def look(self) -> Progress:
        return self._run.look()

    @property
    def outgrown(self) -> int | None:
        return self._run.outgrown

    @property
    def holds_still(self) -> bool:
        return self._run.holds_still

    def working_on(self) -> int | None:
        if self.holds_still:  # an epoch that was planned before waits until the state is on disk
            return None
        return self._run.running.under_way()

    def failure(self) -> PitstopError | None:
        return self._run.failure()

    def committed_at(self, epoch: int) -> float | None:
        return self._checkpoint.committed_at(epoch)

    def execution(self, epochs: int) -> dict[str, Any]:
        return self._run.execution(epochs)

    def peek(self, stage: str, limit: int, seconds: float) -> dict[str, Any]:
        return self._run.peek(stage, limit, seconds)

    def stop(self, seconds: float) -> int:
        return self._run.stop(seconds)

    def export(self, name: str, at_rest: bool = False) -> SnapshotRecord:
        if not at_rest:
            self._run.running.end_epoch(EXPORT_SECONDS)
        folder = self._settings.data.new_snapshot(name)
        return export_checkpoint(self._checkpoint, folder, name, self._run.stage_facts(), at_rest)

    @property
    def _checkpoint(self) -> Checkpoint:
        return self._run.running.checkpoint


def _say_start(job: Job, point: StartPoint) -> None:
    if point.report is not None:
        log("INFO", LOGGER, f"state taken over from snapshot '{job.version.config.initial_snapshot}' ({point.report.way.value})")
        for line in point.report.lines:
            level = "WARN" if line.verdict is Verdict.DROPPED else "INFO"
            log(level, LOGGER, f"stage '{line.stage}' {line.verdict.value}: {line.detail}")
    elif job.version.lineage == point.lineage:
        log("INFO", LOGGER, f"goes on after epoch {Checkpoint(point.checkpoint).committed()}")
    else:
        log("INFO", LOGGER, "starts with empty state")
