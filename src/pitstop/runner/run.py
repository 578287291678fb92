"""One run of a job: it claims the job, starts its query, and then reports and obeys commands, step by step.

A step looks once and never waits; all waiting is between steps.
"""

from __future__ import annotations

import dataclasses
import os
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from pitstop.control.lanes import Lanes, Spawn, in_thread
from pitstop.control.ports.launcher import RunHandle
from pitstop.control.ports.ownership import RunnerLink
from pitstop.control.ports.wake import Waiter, Wake
from pitstop.errors import EngineError, FencedError, PitstopError, Problem, SnapshotError, StoreError
from pitstop.machine.questions import QuestionBox
from pitstop.model.cluster import Placement
from pitstop.model.config import JobConfig
from pitstop.model.job import Job
from pitstop.model.run import (
    Compiled,
    Completed,
    EngineLoss,
    EpochCommitted,
    Exported,
    ExportFailed,
    Fact,
    NoteConcern,
    Running,
    StateOutgrown,
    Stopped,
    StopRun,
    TakeSnapshot,
)
from pitstop.model.snapshot import SnapshotRecord
from pitstop.runner.bounds import Bounds
from pitstop.runner.deadlines import Answers, Deadlines, took_too_long
from pitstop.runner.failing import failed, problem_of
from pitstop.runner.logs import Log, log
from pitstop.runner.outbox import Outbox
from pitstop.runner.ownership import LOGGER, LinkOwnership
from pitstop.runner.replies import Replies
from pitstop.runner.runtime import Runtime, Started, Ties
from pitstop.runner.whole import WholeRun
from pitstop.snapshots.export import NO_EPOCH

LEASE_SECONDS = 10.0
RENEW_SECONDS = 2.0
REPORT_SECONDS = 0.5
STOP_SECONDS = 120.0
LEAVE_SECONDS = 30.0
"""The longest that a run may take to end by itself after it has lost its job, in seconds."""
LONG_SECONDS = 10
"""The seconds after which a running epoch is reported as long."""
OUTGROWN_SECONDS = 30.0
"""The time between two reports that the state is to move to disk, in seconds, until the run is ended for that."""
EXPORTS = "exports"
WRITERS_SECONDS = 60.0
"""A time, in seconds, that is longer than a call of the store waits for earlier writers."""


