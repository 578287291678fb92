"""Updates: the old version stops with a snapshot, the new one starts from it, or the old one goes on.

A new version is prepared first, while nothing of the job changes. Then the job's ``update`` has up to three phases. Asked: the
old version is being stopped, or a suspended job's saved state exported. Starting: the new version is not up yet. Watched: the
new version is up, and waits for its first epoch, or is on probation because the user asks for it.
The old version's checkpoint stays until the new one has proved itself, so going back is to go on with that checkpoint.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from pitstop.control.actions import (
    Action,
    DropCheckpoint,
    DropSnapshot,
    ExportSuspended,
    FailExports,
    KillRun,
    RegisterSnapshot,
    SendCommand,
    Withdraw,
)
from pitstop.control.decision import Decision, answered, refuse, waiting
from pitstop.errors import ConflictError, EngineError, PitstopError, SnapshotError, VersionError
from pitstop.kit.counts import counted
from pitstop.model.config import OF_ONE_START, JobConfig, ProcessingGuarantee
from pitstop.model.job import Asked, Job, JobState, Mode, Starting, Termination, Update, Version, Watched
from pitstop.model.operation import Operation, Updated, Verb, rescaling_snapshot
from pitstop.model.run import Exported, ExportFailed, PreparationFailed, Running, Stopped, StopRun, UpdatePrepared, Withdrawn


def prepared(job: Job, fact: UpdatePrepared, now: float) -> Decision:
    """Let the run stop with a snapshot, as the new version is ready."""
    if job.preparation != fact.operation:
        return Decision(job)
    if job.termination is not None:
        return _refused(job, f"Job is already terminating in mode: {job.termination.mode}")
    if fact.compared_with != job.version.number:
        return _refused(job, _another_version(job, fact))
    stop = SendCommand(StopRun(fact.operation, fact.request.snapshot))
    # An earlier update that was still watched is over: its old version is not gone back to any more.
    return Decision(_asked(job, fact, before=None), (stop, *_drop_previous(job.update)))


def prepared_suspended(job: Job, fact: UpdatePrepared, now: float) -> Decision:
    """Export the saved state of a suspended job, as its new version is sound."""
    if job.preparation != fact.operation:
        return Decision(job)
    if fact.compared_with != job.version.number:
        return _refused(job, _another_version(job, fact))
    if job.withdrawal is not None:  # that update alone knows the rows to withdraw
        return _refused(
            job, f"What a version of job '{job.display_name}' had written is still being withdrawn: update it again soon."
        )
    earlier = job.update.phase if job.update is not None else None
    before = earlier if isinstance(earlier, Starting) else None
    drops = [] if before is not None else _drop_previous(job.update)
    exporting = dataclasses.replace(_asked(job, fact, before), state=JobState.SUSPENDED_EXPORTING_SNAPSHOT)
    return Decision(exporting, (ExportSuspended(fact.operation, fact.request.snapshot), *drops))


def prepared_too_late(job: Job, fact: UpdatePrepared, now: float) -> Decision:
    """Refuse an update whose job has meanwhile left the states in which it can be updated."""
    if job.preparation != fact.operation:
        return Decision(job)
    return _refused(job, f"Cannot {Verb.UPDATE.name}, job status is {job.state}, should be RUNNING or SUSPENDED")


def preparation_failed(job: Job, fact: PreparationFailed, now: float) -> Decision:
    """Let the old version go on, as the new one does not compile or does not fit."""
    if job.preparation != fact.operation:
        return Decision(job)
    stays = dataclasses.replace(job, preparation=None)
    if fact.moves_state:
        stays = _stays_in_memory(stays, fact.error.message, now)
    return Decision(stays, (answered(fact.operation, fact.error.error()),))


def stopped(job: Job, fact: Stopped, now: float) -> Decision:
    """Go on to the new version if the old one has stopped with its snapshot; else let the old one go on."""
    update, phase = _of(job)
    assert isinstance(phase, Asked)
    if fact.snapshot is None:
        error = fact.error.error() if fact.error else SnapshotError("The runner stopped without taking the snapshot.")
        return _old_goes_on(job, error, now)
    starting = Starting(job.saved, stopped_at=fact.stopped_at or fact.committed_at or now, standby=phase.standby)
    new = dataclasses.replace(waiting(job), version=phase.target, update=dataclasses.replace(update, phase=starting))
    return Decision(new, (RegisterSnapshot(fact.snapshot), FailExports()))


def exported(job: Job, fact: Exported, now: float) -> Decision:
    """Give a suspended job, whose saved state is exported, the new version. It stays suspended."""
    update, phase = _of(job)
    assert isinstance(phase, Asked)
    next_phase = dataclasses.replace(update, phase=Starting(job.saved, stopped_at=now))
    new = dataclasses.replace(job, version=phase.target, state=JobState.SUSPENDED, termination=None, update=next_phase)
    result = Updated(new.version.number, fact.snapshot.name, None, update.report)
    return Decision(new, (RegisterSnapshot(fact.snapshot), answered(update.operation, result=result)))


def export_failed(job: Job, fact: ExportFailed, now: float) -> Decision:
    """Leave a suspended job as it was, as there is no snapshot for the new version."""
    update, phase = _of(job)
    assert isinstance(phase, Asked)
    before = dataclasses.replace(update, phase=phase.before) if phase.before is not None else None
    stays = dataclasses.replace(job, state=JobState.SUSPENDED, termination=None, update=before)
    return Decision(stays, (answered(update.operation, fact.error.error()),))


def lost(job: Job, reason: str, now: float) -> Decision:
    """Let the old version go on from its last epoch if it ended by itself before it had stopped."""
    return _old_goes_on(job, EngineError(f"The snapshot was not taken, the old version goes on: {reason}"), now)


def new_version_is_up(job: Job, fact: Running, now: float) -> tuple[Job, tuple[Action, ...]]:
    """Complete the update, and watch the new version until its first epoch, and for a while if that was asked for."""
    update = job.update
    if update is None or not isinstance(update.phase, Starting):
        return job, ()
    gap = max(0.0, (fact.committed_at or now) - update.phase.stopped_at)
    snapshot = update.snapshot or str(job.version.options["initial_snapshot"])
    if update.rescales:
        return _rescaled(job, update.phase.previous), (
            answered(update.operation),
            *_drop_previous(update),
            DropSnapshot(snapshot),
        )
    answer = answered(update.operation, result=Updated(job.version.number, snapshot, round(gap, 3), update.report))
    if fact.epoch < 0 or update.watch_seconds:
        watched = dataclasses.replace(update, phase=Watched(update.phase.previous, now, awaits_epoch=fact.epoch < 0))
        return dataclasses.replace(job, update=watched), (answer,)
    return dataclasses.replace(job, update=None), (answer, *_drop_previous(update))


def first_epoch(job: Job, now: float) -> Decision:
    """Begin the time of watching a version that had waited for rows, or end its update if none was asked for."""
    if not awaits_epoch(job):
        return Decision(job)
    update, phase = _of(job)
    assert isinstance(phase, Watched)
    if not update.watch_seconds:
        return watched_long_enough(job)
    watched = dataclasses.replace(phase, started_at=now, awaits_epoch=False)
    return Decision(dataclasses.replace(job, update=dataclasses.replace(update, phase=watched)))


def awaits_epoch(job: Job) -> bool:
    """Return True if the job's new version runs, and has had no rows and no epoch yet."""
    phase = job.update.phase if job.update is not None else None
    return isinstance(phase, Watched) and phase.awaits_epoch


