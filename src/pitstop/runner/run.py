"""One run of a job: claim, compile, restore, run, obey, report. All waiting is on the wake socket."""

from __future__ import annotations

import dataclasses
import os
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path

from pyspark.sql import SparkSession

from pitstop.control.ports import RunHandle, RunnerLink, Wake
from pitstop.errors import EngineError, FencedError, PitstopError, Problem, SnapshotError
from pitstop.maps.ports import Fence, MapStore
from pitstop.model.job import Job, Progress
from pitstop.model.run import (
    Compiled,
    Completed,
    EpochCommitted,
    Exported,
    ExportFailed,
    Fact,
    Failed,
    Observation,
    Running,
    Stopped,
    StopRun,
    TakeSnapshot,
)
from pitstop.model.snapshot import SnapshotRecord
from pitstop.runner.logs import log
from pitstop.runner.prepared import Prepared, RunnerSettings, prepare
from pitstop.snapshots.checkpoint import Checkpoint
from pitstop.snapshots.export import export_checkpoint
from pitstop.spark.base.environment import Environment
from pitstop.spark.engine import Engine, StartPoint

LEASE_SECONDS = 10.0
RENEW_SECONDS = 2.0
REPORT_SECONDS = 0.5
STOP_SECONDS = 120.0
LOGGER = "pitstop.runner"


