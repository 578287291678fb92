"""One run of a job: claim, compile, restore, run, obey, report. All waiting is on the wake socket."""

from __future__ import annotations

import dataclasses
import os
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
from pyspark.sql import SparkSession

from pitstop.control.ports import RunnerLink
from pitstop.errors import EngineError, FencedError, PitstopError, SnapshotError
from pitstop.kit.wake import WakeSocket, wake
from pitstop.maps.ports import Fence, MapStore
from pitstop.model.job import Job, Progress
from pitstop.model.operation import Command, CommandKind, Observation, ObservationKind
from pitstop.runner.logs import log
from pitstop.runner.prepared import Prepared, RunnerSettings, prepare
from pitstop.snapshots.checkpoint import Checkpoint
from pitstop.snapshots.export import export_checkpoint
from pitstop.spark.base.environment import Environment
from pitstop.spark.lowering.compiled_job import CompiledJob
from pitstop.spark.run import Run
from pitstop.spark.running.bounded import run_bounded
from pitstop.spark.starting.start_point import StartPoint, start_point

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
        link: RunnerLink,
        maps: MapStore,
        settings: RunnerSettings,
        spark: Callable[[], SparkSession],
        prepared: Prepared | None = None,
    ) -> None:
        self.job_id, self.token = job_id, token
        self._link, self._maps, self._settings, self._spark = link, maps, settings, spark
        self._prepared = prepared
        self._dir = settings.job_dir(job_id)
        self._dir.mkdir(parents=True, exist_ok=True)
        self._wake = WakeSocket(self._dir / "runner.sock")
        self._fenced: FencedError | None = None
        self._last_command = 0
        self._exports: list[threading.Thread] = []
        self._reported = Progress()
        self._told_running = self._told_epoch = False

    def run(self) -> int:
        """Exit code of the process: 0 if the job ended in order, 1 if it failed, 3 if another run has taken over."""
        try:
            process = psutil.Process()
            job = self._link.claim(self.job_id, self.token, process.pid, process.create_time(), LEASE_SECONDS)
            threading.Thread(target=self._keep_lease, daemon=True).start()
            return self._drive(job)
        except FencedError as error:
            log("WARN", LOGGER, f"this run (token {self.token}) has lost the job: {error}")
            return 3
        except Exception as error:
            return self._failed(error)
        finally:
            self._wake.close()

    def _drive(self, job: Job) -> int:
        log("INFO", LOGGER, f"run {self.token} of job '{job.display_name}' ({job.id}) starts")
        prepared = self._version(job)
        compiled, head_start = prepared.compiled, prepared.head_start
        job = dataclasses.replace(job, config=compiled.config)
        environment = self._environment(job)
        point = start_point(compiled, environment, self._settings.data_dir, job.lineage, self._snapshot(job), head_start)
        self._say_start(job, point)
        self._observe(ObservationKind.COMPILED, self._compiled(compiled, point))
        if compiled.bounded:
            return self._run_bounded(compiled, dataclasses.replace(environment, lineage=point.lineage))
        return self._loop(Run.start(compiled, environment, point, self._link.progress(), self._poke, head_start))

    def _version(self, job: Job) -> Prepared:
        ready = self._prepared.for_run_of(job) if self._prepared is not None else None
        sources = self._settings.sources(job.id, job.display_name)
        return ready or prepare(self._spark(), job.source, job.options, sources)

    def _loop(self, run: Run) -> int:
        while True:
            self._wake.wait(REPORT_SECONDS)
            if self._fenced is not None:
                os._exit(3)  # nothing of this run may write any more, not even Spark's own shutdown
            self._report(run)
            if not run.active:
                self._finish_exports()
                raise run.failure() or EngineError("The query ended by itself.")
            for command in self._link.commands(self._last_command):
                self._last_command = command.id
                if command.kind is CommandKind.STOP:
                    return self._stop(run, command)
                self._export(run, command)

    def _run_bounded(self, compiled: CompiledJob, environment: Environment) -> int:
        self._observe(ObservationKind.RUNNING, {"epoch": -1})
        run_bounded(compiled.spark, compiled.pipeline, environment)
        self._observe(ObservationKind.COMPLETED, {})
        return 0

    def _stop(self, run: Run, command: Command) -> int:
        log("INFO", LOGGER, "stopping at the next epoch boundary")
        self._finish_exports()
        epoch = run.stop(STOP_SECONDS)
        self._report(run, force=True)
        payload: dict[str, Any] = {"epoch": epoch, "operation": command.args.get("operation")}
        payload["committed_at"] = run.running.checkpoint.committed_at(epoch)
        if command.args.get("snapshot"):
            try:
                payload["snapshot"] = self._take_snapshot(run, command.args["snapshot"])
            except (PitstopError, OSError) as error:
                payload["error"] = _travelling(error)
        self._observe(ObservationKind.STOPPED, payload)
        log("INFO", LOGGER, f"stopped after epoch {epoch}")
        return 0

    def _export(self, run: Run, command: Command) -> None:
        """In a thread of its own: the job goes on meanwhile, and exports follow one another."""
        before = list(self._exports)

        def work() -> None:
            for thread in before:
                thread.join()
            operation = command.args.get("operation")
            try:
                record = self._take_snapshot(run, command.args["snapshot"])
                self._observe(ObservationKind.EXPORTED, {"operation": operation, "snapshot": record})
            except FencedError as error:
                self._fenced = error
            except (PitstopError, OSError) as error:
                self._observe(ObservationKind.EXPORT_FAILED, {"operation": operation, "error": _travelling(error)})

        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        self._exports = [t for t in self._exports if t.is_alive()] + [thread]

    def _take_snapshot(self, run: Run, name: str) -> dict[str, Any]:
        checkpoint: Checkpoint = run.running.checkpoint
        record = export_checkpoint(checkpoint, self._settings.data_dir, name, run.stage_facts())
        log("INFO", LOGGER, f"exported snapshot '{name}' of epoch {record.epoch}: {record.bytes:,} bytes")
        return dataclasses.asdict(record)

    def _finish_exports(self) -> None:
        for thread in self._exports:
            thread.join()

    def _report(self, run: Run, force: bool = False) -> None:
        tracker = run.tracker
        assert tracker is not None
        progress = run.look()
        if not self._told_running and tracker.ready and run.active:
            self._told_running = True
            epoch = progress.epoch if tracker.first_epoch else -1
            at = run.running.checkpoint.committed_at(epoch)
            self._observe(ObservationKind.RUNNING, {"epoch": epoch, "committed_at": at})
        if not self._told_epoch and tracker.first_epoch:
            self._told_epoch = True
            self._observe(ObservationKind.EPOCH, {"epoch": progress.epoch})
        if progress != self._reported or force:
            self._reported = progress
            self._link.report(progress)

    def _environment(self, job: Job) -> Environment:
        return Environment(
            job_id=job.id,
            job_name=job.display_name,
            lineage=job.lineage or "",
            guarantee=job.config.processing_guarantee,
            work_dir=self._dir / "work",
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

    def _compiled(self, compiled: CompiledJob, point: StartPoint) -> dict[str, Any]:
        report = point.report.to_dict() if point.report is not None else None
        config = compiled.config.to_dict()
        return {"plan": compiled.plan.to_dict(), "lineage": point.lineage, "report": report, "config": config}

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
        wake(self._wake.path)

    def _observe(self, kind: ObservationKind, payload: dict[str, Any]) -> None:
        self._link.observe(Observation(self.job_id, self.token, kind, payload))

    def _failed(self, error: Exception) -> int:
        details = traceback.format_exc()
        restartable = False
        if isinstance(error, PitstopError):
            details = str(error.details.pop("trace", details))
            restartable = bool(error.details.pop("restartable", False))
        travelling = _travelling(error)
        log("ERROR", LOGGER, travelling["message"])
        try:
            self._observe(ObservationKind.FAILED, {"error": travelling, "details": details, "restartable": restartable})
        except FencedError:
            return 3
        return 1


def _travelling(error: BaseException) -> dict[str, Any]:
    if isinstance(error, PitstopError):
        return error.to_dict()
    return EngineError(f"{type(error).__name__}: {error}").to_dict()