def _rescaled(job: Job, before: Version) -> Job:
    """Return the job with the same version up on other members, or with its state on disk.

    The version had started from a snapshot only to get there.
    """
    was, options = before.config, dict(before.options)
    first = was.initial_snapshot
    if first == rescaling_snapshot(job.id):  # an attempt before has gone back to it, and it is removed now
        first = None
        options.pop("initial_snapshot", None)
    config = dataclasses.replace(job.version.config, initial_snapshot=first, state_store=was.state_store)
    version = dataclasses.replace(job.version, options=options, config=config)
    return dataclasses.replace(job, version=version, update=None, moves_failed=0)


def _moves_state(update: Update, new: Version, before: Version) -> bool:
    # Not by the options in force: those in the code of a version that is not compiled yet are not known.
    return update.rescales and new.options.get("state_store") != before.options.get("state_store")


def _stays_in_memory(job: Job, reason: str, now: float) -> Job:
    """Let the job go on without a move of its state. Nobody waits for an answer, so the job itself tells of it."""
    message = f"The state of job '{job.display_name}' could not be moved to disk, so it goes on as it was: {reason}"
    return dataclasses.replace(_one_more_move_failed(job, now), update_failure=message)


def _one_more_move_failed(job: Job, now: float) -> Job:
    return dataclasses.replace(job, moves_failed=job.moves_failed + 1, move_failed_at=now)


