"""Performs what was decided: each action in a lane, off the loop's thread, and again until it is done."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection
from dataclasses import dataclass
from functools import partial

import structlog

from pitstop.control.acting import Acting
from pitstop.control.actions import (
    Action,
    DropSnapshot,
    Finish,
    RegisterSnapshot,
    ReleaseStandby,
    RemoveReplaced,
    RemoveSnapshot,
    Retry,
    SendCommand,
    WorldAction,
)
from pitstop.control.lanes import Lanes
from pitstop.control.means import Means
from pitstop.control.preparing import Preparer
from pitstop.errors import FencedError
from pitstop.model.job import Job

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
    """Begins the actions of decisions that are recorded, and does again what has failed."""

    def __init__(self, means: Means, acting: Acting, preparer: Preparer, lanes: Lanes) -> None:
        self._means, self._acting, self._preparer, self._lanes = means, acting, preparer, lanes
        self._failed: deque[Failed] = deque()
        """The actions that have failed and are to be done again."""

    def act(self, job: Job, actions: Collection[Action]) -> None:
        """Begin what was decided for a job; nothing of it waits for what was decided for another."""
        for action in actions:
            if isinstance(action, SendCommand):
                self._means.wake.wake(job.id)
            work = action if isinstance(action, WorldAction) else self._aftermath(action)
            if work is not None:
                self._begin(job, work)

    def _aftermath(self, action: Action) -> WorldAction | None:
        """Return the work that a write into the store leaves behind."""
        if isinstance(action, Finish):
            standby = self._preparer.answered(action.operation)
            return ReleaseStandby(standby) if standby is not None else None
        if isinstance(action, RegisterSnapshot):
            return RemoveReplaced(action.record)
        return RemoveSnapshot(action.snapshot) if isinstance(action, DropSnapshot) else None

    def retry(self) -> None:
        """Do again what has failed and is due, if it is still asked for."""
        for failed in [failed for failed in list(self._failed) if failed.due <= self._means.clock.monotonic()]:
            job = self._means.registry.get_job(failed.job.id)
            self._failed.remove(failed)  # only now: the store may be away
            as_it_was = job is not None and (job.state, job.token) == (failed.job.state, failed.job.token)
            if as_it_was or failed.action.retry is Retry.UNTIL_DONE:
                self._begin(failed.job, failed.action, failed.times)

    def _begin(self, job: Job, action: WorldAction, failures: int = 0) -> None:
        work = partial(self._perform, job, action, failures)
        first, *more = action.lanes(job.id)
        for lane in reversed(more):
            work = partial(self._lanes.put, lane, work)
        try:
            self._lanes.put(first, work)
        except Exception:
            # The decision is recorded already, so its action must not be lost.
            log.exception("an action could not be begun; trying again", job=job.id, action=type(action).__name__)
            self._do_later(job, action, failures)

    def _perform(self, job: Job, action: WorldAction, failures: int) -> None:
        try:
            self._means.check_lead()
            self._acting.perform(action, job)
        except FencedError as error:
            # If another control plane leads by now, this loop ends and that one makes up for it. If not, it must be done here.
            log.warning("an action was not done: this control plane may not lead", job=job.id, reason=error.message)
            self._do_later(job, action, failures)
        except Exception:  # an action that has failed is done again: the loop and other actions go on
            again = "housekeeping makes up for it" if action.retry is Retry.NEVER else "trying again"
            log.exception(f"an action failed; {again}", job=job.id, action=type(action).__name__)
            self._do_later(job, action, failures)

    def _do_later(self, job: Job, action: WorldAction, failures: int) -> None:
        if action.retry is not Retry.NEVER:
            wait = RETRY_SECONDS[min(failures, len(RETRY_SECONDS) - 1)]
            self._failed.append(Failed(job, action, failures + 1, self._means.clock.monotonic() + wait))