class Runner:
    """Drives one job until it is told to stop, ends, fails, or has lost its lease.

    ``handle`` names its process; ``log`` takes the lines of the job's log; ``pause`` waits for so many seconds. It answers
    ``questions`` beside its steps.
    """

    def __init__(
        self,
        job_id: str,
        token: int,
        handle: RunHandle,
        link: RunnerLink,
        wake: Wake,
        runtime: Runtime,
        spawn: Spawn = in_thread,
        log: Log = log,
        pause: Callable[[float], None] = time.sleep,
        monotonic: Callable[[], float] = time.monotonic,
        questions: QuestionBox | None = None,
    ) -> None:
        self.job_id, self.token = job_id, token
        self._handle, self._link, self._wake, self._runtime = handle, link, wake, runtime
        self._log = log
        self._ownership = LinkOwnership(link, log, pause, monotonic)
        self._deadlines, self._answers = Deadlines(monotonic), Answers(monotonic)
        self._config = JobConfig()
        self._bounds = Bounds({}, self._config)
        self._spawn, self._exports = spawn, Lanes(spawn)
        self._replies = Replies(questions, spawn) if questions is not None else None
        self._started: Started | None = None
        self._whole: WholeRun | None = None
        """The version that runs once, in the place of a query, if all sources end."""
        self._placement: Placement | None = None
        self._last_command = 0
        self._outbox = Outbox(job_id, token, link)
        self._exceeded: EngineError | None = None
        self._exit_code: int | None = None
        """The exit code with which the process ends once all is told; None until the run has come to its end."""
        self._interruption: str | None = None
        """The reason for which the run before has ended by itself, if it did."""
        self._claimed = False
        self._when_claimed: Callable[[], None] = lambda: None
        self._running = self._has_epoch = False
        self._monotonic = monotonic
        self._outgrown_at = float("-inf")

    def run(self) -> int:
        """Run the job and return the process's exit code: 0 if it ended in order, 1 if it failed, 3 if another run took over."""
        waiter = self._wake.waiter(self.job_id)
        try:
            return self._to_the_end(waiter)
        except FencedError as error:
            self._log("WARN", LOGGER, f"this run (token {self.token}) has lost the job: {error}")
            if self._steps_begun:
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
        """Claim the job, call ``claimed``, and start it; return the exit code if that is its end already."""
        self._when_claimed = claimed
        return self.step()

    def step(self) -> int | None:
        """Claim the job if that is not done yet, else obey commands; then report. Return the exit code at the run's end."""
        return self._do(self._step if self._claimed else self._start)

    def renew(self) -> bool:
        """Renew the lease; return False if the job is lost for good. A store that is busy or away is tried again later."""
        try:
            self._link.renew(LEASE_SECONDS)
        except FencedError as error:
            self._ownership.lost = error
            self._poke()
            return False
        except Exception as error:  # the thread that renews must go on: without it the job is lost
            self._log("WARN", LOGGER, f"could not renew the lease: {error}")
        return True

    def give_up_if_overdue(self) -> bool:
        """Report that the run has failed if it hangs where its steps cannot see that; return True if it did.

        It can hang so before the steps have begun, and while one of them waits for an answer of the query. Call this from another
        thread. If it returns True, end the process at once.
        """
        error = (self._answers.overdue() or self._sink_overdue()) if self._steps_begun else self._deadlines.overdue()
        if error is None:
            return False
        self._fail(error)
        try:
            self._outbox.send()
        except PitstopError as away:
            self._log("WARN", LOGGER, f"could not tell that the run hangs: {away}")
        return True

    def _sink_overdue(self) -> EngineError | None:
        """Return the error of a sink's function that takes too long: in its transaction, it may keep steps from reporting."""
        limit_ms = self._config.epoch_timeout_ms if self._has_epoch else self._config.first_epoch_timeout_ms
        option = "epoch_timeout" if self._has_epoch else "first_epoch_timeout"
        # Who waits for other writers, as long as the store lets him, does not hang.
        late = self._ownership.seconds > max(limit_ms / 1000, WRITERS_SECONDS)
        return took_too_long("a sink has not written its rows", option, limit_ms) if late else None

    @property
    def _steps_begun(self) -> bool:
        return self._started is not None or self._whole is not None

    def _do(self, work: Callable[[], None]) -> int | None:
        """Do a part of the run's work and report the outcome; return the exit code once the run has ended and all is reported.

        A store that is away costs time only: what was not read or told is read or told at the next step.
        """
        try:
            if self._exit_code is None:
                self._or_fail(work)
            self._outbox.send()
        except StoreError as error:
            self._ownership.say_away(error)
            return None
        self._ownership.is_back()
        return self._exit_code

    def _or_fail(self, work: Callable[[], None]) -> None:
        try:
            work()
        except FencedError:
            raise
        except StoreError as error:
            if self._steps_begun or not self._claimed:
                raise
            self._fail(error)
        except Exception as error:  # the control plane is told, and decides
            self._fail(self._runtime.explain(error))

    def _start(self) -> None:
        job = self._link.claim(self.job_id, self.token, self._handle, LEASE_SECONDS)
        self._claimed, self._interruption = True, job.interruption
        self._when_claimed()
        self._log("INFO", LOGGER, f"run {self.token} of job '{job.display_name}' ({job.id}) starts")
        self._deadlines.compiling(job.version.config)
        ties = Ties(self._ownership, partial(self._snapshot, job), self._deadlines.starting, self._poke)
        opened = self._runtime.open(job, ties)
        self._config, self._bounds = opened.config, Bounds(opened.plan, opened.config)
        self._outbox.put(Compiled(opened.plan, opened.lineage, opened.config, bounded=opened.whole is not None))
        # Before the first epoch: what it writes is known again by the lineage.
        self._outbox.send()
        if opened.whole is None:
            self._placement = opened.placement
            self._started = opened.start(self._link.progress())
            return
        self._outbox.put(Running(-1))
        self._outbox.send()
        self._deadlines.nothing()
        self._whole = WholeRun(opened.whole, self._spawn, self._poke)
        self._whole.begin()
        self._step_whole(self._whole)

    def _step_whole(self, whole: WholeRun) -> None:
        if self._ownership.lost is not None:
            raise self._ownership.lost
        if isinstance(whole.error, FencedError):
            raise whole.error
        ended = whole.ended  # before its numbers, which are then the last
        self._outbox.progress = dataclasses.replace(whole.progress, busy_seconds=self._long_under_way())
        if whole.error is not None:
            self._fail(self._runtime.explain(whole.error))
            return
        if ended:
            self._end(0, Completed())
            return
        with self._answers.awaited(self._config):
            self._deadlines.task(whole.done(), self._config)
        self._outbox.progress = dataclasses.replace(self._outbox.progress, busy_seconds=self._long_under_way())
        self._outbox.send()
        hangs = self._deadlines.overdue()
        if hangs is not None:
            self._fail(hangs)
            return
        for command in self._link.commands(self._last_command):
            self._last_command = command.id
            if isinstance(command.order, NoteConcern):
                self._log("WARN", LOGGER, command.order.concern)
            elif isinstance(command.order, StopRun):
                # Only a control plane that takes its runs with it asks for that: the batch begins anew when there is another one.
                with self._answers.awaited(self._config):
                    whole.end()
                self._end(0, Stopped())
                return

    def _step(self) -> None:
        if self._whole is not None:
            self._step_whole(self._whole)
            return
        started = self._started
        assert started is not None, "the run has not begun"
        if self._ownership.lost is not None:
            raise self._ownership.lost
        self._look(started)
        self._outbox.send()
        wrong = self._deadlines.overdue() or self._exceeded
        if wrong is not None:
            self._fail(wrong)
            return
        with self._answers.awaited(self._config):
            failure = None if started.active else started.failure() or EngineError("The query ended by itself.")
        if failure is not None:
            self._settle_exports()
            self._fail(failure)
            return
        if self._replies is not None:
            self._replies.look(started)
        for command in self._link.commands(self._last_command):
            self._last_command = command.id
            if isinstance(command.order, StopRun):
                self._stop(started, command.order)
                return
            if isinstance(command.order, NoteConcern):
                self._log("WARN", LOGGER, command.order.concern)
            else:
                self._export(started, command.order)

    def _stop(self, started: Started, order: StopRun) -> None:
        self._log("INFO", LOGGER, "stopping at the next epoch boundary")
        asked_at = time.time()
        self._settle_exports()
        with self._answers.awaited(self._config, STOP_SECONDS):
            epoch = started.stop(STOP_SECONDS)
        self._look(started)
        snapshot: SnapshotRecord | None = None
        problem: Problem | None = None
        if order.snapshot is not None:
            try:
                with self._answers.awaited(self._config):
                    snapshot = self._take_snapshot(started, order.snapshot, at_rest=True)
            except (PitstopError, OSError) as error:
                problem = problem_of(error)
        committed_at = started.committed_at(epoch)
        self._end(0, Stopped(committed_at, snapshot, problem, max(asked_at, committed_at or 0.0)))
        self._log("INFO", LOGGER, f"stopped after epoch {epoch}")

    def _settle_exports(self) -> None:
        """Let exports that are under way come to their end, within the time of an epoch."""
        if not self._exports.settle(self._config.epoch_timeout_ms / 1000):
            self._log("WARN", LOGGER, "a snapshot that is being exported takes too long and is given up (option epoch_timeout)")

    def _export(self, started: Started, order: TakeSnapshot) -> None:
        """Begin an export. The job goes on meanwhile, and exports follow one another."""

        def work() -> None:
            try:
                self._outbox.put(Exported(order.operation, self._take_snapshot(started, order.snapshot)))
            except FencedError as error:
                self._ownership.lost = error
            except Exception as error:  # the control plane is told, and the job goes on
                self._outbox.put(ExportFailed(order.operation, problem_of(error)))
            self._poke()

        self._exports.put(EXPORTS, work)

    def _take_snapshot(self, started: Started, name: str, at_rest: bool = False) -> SnapshotRecord:
        try:
            record = started.export(name, at_rest)
        except SnapshotError as error:
            if not error.details.pop(NO_EPOCH, False):
                raise
            raise SnapshotError(f"{error.message} {self._way_to_an_epoch(started)}", **error.details) from error
        self._log("INFO", LOGGER, f"exported snapshot '{name}' of epoch {record.epoch}: {record.bytes:,} bytes")
        return record

    def _way_to_an_epoch(self, started: Started) -> str:
        """Return the advice for a job that has no epoch yet: the cause, if its epochs fail."""
        failure = started.failure()
        reason = failure.message if failure is not None else self._interruption
        if reason is None:
            return "Try again once the job has got rows and done its first epoch."
        return f"Its first epoch fails ({reason.rstrip('.')}): mend that, or cancel the job and submit the new version."

    def _look(self, started: Started) -> None:
        """Look at the progress of the query."""
        with self._answers.awaited(self._config):
            progress, active = started.look(), started.active
        if self._running:
            self._time_epoch(started)
            progress = dataclasses.replace(progress, busy_seconds=self._long_under_way())
        self._exceeded = self._bounds.exceeded(progress)
        self._outbox.progress = progress if self._config.metrics_enabled else dataclasses.replace(progress, stages={})
        if not self._running and started.up and active:
            self._running = True
            epoch = progress.epoch if started.first_epoch else -1
            self._outbox.put(Running(epoch, started.committed_at(epoch), self._placement))
        if not self._has_epoch and started.first_epoch:
            self._has_epoch = True
            self._outbox.put(EpochCommitted(progress.epoch))
        if started.outgrown is not None and self._monotonic() - self._outgrown_at > OUTGROWN_SECONDS:
            self._outgrown_at = self._monotonic()
            with self._answers.awaited(self._config):
                holds = started.holds_still
            self._outbox.put(StateOutgrown(started.outgrown, holds))

    def _time_epoch(self, started: Started) -> None:
        epoch = started.working_on()
        if epoch is None:
            self._deadlines.nothing()
        else:
            self._deadlines.epoch(epoch, self._config)

    def _long_under_way(self) -> int:
        """Return the seconds that the present epoch has taken, in steps that the store can bear; 0 if that is not long."""
        return int(self._deadlines.seconds) // LONG_SECONDS * LONG_SECONDS

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

    def _poke(self) -> None:
        self._wake.wake(self.job_id)

    def _end(self, code: int, fact: Fact) -> None:
        self._deadlines.nothing()
        self._outbox.put(fact)
        self._exit_code = code

    def _fail(self, error: Exception) -> None:
        failure = failed(error, self._engine_loss())
        self._log("ERROR", LOGGER, failure.error.message)
        self._end(1, failure)

    def _engine_loss(self) -> EngineLoss | None:
        if not self._runtime.has_ended():
            return None
        # One that was still starting may have ended the engine by what it planned.
        rests = self._started is not None and self._started.up and self._started.working_on() is None
        return EngineLoss.RESTED if rests else EngineLoss.WORKED


def _keep_lease(runner: Runner) -> None:
    """Renew the lease of a run in a thread of its own until the job is lost; then make sure that the process ends."""

    def renew() -> None:
        while runner.renew():
            if runner.give_up_if_overdue():
                os._exit(1)
            time.sleep(RENEW_SECONDS)
        time.sleep(LEAVE_SECONDS)
        os._exit(3)  # code of the job's own that never comes back keeps the steps from seeing that the job is lost

    threading.Thread(target=renew, daemon=True, name="lease").start()