class Runner:
    """Drives one job until it is told to stop, ends, fails, or has lost its lease."""

    def __init__(
        self,
        job_id: str,
        token: int,
        handle: RunHandle,
        link: RunnerLink,
        wake: Wake,
        maps: MapStore,
        settings: RunnerSettings,
        spark: Callable[[], SparkSession],
        prepared: Prepared | None = None,
    ) -> None:
        self.job_id, self.token = job_id, token
        self._link, self._maps, self._settings, self._spark = link, maps, settings, spark
        self._prepared = prepared
        self._folder = settings.data.job(job_id)
        self._folder.root.mkdir(parents=True, exist_ok=True)
        self._handle, self._wake, self._waiter = handle, wake, wake.waiter(job_id)
        self._fenced: FencedError | None = None
        self._last_command = 0
        self._exports: list[threading.Thread] = []
        self._reported = Progress()
        self._told_running = self._told_epoch = False

    def run(self) -> int:
        """Exit code of the process: 0 if the job ended in order, 1 if it failed, 3 if another run has taken over."""
        try:
            job = self._link.claim(self.job_id, self.token, self._handle, LEASE_SECONDS)
            threading.Thread(target=self._keep_lease, daemon=True).start()
            return self._drive(job)
        except FencedError as error:
            log("WARN", LOGGER, f"this run (token {self.token}) has lost the job: {error}")
            return 3
        except Exception as error:
            return self._failed(error)
        finally:
            self._waiter.close()

    def _drive(self, job: Job) -> int:
        log("INFO", LOGGER, f"run {self.token} of job '{job.display_name}' ({job.id}) starts")
        engine = self._engine(job)
        job = dataclasses.replace(job, config=engine.config)
        point = engine.prepare(self._settings.data, job.lineage, self._snapshot(job))
        self._say_start(job, point)
        self._observe(Compiled(engine.plan.to_dict(), point.lineage, engine.config))
        if engine.bounded:
            return self._run_bounded(engine, point)
        engine.start(point, self._link.progress(), self._poke)
        return self._loop(engine)

    def _engine(self, job: Job) -> Engine:
        environment = self._environment(job)
        ready = self._prepared.engine_of(job, environment) if self._prepared is not None else None
        return ready or prepare(self._spark(), job.source, job.options, environment).engine

    def _loop(self, engine: Engine) -> int:
        while True:
            self._waiter.wait(REPORT_SECONDS)
            if self._fenced is not None:
                os._exit(3)  # nothing of this run may write any more, not even Spark's own shutdown
            self._report(engine)
            if not engine.active:
                self._finish_exports()
                raise engine.failure() or EngineError("The query ended by itself.")
            for command in self._link.commands(self._last_command):
                self._last_command = command.id
                if isinstance(command.order, StopRun):
                    return self._stop(engine, command.order)
                self._export(engine, command.order)

    def _run_bounded(self, engine: Engine, point: StartPoint) -> int:
        self._observe(Running(-1))
        engine.run_bounded(point.lineage)
        self._observe(Completed())
        return 0

    def _stop(self, engine: Engine, order: StopRun) -> int:
        log("INFO", LOGGER, "stopping at the next epoch boundary")
        self._finish_exports()
        epoch = engine.stop(STOP_SECONDS)
        self._report(engine, force=True)
        snapshot: SnapshotRecord | None = None
        problem: Problem | None = None
        if order.snapshot is not None:
            try:
                snapshot = self._take_snapshot(engine, order.snapshot)
            except (PitstopError, OSError) as error:
                problem = _problem(error)
        self._observe(Stopped(engine.running.checkpoint.committed_at(epoch), snapshot, problem))
        log("INFO", LOGGER, f"stopped after epoch {epoch}")
        return 0

    def _export(self, engine: Engine, order: TakeSnapshot) -> None:
        """In a thread of its own: the job goes on meanwhile, and exports follow one another."""
        before = list(self._exports)

        def work() -> None:
            for thread in before:
                thread.join()
            try:
                self._observe(Exported(order.operation, self._take_snapshot(engine, order.snapshot)))
            except FencedError as error:
                self._fenced = error
            except (PitstopError, OSError) as error:
                self._observe(ExportFailed(order.operation, _problem(error)))

        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        self._exports = [t for t in self._exports if t.is_alive()] + [thread]

    def _take_snapshot(self, engine: Engine, name: str) -> SnapshotRecord:
        checkpoint: Checkpoint = engine.running.checkpoint
        record = export_checkpoint(checkpoint, self._settings.data, name, engine.stage_facts())
        log("INFO", LOGGER, f"exported snapshot '{name}' of epoch {record.epoch}: {record.bytes:,} bytes")
        return record

    def _finish_exports(self) -> None:
        for thread in self._exports:
            thread.join()

    def _report(self, engine: Engine, force: bool = False) -> None:
        tracker = engine.tracker
        assert tracker is not None
        progress = engine.look()
        if not self._told_running and tracker.ready and engine.active:
            self._told_running = True
            epoch = progress.epoch if tracker.first_epoch else -1
            at = engine.running.checkpoint.committed_at(epoch)
            self._observe(Running(epoch, at))
        if not self._told_epoch and tracker.first_epoch:
            self._told_epoch = True
            self._observe(EpochCommitted(progress.epoch))
        if progress != self._reported or force:
            self._reported = progress
            self._link.report(progress)

    def _environment(self, job: Job) -> Environment:
        return Environment(
            job_id=job.id,
            job_name=job.display_name,
            lineage=job.lineage or "",
            guarantee=job.config.processing_guarantee,
            work_dir=self._folder.work,
            log=log,
            check_fence=self._check_fence,
            fence=Fence(job.id, self.token),
            maps=self._maps,
            sources=self._settings.sources(job.id, job.display_name),
        )

    def _snapshot(self, job: Job) -> Path | None:
        name = job.config.initial_snapshot
        if name is None:
            return None
        record = self._link.get_snapshot(name)
        if record is None:
            raise SnapshotError(
                f'snapshot "{name}" doesn\'t exist or is damaged. Unable to restore the state for {job.display_name}'
            )
        return Path(record.path)

    def _say_start(self, job: Job, point: StartPoint) -> None:
        if point.report is not None:
            log("INFO", LOGGER, f"state taken over from snapshot '{job.config.initial_snapshot}' ({point.report.way.value})")
            for line in point.report.lines:
                level = "WARN" if line.verdict.value == "dropped" else "INFO"
                log(level, LOGGER, f"stage '{line.stage}' {line.verdict.value}: {line.detail}")
        elif job.lineage == point.lineage:
            log("INFO", LOGGER, f"goes on after epoch {Checkpoint(point.checkpoint).committed()}")
        else:
            log("INFO", LOGGER, "starts with empty state")

    def _check_fence(self) -> None:
        if self._fenced is not None:
            raise self._fenced
        self._link.check()

    def _keep_lease(self) -> None:
        while True:
            time.sleep(RENEW_SECONDS)
            try:
                self._link.renew(LEASE_SECONDS)
            except FencedError as error:
                self._fenced = error
                self._poke()
                return
            except Exception as error:  # the store is busy or away: the next round may work
                log("WARN", LOGGER, f"could not renew the lease: {error}")

    def _poke(self) -> None:
        self._wake.wake(self.job_id)

    def _observe(self, fact: Fact) -> None:
        self._link.observe(Observation(self.job_id, self.token, fact))

    def _failed(self, error: Exception) -> int:
        details = traceback.format_exc()
        restartable = False
        if isinstance(error, PitstopError):
            details = str(error.details.pop("trace", details))
            restartable = bool(error.details.pop("restartable", False))
        problem = _problem(error)
        log("ERROR", LOGGER, problem.message)
        try:
            self._observe(Failed(problem, details, restartable))
        except FencedError:
            return 3
        return 1


def _problem(error: BaseException) -> Problem:
    if isinstance(error, PitstopError):
        return error.problem
    return EngineError(f"{type(error).__name__}: {error}").problem
