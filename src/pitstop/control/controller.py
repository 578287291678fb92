"""The loop: observe, decide, write, act. One thread; woken by runners and by the service."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from functools import partial

import structlog

from pitstop.control.actions import (
    Action,
    CleanUp,
    DropCheckpoint,
    ExportSuspended,
    FailExports,
    Finish,
    KillRun,
    RegisterSnapshot,
    SendCommand,
    StartRun,
)
from pitstop.control.liveness import RUNNING_STATES, Gone, Liveness
from pitstop.control.machine import Due, Event, decide, is_due
from pitstop.control.ports import CONTROL, Launcher, Registry, RunSpec, Wake
from pitstop.control.retention import SWEEP_SECONDS, drop_checkpoint, drop_state, has_state, sweep
from pitstop.control.updating import under_way
from pitstop.errors import ConflictError, EngineError, PitstopError
from pitstop.kit.clock import Clock
from pitstop.model.data_folder import DataFolder
from pitstop.model.job import Job, JobState
from pitstop.model.operation import Observation, ObservationKind, OperationState, Verb
from pitstop.model.snapshot import SnapshotRecord
from pitstop.snapshots.export import export_suspended
from pitstop.snapshots.files import LOCAL_FILES, Files

ROUND_SECONDS = 1.0

log = structlog.get_logger("pitstop.control")


class Controller:
    """Brings the world to what operations ask for and records what runs tell.

    ``changed`` is called after each round in which something was decided.
    """

    def __init__(
        self,
        registry: Registry,
        launcher: Launcher,
        clock: Clock,
        wake: Wake,
        data: DataFolder,
        store_url: str,
        changed: Callable[[], None],
        files: Files = LOCAL_FILES,
    ) -> None:
        self._registry, self._launcher, self._clock, self._wake = registry, launcher, clock, wake
        self._data, self._store_url, self._changed, self._files = data, store_url, changed, files
        self._liveness = Liveness(registry, launcher, clock)
        self._own_facts: deque[Observation] = deque()
        self._exporter = ThreadPoolExecutor(max_workers=1, thread_name_prefix="export")
        self._stopping = threading.Event()
        self._recovered = False
        self._next_start = self._next_sweep = float("-inf")
        self._stuck: set[str] = set()

    def run(self) -> None:
        """Loop until :meth:`stop`."""
        waiter = self._wake.waiter(CONTROL)
        try:
            while not self._stopping.is_set():
                try:
                    self.round()
                except Exception:
                    log.exception("a round of the control loop failed; trying again")
                waiter.wait(self._until_next())
        finally:
            waiter.close()
            self._exporter.shutdown(wait=True)

    def stop(self) -> None:
        """Let :meth:`run` return after its present round."""
        self._stopping.set()
        self._wake.wake(CONTROL)

    def round(self) -> None:
        """One round: everything that is known now is decided and acted upon."""
        self._stuck.clear()
        if not self._recovered:
            self._recover()
            self._recovered = True
        gone = self._liveness.gone()
        if self._facts() | self._wishes() | self._deaths(gone) | self._starts():
            self._changed()
        self._keep_house()

    # observe

    def _facts(self) -> bool:
        seen = self._registry.take_observations()
        for fact in seen:
            self._handle(fact.job_id, fact, partial(self._registry.consume, fact.id))
        own = list(self._own_facts)
        for fact in own:
            if self._handle(fact.job_id, fact):
                self._own_facts.remove(fact)
        return bool(seen or own)

    def _wishes(self) -> bool:
        pending = self._registry.pending_operations()
        for operation in pending:
            self._handle(operation.job_id, operation, partial(self._registry.start_operation, operation.id))
        return bool(pending)

    def _deaths(self, gone: list[Gone]) -> bool:
        for run in gone:
            self._handle(run.job_id, Observation(run.job_id, run.token, ObservationKind.DIED, {"reason": run.reason}))
        return bool(gone)

    def _starts(self) -> bool:
        waiting = [job for job in self._registry.jobs(include_ended=False) if job.state is JobState.NOT_RUNNING]
        now = self._clock.now()
        ready = [job for job in waiting if is_due(job, now)]
        self._next_start = min((job.due or now for job in waiting if job not in ready), default=float("inf"))
        for job in ready:
            self._handle(job.id, Due())
        return bool(ready)

    def _until_next(self) -> float:
        return max(0.0, min(ROUND_SECONDS, self._next_start - self._clock.now()))

    # decide, write, act

    def _handle(self, job_id: str, event: Event, note: Callable[[], None] | None = None) -> bool:
        """Take an event; False if that failed: it, and all later events of the job, then wait for the next round.

        What is wrong with one job must not keep the others waiting (jet.md §1.3: isolation).
        """
        if job_id in self._stuck:
            return False
        try:
            self._take(job_id, event, note)
        except Exception:
            self._stuck.add(job_id)
            log.exception("an event could not be handled; trying again", job=job_id, kind=type(event).__name__)
            return False
        return True

    def _take(self, job_id: str, event: Event, note: Callable[[], None] | None) -> None:
        """Decide one event. All that is written about it is one transaction; the world is changed after it.

        A crash in between loses only acts that the next control plane makes up for (:meth:`_recover`).
        """
        outside: list[Action] = []
        with self._registry.transaction():
            job = self._registry.get_job(job_id)
            decision = decide(job, event, self._clock.now()) if job is not None else None
            if job is not None and decision is not None:
                if decision.job != job:
                    self._registry.save_job(decision.job)
                outside = [action for action in decision.actions if not self._write(decision.job, action)]
            if note is not None:
                note()
        if job is None or decision is None:
            return
        if decision.job.state is not job.state:
            log.info("job state", job=job.display_name, id=job.id, was=job.state.value, now=decision.job.state.value)
        for action in outside:
            self._act(decision.job, action)

    def _write(self, job: Job, action: Action) -> bool:
        """Do what an action means in the store; False if it (also) means something outside."""
        if isinstance(action, SendCommand):
            self._registry.add_command(job.id, job.token, action.kind, action.args)
            return False
        if isinstance(action, Finish):
            self._registry.finish_operation(action.operation, action.state, action.error, action.result)
        elif isinstance(action, FailExports):
            self._fail_exports(job)
        elif isinstance(action, RegisterSnapshot):
            self._registry.add_snapshot(SnapshotRecord(**action.record))
        else:
            return False
        return True

    def _act(self, job: Job, action: Action) -> None:
        if isinstance(action, StartRun):
            self._start_run(job)
        elif isinstance(action, SendCommand):
            self._wake.wake(job.id)
        elif isinstance(action, KillRun):
            self._kill_run(job, action.token)
        elif isinstance(action, ExportSuspended):
            self._exporter.submit(self._export_suspended, job, action)
        elif isinstance(action, CleanUp):
            drop_state(self._data, job, self._files)
        elif isinstance(action, DropCheckpoint):
            drop_checkpoint(self._data, job, action.lineage, self._files)

    def _start_run(self, job: Job) -> None:
        # The run before may still be on its way out; two runs must never write to one checkpoint. A new version has one of its
        # own: it need not wait until the old one's processes are gone.
        own_checkpoint = under_way(job) and job.lineage is None
        if not own_checkpoint:
            self._kill_run(job, job.token - 1)
        if self._registry.handle_of(job.id, job.token) is None:
            self._launch(job)
        if own_checkpoint:
            self._kill_run(job, job.token - 1)

    def _launch(self, job: Job) -> None:
        standby = job.update.standby if job.update is not None and under_way(job) else None
        try:
            self._launcher.start(RunSpec(job.id, job.token, self._store_url, self._data, standby=standby))
        except OSError as error:
            reason = f"The runner could not be started: {error}"
            self._own_facts.append(Observation(job.id, job.token, ObservationKind.DIED, {"reason": reason}))

    def _kill_run(self, job: Job, token: int) -> None:
        handle = self._registry.handle_of(job.id, token)
        if handle is not None:
            self._launcher.kill(handle)

    def _fail_exports(self, job: Job) -> None:
        error = ConflictError("Execution completed before snapshot executed").to_dict()
        for operation in self._registry.open_operations(job.id):
            if operation.verb is Verb.EXPORT:
                self._registry.finish_operation(operation.id, OperationState.FAILED, error)

    def _export_suspended(self, job: Job, action: ExportSuspended) -> None:
        try:
            record = export_suspended(job, self._data, action.snapshot, self._files)
            payload = {"operation": action.operation, "snapshot": asdict(record)}
            fact = Observation(job.id, job.token, ObservationKind.EXPORTED, payload)
        except Exception as error:
            known = error if isinstance(error, PitstopError) else EngineError(f"The export failed: {error}")
            payload = {"operation": action.operation, "error": known.to_dict()}
            fact = Observation(job.id, job.token, ObservationKind.EXPORT_FAILED, payload)
        self._own_facts.append(fact)
        self._wake.wake(CONTROL)

    # what no event asks for

    def _recover(self) -> None:
        """Make up for what an earlier control plane had written and not yet done."""
        for job in self._registry.jobs():
            if job.state is JobState.STARTING:
                self._start_run(job)
            elif job.state is JobState.SUSPENDED_EXPORTING_SNAPSHOT:
                for operation in self._registry.open_operations(job.id):
                    if operation.state is OperationState.RUNNING:
                        self._handle(job.id, operation)
            elif job.state.terminal and has_state(self._data, job, self._files):
                self._kill_run(job, job.token - 1)
                self._kill_run(job, job.token)
                drop_state(self._data, job, self._files)
            elif job.state not in RUNNING_STATES and job.active:
                self._kill_run(job, job.token)

    def _keep_house(self) -> None:
        """Make ready for the next start, and forget what is too old; a failure of that harms no job."""
        try:
            # What gets ready for later must not slow down what starts now.
            jobs = self._registry.jobs(include_ended=False)
            if not any(job.state is JobState.STARTING or under_way(job) for job in jobs):
                self._launcher.prepare()
            if self._clock.monotonic() >= self._next_sweep:
                self._next_sweep = self._clock.monotonic() + SWEEP_SECONDS
                sweep(self._registry, self._data, self._clock.now(), self._files)
        except Exception:
            log.exception("the control loop could not prepare or sweep; trying again")