def watched_until(job: Job) -> float | None:
    """Return the end of the watch on a new version, in seconds since the epoch; None if no time of watching has begun."""
    update = job.update
    if update is None or not isinstance(update.phase, Watched) or update.phase.awaits_epoch:
        return None
    return update.phase.started_at + update.watch_seconds


def watched_long_enough(job: Job) -> Decision:
    """End the watch on a new version that has proved itself, and drop the old version's checkpoint."""
    return Decision(dataclasses.replace(job, update=None), tuple(_drop_previous(job.update)))


def rolled_back(job: Job, reason: str, now: float) -> Decision | None:
    """Let the old version go on where it had stopped, as the new one has failed. None if there is no way back."""
    phase = job.update.phase if job.update is not None else None
    until = watched_until(job)
    if not isinstance(phase, Starting | Watched) or (until is not None and now >= until):
        return None
    return _go_back(job, phase, f"failed, so version {phase.previous.number} goes on where it had stopped: {reason}", now)


def roll_back(job: Job, operation: Operation, now: float) -> Decision:
    """Call off the update, or go back from the new version, on a user's request."""
    answer = answered(operation.id)
    if job.preparation is not None:
        called_off = answered(job.preparation, ConflictError(f"The update of job '{job.display_name}' was called off."))
        return Decision(dataclasses.replace(job, preparation=None), (called_off, answer))
    phase = job.update.phase if job.update is not None else None
    if not isinstance(phase, Starting | Watched):
        return refuse(job, operation, f"Cannot {operation.verb.name} job '{job.display_name}': it has no update to go back from.")
    what = f"was rolled back on request: version {phase.previous.number} goes on where it had stopped"
    back = _go_back(job, phase, what, now)
    if job.state is JobState.SUSPENDED:
        stays = dataclasses.replace(back.job, state=JobState.SUSPENDED, suspension_cause=job.suspension_cause, interruption=None)
        return Decision(stays, (*back.actions, answer))
    return Decision(back.job, (*back.actions, answer))


def _go_back(job: Job, phase: Starting | Watched, what: str, now: float) -> Decision:
    assert job.update is not None
    message = f"{_what_fails(job)} {what}"
    old, actions = without_new_version(job, phase)
    back = dataclasses.replace(
        waiting(job),
        version=old,
        update=None,
        update_failure=message,
        suspension_cause=None,
        interruption=f"What version {job.version.number} has written is withdrawn before version {old.number} goes on",
        withdrawal=job.update.operation,
        # From now on the run writes nothing more, whether or not it is reached by the kill: what it wrote can be withdrawn.
        token=job.token + 1,
    )
    if _moves_state(job.update, job.version, phase.previous):
        back = _one_more_move_failed(back, now)
    answers: list[Action] = []
    # An update of a suspended job was answered when its new version was in place.
    if isinstance(phase, Starting):
        answers.append(answered(job.update.operation, VersionError(message, trace=job.failure_details)))
    return Decision(back, (*answers, FailExports(), KillRun(job.token), *actions))


