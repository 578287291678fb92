"""The loop: observe, decide, write, act. One thread; woken by runners and by the service."""

from __future__ import annotations

import queue
import shutil
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from functools import partial
from pathlib import Path

import structlog

from pitstop.control.actions import (
    Action,
    CleanUp,
    ExportSuspended,
    FailExports,
    Finish,
    KillRun,
    RegisterSnapshot,
    SendCommand,
    StartLater,
    StartRun,
)
from pitstop.control.machine import Due, Event, decide
from pitstop.control.ports import Launcher, Registry, RunSpec
from pitstop.errors import ConflictError, EngineError, PitstopError
from pitstop.kit.clock import Clock
from pitstop.kit.wake import WakeSocket, wake
from pitstop.model.job import Job, JobState
from pitstop.model.operation import Observation, ObservationKind, OperationState, Verb
from pitstop.model.snapshot import SnapshotRecord
from pitstop.snapshots.export import export_suspended

ROUND_SECONDS = 1.0
START_GRACE_SECONDS = 90.0
"""How long a started run may take to claim its lease: Python, Java and a busy machine."""
KEEP_RESULTS, KEEP_SECONDS = 1000, 604_800.0
_RUNNING = (JobState.STARTING, JobState.RUNNING)

log = structlog.get_logger("pitstop.control")


