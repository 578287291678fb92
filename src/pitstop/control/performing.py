"""Performs what was decided: each action in a lane, off the loop's thread, and again until it is done."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import partial

import structlog

from pitstop.control.acting import Actor
from pitstop.control.actions import (
    Action,
    CleanUp,
    DropCheckpoint,
    DropSnapshot,
    Finish,
    KillRun,
    PrepareUpdate,
    RegisterSnapshot,
    SendCommand,
    Withdraw,
    WorldAction,
)
from pitstop.control.lanes import Lanes
from pitstop.control.ports import Registry, Wake
from pitstop.control.preparing import Preparer
from pitstop.control.retention import remove_replaced, remove_snapshot
from pitstop.control.snapshot_use import job_that_needs
from pitstop.errors import FencedError
from pitstop.kit.clock import Clock
from pitstop.model.data_folder import DataFolder
from pitstop.model.job import Job
from pitstop.model.snapshot import SnapshotRecord
from pitstop.snapshots.files import Files

RETRY_SECONDS = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0)
"""The pause before an action is tried again, in seconds, after its first, second … failure in a row."""

log = structlog.get_logger("pitstop.control")


@dataclass(frozen=True)
class Failed:
    """An action that could not be done."""

    job: Job
    """The job as it was when the action was decided."""
    action: WorldAction
    times: int
    due: float
    """The time at which the action is tried again, by the monotonic clock."""


class Performer:
    """Begins the actions of decisions that are recorded, and does again what has failed.

    ``check_lead`` raises FencedError once another control plane may lead: no work is begun after that.
    """

    def __init__(
        self,
        registry: Registry,
        actor: Actor,
        preparer: Preparer,
        lanes: Lanes,
        clock: Clock,
        wake: Wake,
        data: DataFolder,
        files: Files,
        check_lead: Callable[[], None],
    ) -> None:
        self._registry, self._actor, self._preparer, self._lanes = registry, actor, preparer, lanes
        self._clock, self._wake, self._data, self._files = clock, wake, data, files
        self._check_lead = check_lead
        self._failed: deque[Failed] = deque()
        """The actions that have failed and are to be done again."""

    def act(self, job: Job, actions: Collection[Action]) -> None:
        """Begin what was decided for a job; nothing of it waits for what was decided for another."""
        for action in actions:
            if isinstance(action, SendCommand):
                self._wake.wake(job.id)
            elif isinstance(action, Finish):
                standby = self._preparer.answered(action.operation)
                if standby is not None:
                    self._lanes.put(f"standby {standby}", partial(self._release, job, standby))
            elif isinstance(action, RegisterSnapshot):
                self._lanes.put(f"snapshot {action.record.name}", partial(self._drop_replaced, action.record))
            elif isinstance(action, DropSnapshot):
                self._lanes.put(f"snapshot {action.snapshot}", partial(self._remove_dropped, action.snapshot))
            elif isinstance(action, PrepareUpdate):
                # Nothing else of the job waits until a new version is ready.
                self._lanes.put(f"{job.id} update", partial(self._perform, job, action))
            elif isinstance(action, DropCheckpoint):
                # After earlier actions, such as the end of the run that uses the checkpoint; and nothing waits for it.
                drop = partial(self._lanes.put, f"{job.id} drop", partial(self._perform, job, action))
                self._lanes.put(job.id, drop)
            elif isinstance(action, WorldAction):
                self._begin(job, action)

    def retry(self) -> None:
        """Do again what has failed, if the job still asks for it: it has gone on meanwhile, or is gone."""
        for failed in [failed for failed in list(self._failed) if failed.due <= self._clock.monotonic()]:
            self._failed.remove(failed)
            job = self._registry.get_job(failed.job.id)
            if job is not None and (job.state, job.token) == (failed.job.state, failed.job.token):
                self._lanes.put(job.id, partial(self._perform, failed.job, failed.action, failed.times))
            elif isinstance(failed.action, KillRun | DropCheckpoint | CleanUp | Withdraw):
                self._lanes.put(failed.job.id, partial(self._perform, failed.job, failed.action, failed.times))

    def _begin(self, job: Job, action: WorldAction) -> None:
        try:
            self._lanes.put(job.id, partial(self._perform, job, action))
        except Exception:
            # The decision is recorded already, so its action must not be lost.
            log.exception("an action could not be begun; trying again", job=job.id, action=type(action).__name__)
            self._do_later(job, action, failures=0)

    def _perform(self, job: Job, action: WorldAction, failures: int = 0) -> None:
        try:
            self._check_lead()
            self._actor.perform(action, job)
        except FencedError as error:
            # If another control plane leads by now, this loop ends and that one makes up for it. If not, it must be done here.
            log.warning("an action waits until this control plane surely leads", job=job.id, reason=error.message)
            self._do_later(job, action, failures)
        except Exception:
            log.exception("an action failed; trying again", job=job.id, action=type(action).__name__)
            self._do_later(job, action, failures)

    def _do_later(self, job: Job, action: WorldAction, failures: int) -> None:
        wait = RETRY_SECONDS[min(failures, len(RETRY_SECONDS) - 1)]
        self._failed.append(Failed(job, action, failures + 1, self._clock.monotonic() + wait))

    def _release(self, job: Job, standby: str) -> None:
        try:
            self._preparer.release(standby)
        except Exception:
            log.exception("a warm runner could not be ended", job=job.id, standby=standby)

    def _drop_replaced(self, record: SnapshotRecord) -> None:
        try:
            self._check_lead()
            if job_that_needs(record.name, self._registry, self._data, self._files) is not None:
                return  # a run may be reading it
            remove_replaced(record, self._data, self._files)
        except Exception:
            log.exception("what a snapshot has replaced could not be removed; it is swept up later", snapshot=record.name)

    def _remove_dropped(self, snapshot: str) -> None:
        try:
            self._check_lead()
            if self._registry.get_snapshot(snapshot) is None:
                remove_snapshot(snapshot, self._data, self._files)
        except Exception:
            log.exception("a snapshot that is not needed any more could not be removed; it is swept up later", snapshot=snapshot)