def without_new_version(job: Job, phase: Starting | Watched) -> tuple[Version, tuple[Action, ...]]:
    """Return the version that the job has without its update, and the actions that remove the new version's output and state.

    The job's ``withdrawal`` is then that update, and the run of the new version is fenced.
    """
    assert job.update is not None
    old = _resumable(phase.previous, job.update.snapshot or job.version.options["initial_snapshot"])
    lineage = job.version.lineage
    drops = [DropCheckpoint(lineage)] if lineage is not None and lineage != phase.previous.lineage else []
    return old, (Withdraw(job.update.operation), *drops)


def withdrawn(job: Job, fact: Withdrawn, now: float) -> Decision:
    """Let the old version go on: files and maps are again as it had left them."""
    if job.withdrawal != fact.operation:
        return Decision(job)
    message = job.update_failure
    if message is not None and (fact.files or fact.entries):
        counts = f"{counted(fact.files, 'file')} and {counted(fact.entries, 'entry', 'entries')} of maps"
        message = f"{message.rstrip('.')}. Withdrawn of what it had written: {counts}."
    return Decision(dataclasses.replace(job, withdrawal=None, update_failure=message))


def under_way(job: Job) -> bool:
    """Return True from the stop of the old version until the new one is up, while runs are being changed."""
    changing = job.update is not None and not isinstance(job.update.phase, Watched)
    return changing and job.state in (JobState.RUNNING, JobState.NOT_RUNNING, JobState.STARTING)


def _asked(job: Job, fact: UpdatePrepared, before: Starting | None) -> Job:
    options: dict[str, Any] = fact.request.options | {"initial_snapshot": fact.request.start_from or fact.request.snapshot}
    number = job.version.number if fact.rescales else job.version.number + 1
    target = Version(number, fact.request.source, options, JobConfig.from_options(options))
    phase = Asked(target, fact.standby, before)
    return dataclasses.replace(
        job,
        preparation=None,
        termination=Termination(Mode.UPDATE, fact.operation),
        update=Update(fact.operation, fact.request.watch_seconds, phase, fact.report, fact.rescales, fact.request.snapshot),
        update_failure=None,
        moves_failed=job.moves_failed if fact.rescales else 0,
    )


def _what_fails(job: Job) -> str:
    rescales = job.update is not None and job.update.rescales
    return f"{'Rescaling' if rescales else f'Version {job.version.number} of'} job '{job.display_name}'"


def _another_version(job: Job, fact: UpdatePrepared) -> str:
    return (
        f"The new version was compared with version {fact.compared_with} of job '{job.display_name}', which has gone on with "
        f"version {job.version.number} meanwhile: update it again."
    )


def _refused(job: Job, message: str) -> Decision:
    assert job.preparation is not None
    return Decision(dataclasses.replace(job, preparation=None), (answered(job.preparation, ConflictError(message)),))


def _old_goes_on(job: Job, error: PitstopError, now: float) -> Decision:
    update, phase = _of(job)
    again = dataclasses.replace(waiting(job), update=None)
    if isinstance(phase, Asked) and _moves_state(update, phase.target, job.version):
        again = _stays_in_memory(again, error.message, now)
    return Decision(again, (FailExports(), answered(update.operation, error), KillRun(job.token)))


def _of(job: Job) -> tuple[Update, Asked | Starting | Watched]:
    assert job.update is not None
    return job.update, job.update.phase


def _resumable(old: Version, snapshot: str) -> Version:
    """Return the version to roll back to: on its own checkpoint, or from the snapshot if its guarantee is ``none``."""
    if old.config.processing_guarantee is not ProcessingGuarantee.NONE:
        return old
    own = {key: value for key, value in old.options.items() if key not in OF_ONE_START}
    options = own | {"initial_snapshot": snapshot}
    return dataclasses.replace(old, options=options, config=JobConfig.from_options(options, base=old.config))


def _drop_previous(update: Update | None) -> list[Action]:
    """Remove the checkpoint that only going back would need."""
    phase = update.phase if update is not None else None
    lineage = phase.previous.lineage if isinstance(phase, Starting | Watched) else None
    return [DropCheckpoint(lineage)] if lineage is not None else []
