"""Counts what befalls a job, as part of the decision about it."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

from pitstop.control.life import Event
from pitstop.control.scaling import ClusterSeen
from pitstop.model.job import Job, JobState, Mode
from pitstop.model.job_event import JobEvent, VersionChange
from pitstop.model.operation import Operation
from pitstop.model.run import Died, Failed, Observation
from pitstop.model.tally import RestartCause, Tally

_HAVE_A_RUN = (JobState.STARTING, JobState.RUNNING)


def counted(before: Job, event: Event, after: Job, events: Iterable[JobEvent]) -> Job:
    """Return ``after`` with what the event has brought counted; ``events`` is what it means to the job."""
    tally = after.tally
    if before.state in _HAVE_A_RUN and after.state is JobState.NOT_RUNNING:
        cause = restart_cause(before, event)
        tally = dataclasses.replace(tally, restarts=tally.restarts | {cause: tally.restarts.get(cause, 0) + 1})
    for change in events:
        if isinstance(change, VersionChange):
            tally = _with_update(tally, change)
    return after if tally == after.tally else dataclasses.replace(after, tally=tally)


def restart_cause(before: Job, event: Event) -> RestartCause:
    """Return why the run of a job has ended, whose next one follows."""
    if isinstance(event, Operation):
        return RestartCause.ROLLBACK
    if isinstance(event, ClusterSeen):
        return RestartCause.RESCALE
    fact = event.fact if isinstance(event, Observation) else None
    if isinstance(fact, Died):
        return RestartCause.LOST
    if isinstance(fact, Failed):
        if fact.engine_loss is not None:
            return RestartCause.LOST
        return RestartCause.AWAY if fact.away or fact.passing else RestartCause.FAILURE
    if before.termination is None:
        return RestartCause.SERVER
    if before.termination.mode is Mode.UPDATE:
        rescales = before.update is not None and before.update.rescales
        return RestartCause.RESCALE if rescales else RestartCause.UPDATE
    # The control plane's own update makes the run move its state.
    return RestartCause.REQUESTED if before.termination.because is None else RestartCause.RESCALE


def _with_update(tally: Tally, change: VersionChange) -> Tally:
    if change.error is not None:
        return dataclasses.replace(tally, failed_updates=tally.failed_updates + 1)
    return dataclasses.replace(tally, updates=tally.updates + 1, gap_seconds=change.gap_seconds)
