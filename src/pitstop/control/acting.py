"""The effect of each action on the world: runs, checkpoints, snapshots. Runs in lanes, never on the thread of the loop."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from functools import singledispatchmethod

import structlog

from pitstop.control.actions import (
    CleanUp,
    DropCheckpoint,
    ExportSuspended,
    KillRun,
    PrepareUpdate,
    ReleaseStandby,
    RemoveReplaced,
    RemoveSnapshot,
    StartRun,
    Withdraw,
    WorldAction,
)
from pitstop.control.means import Means
from pitstop.control.ports.launcher import RunSpec
from pitstop.control.preparing import Preparer
from pitstop.control.retention import drop_checkpoint, drop_state, remove_replaced, remove_snapshot
from pitstop.control.sizes import last_sizes
from pitstop.control.snapshot_use import job_that_needs
from pitstop.errors import EngineError, FencedError, PitstopError, Problem, StoreError, is_of_the_machine
from pitstop.model.job import Job
from pitstop.model.run import CleanedUp, Exported, ExportFailed, Fact, Failed, Observation, PreparationFailed, Withdrawn
from pitstop.snapshots.export import export_suspended

log = structlog.get_logger("pitstop.control")

Tell = Callable[[Observation], None]
"""Takes a fact that the control plane has seen itself."""


class Acting:
    """Does one action at a time for a job. An action that raises is tried again later; an answer is a fact for ``tell``."""

    def __init__(self, means: Means, preparer: Preparer, tell: Tell) -> None:
        self._means, self._preparer, self._tell = means, preparer, tell

    @singledispatchmethod
    def perform(self, action: WorldAction, job: Job) -> None:
        """Perform an action for the job as it was when the action was decided."""
        raise TypeError(f"no such action: {action!r}")

    @perform.register
    def _start_run(self, action: StartRun, job: Job) -> None:
        # The run before may still be on its way out; two runs must never write to one checkpoint.
        if not action.own_checkpoint:
            self._kill(job.id, job.token - 1)
        if self._means.registry.handle_of(job.id, job.token) is None:
            self._launch(job, action)
        if action.own_checkpoint:
            self._kill(job.id, job.token - 1)

    def _launch(self, job: Job, action: StartRun) -> None:
        try:
            self._means.launcher.start(RunSpec(job.id, job.token, action.standby, job.name, job.version.config.engine_to_run_in))
        except (FencedError, StoreError):
            raise  # what the job becomes could not be told now either: the launch is done again
        except Exception as error:  # whatever kept the run from starting is the answer
            away = _has_no_room(error)
            facts = {"job": job.id, "token": job.token, "reason": str(error)}
            log.warning("a run could not be started", **facts, exc_info=None if away else error)
            problem = EngineError(f"The runner could not be started: {_in_words(error)}").problem
            details = "".join(traceback.format_exception(error))
            self._say(job, Failed(problem, details, restartable=not away, away=away))

    @perform.register
    def _kill_run(self, action: KillRun, job: Job) -> None:
        self._kill(job.id, action.token)

    @perform.register
    def _export_suspended(self, action: ExportSuspended, job: Job) -> None:
        try:
            sizes = last_sizes(self._means.registry, job)
            record = export_suspended(job, self._means.data, action.snapshot, sizes, self._means.files)
            fact: Fact = Exported(action.operation, record)
        except Exception as error:  # the operation is answered with it
            fact = ExportFailed(action.operation, _problem(error, "The export failed"))
        self._say(job, fact)

    @perform.register
    def _prepare_update(self, action: PrepareUpdate, job: Job) -> None:
        try:
            fact: Fact = self._preparer.prepare(job, action.operation)
        except Exception as error:  # the operation is answered with it
            problem = _problem(error, "The new version could not be made ready")
            fact = PreparationFailed(action.operation, problem, action.moves_state)
        self._say(job, fact)

    @perform.register
    def _clean_up(self, action: CleanUp, job: Job) -> None:
        drop_state(self._means.data, job, self._means.files)
        self._say(job, CleanedUp())

    @perform.register
    def _drop_checkpoint(self, action: DropCheckpoint, job: Job) -> None:
        drop_checkpoint(self._means.data, job, action.lineage, self._means.files)

    @perform.register
    def _withdraw(self, action: Withdraw, job: Job) -> None:
        files, entries = self._means.outputs.withdraw(job.id, action.operation)
        log.info("output withdrawn", job=job.display_name, id=job.id, files=files, entries=entries)
        self._say(job, Withdrawn(action.operation, files, entries))

    @perform.register
    def _release_standby(self, action: ReleaseStandby, job: Job) -> None:
        self._means.workers.release(action.standby)

    @perform.register
    def _remove_replaced(self, action: RemoveReplaced, job: Job) -> None:
        means = self._means
        if job_that_needs(action.record.name, means.registry, means.data, means.files) is None:
            remove_replaced(action.record, means.data, means.files)

    @perform.register
    def _remove_snapshot(self, action: RemoveSnapshot, job: Job) -> None:
        if self._means.registry.get_snapshot(action.snapshot) is None:
            remove_snapshot(action.snapshot, self._means.data, self._means.files)

    def _kill(self, job_id: str, token: int) -> None:
        handle = self._means.registry.handle_of(job_id, token)
        if handle is not None:
            self._means.launcher.kill(handle)

    def _say(self, job: Job, fact: Fact) -> None:
        self._tell(Observation(job.id, job.token, fact))


def _has_no_room(error: Exception) -> bool:
    """Return True if the machine lacks room, memory, processes or threads for a run now. No other error mends by waiting."""
    return isinstance(error, OSError) or is_of_the_machine(error)


def _in_words(error: Exception) -> str:
    words = str(error)
    if words and isinstance(error, OSError | PitstopError):
        return words
    return f"{type(error).__name__}: {words}" if words else type(error).__name__


def _problem(error: Exception, what: str) -> Problem:
    if isinstance(error, PitstopError):
        return error.problem
    log.error(what, exc_info=error)
    return EngineError(f"{what}: {type(error).__name__}: {error}").problem
