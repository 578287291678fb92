"""One run of a job: it claims the job, starts its query, and then reports and obeys commands, step by step.

A step looks once and never waits; all waiting is between steps.
"""

from __future__ import annotations

import dataclasses
import os
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable
from pathlib import Path

from pitstop.control.lanes import Lanes, Spawn, in_thread
from pitstop.control.ports import RunHandle, RunnerLink, Waiter, Wake
from pitstop.errors import EngineError, FencedError, PitstopError, Problem, SnapshotError
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
from pitstop.runner.engine import Engine, Started
from pitstop.runner.logs import Log, log

LEASE_SECONDS = 10.0
RENEW_SECONDS = 2.0
REPORT_SECONDS = 0.5
STOP_SECONDS = 120.0
LEAVE_SECONDS = 30.0
"""How long after it has lost its job a run may take to end by itself."""
EXPORTS = "exports"
LOGGER = "pitstop.runner"


class Runner:
    """Drives one job until it is told to stop, ends, fails, or has lost its lease.

    ``handle`` names its process; ``log`` takes the lines of the job's log.
    """

    def __init__(
        self,
        job_id: str,
        token: int,
        handle: RunHandle,
        link: RunnerLink,
        wake: Wake,
        engine: Engine,
        spawn: Spawn = in_thread,
        log: Log = log,
    ) -> None:
        self.job_id, self.token = job_id, token
        self._handle, self._link, self._wake, self._engine = handle, link, wake, engine
        self._log = log
        self._fenced: FencedError | None = None
        self._exports = Lanes(spawn)
        self._untold: deque[Fact] = deque()
        """Facts about exports, which are made beside the steps and told by them."""
        self._started: Started | None = None
        self._last_command = 0
        self._reported = Progress()
        self._told_running = self._told_epoch = False

    def run(self) -> int:
        """Exit code of the process: 0 if the job ended in order, 1 if it failed, 3 if another run has taken over."""
        waiter = self._wake.waiter(self.job_id)
        try:
            return self._to_the_end(waiter)
        except FencedError as error:
            self._log("WARN", LOGGER, f"this run (token {self.token}) has lost the job: {error}")
            if self._started is not None:
                os._exit(3)  # nothing of this run may write any more, not even Spark's own shutdown
            return 3
        finally:
            waiter.close()

    def _to_the_end(self, waiter: Waiter) -> int:
        code = self.begin(lambda: _keep_lease(self))
        while code is None:
            waiter.wait(REPORT_SECONDS)
            code = self.step()
        return code

    def begin(self, claimed: Callable[[], None] = lambda: None) -> int | None:
        """Claim the job, call ``claimed``, and start it; the exit code if that is its end already."""

        def begin() -> int | None:
            job = self._claim()
            claimed()
            return self._begin(job)

        return self._unless_failed(begin)

    def step(self) -> int | None:
        """Look once: report, obey; the exit code if the run has come to its end."""
        return self._unless_failed(self._step)

    def renew(self) -> bool:
        """Renew the lease; False if the job is lost for good. A store that is busy or away is tried again later."""
        try:
            self._link.renew(LEASE_SECONDS)
        except FencedError as error:
            self._fenced = error
            self._poke()
            return False
        except Exception as error:
            self._log("WARN", LOGGER, f"could not renew the lease: {error}")
        return True

    def _unless_failed(self, work: Callable[[], int | None]) -> int | None:
        try:
            return work()
        except FencedError:
            raise
        except Exception as error:
            return self._failed(error)

    def _claim(self) -> Job:
        job = self._link.claim(self.job_id, self.token, self._handle, LEASE_SECONDS)
        self._log("INFO", LOGGER, f"run {self.token} of job '{job.display_name}' ({job.id}) starts")
        return job

    def _begin(self, job: Job) -> int | None:
        opened = self._engine.open(job, self._snapshot(job), self._check_fence, self._poke)
        self._observe(Compiled(opened.plan, opened.lineage, opened.config))
        if opened.run_to_end is None:
            self._started = opened.start(self._link.progress())
            return None
        self._observe(Running(-1))
        opened.run_to_end()
        self._observe(Completed())
        return 0

    def _step(self) -> int | None:
        started = self._started
        assert started is not None, "the run has not begun"
        if self._fenced is not None:
            raise self._fenced
        self._report(started)
        self._tell_of_exports()
        if not started.active:
            self._exports.settle()
            self._tell_of_exports()
            raise started.failure() or EngineError("The query ended by itself.")
        for command in self._link.commands(self._last_command):
            self._last_command = command.id
            if isinstance(command.order, StopRun):
                return self._stop(started, command.order)
            self._export(started, command.order)
        return None

    def _stop(self, started: Started, order: StopRun) -> int:
        self._log("INFO", LOGGER, "stopping at the next epoch boundary")
        self._exports.settle()
        self._tell_of_exports()
        epoch = started.stop(STOP_SECONDS)
        self._report(started, force=True)
        snapshot: SnapshotRecord | None = None
        problem: Problem | None = None
        if order.snapshot is not None:
            try:
                snapshot = self._take_snapshot(started, order.snapshot)
            except (PitstopError, OSError) as error:
                problem = _problem(error)
        self._observe(Stopped(started.committed_at(epoch), snapshot, problem))
        self._log("INFO", LOGGER, f"stopped after epoch {epoch}")
        return 0

    def _export(self, started: Started, order: TakeSnapshot) -> None:
        """The job goes on meanwhile, and exports follow one another."""

        def work() -> None:
            try:
                self._untold.append(Exported(order.operation, self._take_snapshot(started, order.snapshot)))
            except FencedError as error:
                self._fenced = error
            except Exception as error:
                self._untold.append(ExportFailed(order.operation, _problem(error)))
            self._poke()

        self._exports.put(EXPORTS, work)

    def _tell_of_exports(self) -> None:
        """What became of exports; a store that is away is told at the next look."""
        while self._untold:
            self._observe(self._untold[0])
            self._untold.popleft()

    def _take_snapshot(self, started: Started, name: str) -> SnapshotRecord:
        record = started.export(name)
        self._log("INFO", LOGGER, f"exported snapshot '{name}' of epoch {record.epoch}: {record.bytes:,} bytes")
        return record

    def _report(self, started: Started, force: bool = False) -> None:
        progress = started.look()
        if not self._told_running and started.up and started.active:
            self._told_running = True
            epoch = progress.epoch if started.first_epoch else -1
            self._observe(Running(epoch, started.committed_at(epoch)))
        if not self._told_epoch and started.first_epoch:
            self._told_epoch = True
            self._observe(EpochCommitted(progress.epoch))
        if progress != self._reported or force:
            self._reported = progress
            self._link.report(progress)

    def _snapshot(self, job: Job) -> Path | None:
        name = job.version.config.initial_snapshot
        if name is None:
            return None
        record = self._link.get_snapshot(name)
        if record is None:
            raise SnapshotError(
                f'snapshot "{name}" doesn\'t exist or is damaged. Unable to restore the state for {job.display_name}'
            )
        return Path(record.path)

    def _check_fence(self) -> None:
        if self._fenced is not None:
            raise self._fenced
        self._link.check()

    def _poke(self) -> None:
        self._wake.wake(self.job_id)

    def _observe(self, fact: Fact) -> None:
        self._link.observe(Observation(self.job_id, self.token, fact))

    def _failed(self, error: Exception) -> int:
        problem, details, restartable = _problem(error), traceback.format_exc(), False
        if isinstance(error, PitstopError):
            told = dict(problem.details)
            details, restartable = str(told.pop("trace", details)), bool(told.pop("restartable", False))
            problem = dataclasses.replace(problem, details=told)
        self._log("ERROR", LOGGER, problem.message)
        self._observe(Failed(problem, details, restartable))
        return 1


def _keep_lease(runner: Runner) -> None:
    """Renew the lease of a run in a thread of its own, until the job is lost; then see to it that the process ends."""

    def renew() -> None:
        while runner.renew():
            time.sleep(RENEW_SECONDS)
        time.sleep(LEAVE_SECONDS)
        os._exit(3)  # code of the job's own that never comes back keeps the steps from seeing that the job is lost

    threading.Thread(target=renew, daemon=True, name="lease").start()


def _problem(error: BaseException) -> Problem:
    if isinstance(error, PitstopError):
        return error.problem
    return EngineError(f"{type(error).__name__}: {error}").problem