class Controller:
    """Brings the world to what operations ask for and records what runs tell."""

    def __init__(
        self, registry: Registry, launcher: Launcher, clock: Clock, data_dir: Path, store_url: str, changed: Callable[[], None]
    ) -> None:
        self._registry, self._launcher, self._clock = registry, launcher, clock
        self._data_dir, self._store_url, self._changed = data_dir, store_url, changed
        self._socket_path = data_dir / "control.sock"
        self._due: dict[str, float] = {}
        self._asked: dict[tuple[str, int], float] = {}
        self._watched: set[tuple[str, int]] = set()
        self._own_facts: queue.SimpleQueue[Observation] = queue.SimpleQueue()
        self._exporter = ThreadPoolExecutor(max_workers=1, thread_name_prefix="export")
        self._stopping = threading.Event()
        self._recovered = False

    def run(self) -> None:
        """Loop until :meth:`stop`."""
        socket = WakeSocket(self._socket_path)
        try:
            while not self._stopping.is_set():
                try:
                    self.round()
                except Exception:
                    log.exception("a round of the control loop failed; trying again")
                socket.wait(self._until_due())
        finally:
            socket.close()
            self._exporter.shutdown(wait=True)

    def stop(self) -> None:
        self._stopping.set()
        wake(self._socket_path)

    def round(self) -> None:
        """One round: everything that is known now is decided and acted upon."""
        if not self._recovered:
            self._recover()
            self._recovered = True
        gone = self._gone_runs()
        changed = self._facts() | self._wishes() | self._deaths(gone) | self._starts()
        if changed:
            self._changed()
        if not any(job.state is JobState.STARTING for job in self._registry.jobs(include_ended=False)):
            self._launcher.prepare()

    # observe

    def _gone_runs(self) -> list[tuple[str, int, str]]:
        """(job, token, reason) of runs whose process is gone. Looked at before the facts: a run's last words count."""
        now, gone = self._clock.now(), []
        for job in self._registry.jobs(include_ended=False):
            if job.state not in _RUNNING:
                continue
            process = self._registry.process_of(job.id, job.token)
            if process is None:
                asked = self._asked.setdefault((job.id, job.token), now)
                if now - asked > START_GRACE_SECONDS:
                    gone.append((job.id, job.token, "The runner did not start"))
                continue
            if not self._launcher.alive(*process):
                gone.append((job.id, job.token, "The runner's process ended"))
            elif (self._registry.lease_expiry(job.id, job.token) or now) < now - START_GRACE_SECONDS:
                gone.append((job.id, job.token, "The runner stopped renewing its lease"))
            elif (job.id, job.token) not in self._watched:
                self._watched.add((job.id, job.token))
                self._launcher.watch(job.id, job.token, *process)
        return gone

    def _facts(self) -> bool:
        seen = self._registry.take_observations()
        for fact in seen:
            self._take(fact.job_id, fact, partial(self._registry.consume, fact.id))
        changed = bool(seen)
        while not self._own_facts.empty():
            fact = self._own_facts.get()
            self._take(fact.job_id, fact)
            changed = True
        return changed

    def _wishes(self) -> bool:
        pending = self._registry.pending_operations()
        for operation in pending:
            self._take(operation.job_id, operation, partial(self._registry.start_operation, operation.id))
        return bool(pending)

    def _deaths(self, gone: list[tuple[str, int, str]]) -> bool:
        for job_id, token, reason in gone:
            self._take(job_id, Observation(job_id, token, ObservationKind.DIED, {"reason": reason}))
        return bool(gone)

    def _starts(self) -> bool:
        waiting = [job for job in self._registry.jobs(include_ended=False) if job.state is JobState.NOT_RUNNING]
        ready = [job for job in waiting if self._due.get(job.id, 0.0) <= self._clock.monotonic()]
        for job in ready:
            self._due.pop(job.id, None)
            self._take(job.id, Due())
        return bool(ready)

    def _until_due(self) -> float:
        soonest = min(self._due.values(), default=float("inf"))
        return max(0.0, min(ROUND_SECONDS, soonest - self._clock.monotonic()))

    # decide, write, act

    def _take(self, job_id: str, event: Event, note: Callable[[], None] | None = None) -> None:
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
        elif isinstance(action, StartLater):
            self._due[job.id] = self._clock.monotonic() + action.seconds
        elif isinstance(action, SendCommand):
            wake(self._data_dir / "jobs" / job.id / "runner.sock")
        elif isinstance(action, KillRun):
            process = self._registry.process_of(job.id, action.token)
            if process is not None:
                self._launcher.kill(*process)
        elif isinstance(action, ExportSuspended):
            self._exporter.submit(self._export_suspended, job, action)
        elif isinstance(action, CleanUp):
            self._clean_up(job)

    def _start_run(self, job: Job) -> None:
        if self._registry.process_of(job.id, job.token) is None:
            self._asked[(job.id, job.token)] = self._clock.now()
            self._launcher.start(RunSpec(job.id, job.token, self._store_url, self._data_dir))

    def _fail_exports(self, job: Job) -> None:
        error = ConflictError("Execution completed before snapshot executed").to_dict()
        for operation in self._registry.open_operations(job.id):
            if operation.verb is Verb.EXPORT:
                self._registry.finish_operation(operation.id, OperationState.FAILED, error)

    def _export_suspended(self, job: Job, action: ExportSuspended) -> None:
        try:
            record = export_suspended(job, self._data_dir, action.snapshot)
            payload = {"operation": action.operation, "snapshot": asdict(record)}
            fact = Observation(job.id, job.token, ObservationKind.EXPORTED, payload)
        except Exception as error:
            known = error if isinstance(error, PitstopError) else EngineError(f"The export failed: {error}")
            payload = {"operation": action.operation, "error": known.to_dict()}
            fact = Observation(job.id, job.token, ObservationKind.EXPORT_FAILED, payload)
        self._own_facts.put(fact)
        wake(self._socket_path)

    def _recover(self) -> None:
        """Make up for what an earlier control plane had written and not yet done."""
        for job in self._registry.jobs():
            if job.state is JobState.STARTING:
                self._start_run(job)
            elif job.state is JobState.SUSPENDED_EXPORTING_SNAPSHOT:
                for operation in self._registry.open_operations(job.id):
                    self._take(job.id, operation)
            elif job.state.terminal and any((self._data_dir / "jobs" / job.id).glob("checkpoint*")):
                self._clean_up(job)

    def _clean_up(self, job: Job) -> None:
        for folder in (self._data_dir / "jobs" / job.id).glob("checkpoint*"):
            shutil.rmtree(folder, ignore_errors=True)
        shutil.rmtree(self._data_dir / "jobs" / job.id / "work", ignore_errors=True)
        for gone in self._registry.delete_ended(KEEP_RESULTS, self._clock.now() - KEEP_SECONDS):
            shutil.rmtree(self._data_dir / "jobs" / gone, ignore_errors=True)
