"""The work that a job's recorded state still calls for: an earlier control plane, or a failed action, may have left it undone.

Level-triggered: it follows from the record, not from events, and doing it again changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable

from pitstop.control.actions import (
    CleanUp,
    DropCheckpoint,
    ExportSuspended,
    KillRun,
    PrepareUpdate,
    StartRun,
    Withdraw,
    WorldAction,
)
from pitstop.model.job import Job, JobState, Starting, Watched
from pitstop.model.operation import Operation, Rescale, UpdateJob, moves_state, snapshot_of


def owed(job: Job, open_operations: Iterable[Operation]) -> tuple[WorldAction, ...]:
    """Return the actions that make the world agree with the record, in the order in which they are to be done."""
    operations = {operation.id: operation for operation in open_operations}
    going_back = (Withdraw(job.withdrawal),) if job.withdrawal is not None else ()
    return (*_of_state(job, operations), *going_back, *_preparing(job, operations))


def _preparing(job: Job, operations: dict[int, Operation]) -> tuple[PrepareUpdate, ...]:
    if job.preparation is None:
        return ()
    operation = operations.get(job.preparation)
    return (PrepareUpdate(job.preparation, operation is not None and moves_state(operation.request)),)


def _of_state(job: Job, operations: dict[int, Operation]) -> tuple[WorldAction, ...]:
    state = job.state
    if state is JobState.STARTING:
        return (StartRun(),)
    # The token of a job whose last run was fenced is one higher than that run's.
    kills = (KillRun(job.token - 1), KillRun(job.token))
    if state is JobState.SUSPENDED_EXPORTING_SNAPSHOT:
        return (*kills, *_export(job, operations))
    if state in (JobState.NOT_RUNNING, JobState.SUSPENDED):
        return kills
    if state is JobState.COMPLETING:
        return (CleanUp(),)
    if state.terminal:
        return (*kills, CleanUp()) if job.state_dropped else (*kills, *_export(job, operations))
    return ()


def _export(job: Job, operations: dict[int, Operation]) -> tuple[WorldAction, ...]:
    operation = operations.get(job.termination.operation) if job.termination is not None else None
    snapshot = snapshot_of(operation.request) if operation is not None else None
    if operation is None or snapshot is None:
        return ()
    return (ExportSuspended(operation.id, snapshot),)


def unneeded(job: Job, lineages: Iterable[str], open_operations: Iterable[Operation]) -> tuple[DropCheckpoint, ...]:
    """Return the checkpoints on disk with which the job will never go on.

    None while a version may be under way that has not told which checkpoint is its own.
    """
    lineage = job.version.lineage
    updating = any(isinstance(operation.request, UpdateJob | Rescale) for operation in open_operations)
    if job.state not in (JobState.RUNNING, JobState.SUSPENDED) or lineage is None or updating:
        return ()
    phase = job.update.phase if job.update is not None else None
    needed_lineages = {lineage}
    if isinstance(phase, Starting | Watched):
        needed_lineages.add(phase.previous.lineage or lineage)
    return tuple(DropCheckpoint(other) for other in lineages if other not in needed_lineages)
