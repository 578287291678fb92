"""The handlers of facts that were seen of a job's runs."""

from __future__ import annotations

import dataclasses
import random

from pitstop.control import scaling, updating
from pitstop.control.actions import Ask, CleanUp, FailExports, Finish, KillRun, RegisterSnapshot, SendCommand
from pitstop.control.decision import (
    CANCELLED,
    REQUESTED,
    Decision,
    answer_all,
    answered,
    ended,
    fenced,
    suspended,
    waiting,
    without_state,
)
from pitstop.errors import ConflictError, PitstopError, SnapshotError
from pitstop.kit import durations
from pitstop.kit.counts import counted
from pitstop.model.config import OWN_ENGINE, ProcessingGuarantee, StateStore
from pitstop.model.job import Job, JobState, Starting, Termination, Watched
from pitstop.model.operation import Rescale, Restart, rescaling_snapshot
from pitstop.model.run import (
    CleanedUp,
    Compiled,
    Completed,
    Died,
    EngineLoss,
    EpochCommitted,
    Exported,
    ExportFailed,
    Failed,
    NoteConcern,
    Running,
    StateExpired,
    StateOutgrown,
    Stopped,
)

MOST_ATTEMPTS = 5
"""Runs in a row that have failed without progress before a job is given up, where the option restart sets no bound.

That bounds failures that may lie in the job itself. If something outside is away, the job is tried for as long as it takes; but a
new version is not, if its job can go back to the one before.
"""
MOVE_AGAIN_SECONDS = (60.0, 300.0, 900.0, 3600.0)
"""The time that a job runs before it tries again to move its state to disk, in seconds, after the first, second … failure."""
HELD = "The run paused to move its state to disk, and the move has failed: the next run does not pause."
"""The reason for which a job is started again if its state could not be moved."""
MOST_ENGINE_LOSSES = 2
"""The shared engines that may end while a job works, with no epoch committed in between, before it gets an engine of its own."""
MOVED_OUT = (
    f"{MOST_ENGINE_LOSSES} shared engines in a row have ended while this job was at work: it goes on in an engine of its own "
    "(option engine=own)."
)
"""The reason for which the last run of such a job ended."""
AWAY_SECONDS = 8.0
"""The pause, in seconds, before the next run after one that missed the store or room on the disk. There is no last try."""


def compiled(job: Job, fact: Compiled, now: float) -> Decision:
    version = dataclasses.replace(job.version, plan=fact.plan, lineage=fact.lineage, config=fact.config, bounded=fact.bounded)
    return Decision(dataclasses.replace(job, version=version), tuple(SendCommand(NoteConcern(each)) for each in fact.concerns))


def running(job: Job, fact: Running, now: float) -> Decision:
    up, actions = updating.new_version_is_up(job, fact, now)
    runs = dataclasses.replace(up, state=JobState.RUNNING, start_time=now, interruption=None)
    return Decision(scaling.planned_for(runs, fact.placement), actions)


def epoch_committed(job: Job, fact: EpochCommitted, now: float) -> Decision:
    job = dataclasses.replace(job, engine_losses=0)
    return updating.first_epoch(
        job if job.version.config.restart_strategy.reset_ms else dataclasses.replace(job, attempts=0), now
    )


def outgrown(job: Job, fact: StateOutgrown, now: float) -> Decision:
    """Move the state of the same version to disk, unless the job is being changed: the run reports again later.

    The move does not wait for the end of a watch, until which the run might hold still. Nor does a run that holds still wait for
    the next try of a move that has failed: the job is restarted, and its next run does not hold still.
    """
    watched = job.update is None or isinstance(job.update.phase, Watched)
    if job.preparation is not None or not watched:
        return Decision(job)
    # Without a guarantee, another run would begin with no state: the run that holds still is asked again.
    goes_on = job.version.config.processing_guarantee is not ProcessingGuarantee.NONE
    if _moved_in_vain(job, now) and (goes_on or not fact.holds):
        return Decision(job, (Ask(Restart(HELD)),) if fact.holds else ())
    return Decision(job, (Ask(Rescale(rescaling_snapshot(job.id), StateStore.ROCKSDB)),))


def _moved_in_vain(job: Job, now: float) -> bool:
    """Return True while a failed move is not tried again: each try stops the job for as long as it takes to go back."""
    if not job.moves_failed:
        return False
    wait = MOVE_AGAIN_SECONDS[min(job.moves_failed, len(MOVE_AGAIN_SECONDS)) - 1]
    return now < max(job.start_time or 0.0, job.move_failed_at or 0.0) + wait


# Exports


def exported(job: Job, fact: Exported, now: float) -> Decision:
    """Register a snapshot of a job that goes on."""
    return Decision(job, (RegisterSnapshot(fact.snapshot), answered(fact.operation, result=fact.snapshot)))


def export_failed(job: Job, fact: ExportFailed, now: float) -> Decision:
    return Decision(job, (answered(fact.operation, fact.error.error()),))


def exported_suspended(job: Job, fact: Exported, now: float) -> Decision:
    export = exported(job, fact, now)
    return Decision(_suspended_again(job), export.actions)


def exported_to_end(job: Job, fact: Exported, now: float) -> Decision:
    export = exported(job, fact, now)
    meanwhile = _meanwhile(job, "was cancelled", but=fact.operation)
    ended_job = without_state(ended(job, now, CANCELLED, user_cancelled=True))
    return Decision(ended_job, (*export.actions, *meanwhile, CleanUp()))


def export_failed_suspended(job: Job, fact: ExportFailed, now: float) -> Decision:
    return Decision(_suspended_again(job), export_failed(job, fact, now).actions)


def exported_ended(job: Job, fact: Exported, now: float) -> Decision:
    """Register a snapshot of the state that an ended job keeps."""
    return Decision(dataclasses.replace(job, termination=None), exported(job, fact, now).actions)


def export_failed_ended(job: Job, fact: ExportFailed, now: float) -> Decision:
    return Decision(dataclasses.replace(job, termination=None), export_failed(job, fact, now).actions)


def state_expired(job: Job, fact: StateExpired, now: float) -> Decision:
    """Drop the state of an ended job that nobody has brought back in time."""
    return Decision(without_state(job), (CleanUp(),))


# The end of a run as it was asked for


def stopped_to_suspend(job: Job, fact: Stopped, now: float) -> Decision:
    return Decision(suspended(job, _why(job)), (FailExports(), answered(_operation(job))))


def stopped_to_restart(job: Job, fact: Stopped, now: float) -> Decision:
    return Decision(waiting(job), (FailExports(), answered(_operation(job))))


def stopped_unasked(job: Job, fact: Stopped, now: float) -> Decision:
    """Let a job go on whose run ended with the control plane before this one."""
    return Decision(waiting(job), (FailExports(),))


def stopped_to_end(job: Job, fact: Stopped, now: float) -> Decision:
    if fact.snapshot is None:
        # The snapshot failed: the job must not be lost with it.
        error = fact.error.error() if fact.error else SnapshotError("The runner stopped without taking the snapshot.")
        return Decision(suspended(job, REQUESTED), (FailExports(), answered(_operation(job), error)))
    answer = answered(_operation(job), result=fact.snapshot)
    meanwhile = _meanwhile(job, "was cancelled", but=_operation(job))
    ended_job = without_state(ended(job, now, CANCELLED, user_cancelled=True))
    return Decision(ended_job, (RegisterSnapshot(fact.snapshot), FailExports(), answer, *meanwhile, CleanUp()))


# The end of a run by itself


def completed(job: Job, fact: Completed, now: float) -> Decision:
    """Complete a job whose input is all processed. It has its result once its checkpoints are removed."""
    meanwhile = answer_all(job, ConflictError(f"Job '{job.display_name}' completed meanwhile."))
    completing = dataclasses.replace(job, state=JobState.COMPLETING, termination=None, preparation=None, update=None)
    return Decision(completing, (*meanwhile, FailExports(), CleanUp()))


def cleaned_up(job: Job, fact: CleanedUp, now: float) -> Decision:
    return Decision(without_state(dataclasses.replace(job, state=JobState.COMPLETED, completion_time=now)))


def ended_by_itself(job: Job, fact: Failed | Died, now: float) -> Decision:
    """Start a run again that ended unasked, or give up its job."""
    job = dataclasses.replace(_with_details(job, fact), interruption=_reason(fact))
    if isinstance(fact, Failed) and fact.engine_loss is not None:
        job = _without_engine(job, fact.engine_loss)
        return Decision(waiting(job, job.attempts, now, job.failures), (FailExports(), KillRun(job.token)))
    if isinstance(fact, Failed) and fact.away:
        again = waiting(job, job.attempts, now + AWAY_SECONDS, job.failures)
        return Decision(again, (FailExports(), KillRun(job.token)))
    passing = isinstance(fact, Failed) and fact.passing
    unclear = isinstance(fact, Failed) and fact.unclear and _goes_back(job)
    if isinstance(fact, Failed) and (unclear or not (fact.restartable or passing)):
        return _give_up(job, _reason(fact), now)
    strategy = job.version.config.restart_strategy
    attempts = 1 if _has_gone_well(job, now) else job.attempts + 1
    failures = strategy.recent((*job.failures, now), now)
    too_often = _too_often(job, attempts, failures, passing)
    if too_often is not None:
        return _give_up(job, f"{_reason(fact).rstrip('.')}{too_often}", now)
    # Of a run that was lost the next one is started at once: there is nothing to wait for.
    wait = strategy.delay_seconds(attempts if passing else attempts - 1, _chance(job)) if passing or attempts > 1 else 0.0
    return Decision(waiting(job, attempts, now + wait, failures), (FailExports(), KillRun(job.token)))


def _without_engine(job: Job, loss: EngineLoss) -> Job:
    """Return a job whose shared engine has ended: in an engine of its own if it may be at fault."""
    losses = job.engine_losses + (loss is EngineLoss.WORKED)
    if losses < MOST_ENGINE_LOSSES:
        return dataclasses.replace(job, engine_losses=losses)
    version = job.version
    own = dataclasses.replace(
        version, options=version.options | {"engine": OWN_ENGINE}, config=dataclasses.replace(version.config, engine=OWN_ENGINE)
    )
    return dataclasses.replace(job, version=own, engine_losses=0, interruption=MOVED_OUT)


def _has_gone_well(job: Job, now: float) -> bool:
    """Return True if the failed run had gone on for so long that attempts are counted from the beginning."""
    reset_ms = job.version.config.restart_strategy.reset_ms
    return bool(reset_ms) and job.state is JobState.RUNNING and now - (job.start_time or now) >= reset_ms / 1000


def _too_often(job: Job, attempts: int, failures: tuple[float, ...], passing: bool) -> str | None:
    """Return the reason to give up a job that has failed so often, as the end of a sentence; None if it is tried again."""
    strategy = job.version.config.restart_strategy
    if strategy.most_failures is not None and len(failures) > strategy.most_failures:
        return f", {counted(len(failures), 'time')} within {durations.words(strategy.interval_ms)} (option restart)"
    bounds = [strategy.attempts] if strategy.attempts is not None else []
    if _goes_back(job) or (not bounds and not passing):
        bounds.append(MOST_ATTEMPTS - 1)
    if not bounds or attempts <= min(bounds):
        return None
    return f", {attempts} times in a row without progress" if attempts > 1 else ""


def _goes_back(job: Job) -> bool:
    """Return True for a new version that may give way to the one before."""
    return job.update is not None and isinstance(job.update.phase, Starting | Watched)


def _chance(job: Job) -> float:
    """Return a number from -1 to 1 that is random among runs, and always the same for one run."""
    return random.Random(f"{job.id}/{job.token}").uniform(-1.0, 1.0)


def lost_to_suspend(job: Job, fact: Failed | Died, now: float) -> Decision:
    """Suspend a job whose run ended before it had stopped. Its last committed epoch is the job's state."""
    end = (FailExports(), answered(_operation(job)), KillRun(job.token))
    return Decision(fenced(suspended(_with_details(job, fact), _why(job))), end)


def lost_to_restart(job: Job, fact: Failed | Died, now: float) -> Decision:
    end = (FailExports(), answered(_operation(job)), KillRun(job.token))
    return Decision(waiting(_with_details(job, fact), job.attempts), end)


def lost_to_end(job: Job, fact: Failed | Died, now: float) -> Decision:
    error = SnapshotError(f"The snapshot was not taken, the job is suspended: {_reason(fact)}")
    end = (FailExports(), answered(_operation(job), error), KillRun(job.token))
    return Decision(fenced(suspended(_with_details(job, fact), REQUESTED)), end)


def lost_to_update(job: Job, fact: Failed | Died, now: float) -> Decision:
    return updating.lost(_with_details(job, fact), _reason(fact), now)


def _give_up(job: Job, reason: str, now: float) -> Decision:
    back = updating.rolled_back(job, reason, now)
    if back is not None:
        return back
    if job.version.config.suspend_on_failure:
        stays = fenced(suspended(job, f"Execution failure:\n{reason}"))
        return Decision(stays, (FailExports(), KillRun(job.token)))
    meanwhile = _meanwhile(job, "failed")
    return Decision(fenced(ended(job, now, failure=reason)), (*meanwhile, FailExports(), KillRun(job.token)))


def _suspended_again(job: Job) -> Job:
    return dataclasses.replace(job, state=JobState.SUSPENDED, termination=None)


def _meanwhile(job: Job, what: str, but: int | None = None) -> list[Finish]:
    error: PitstopError = ConflictError(f"Job '{job.display_name}' {what} meanwhile.")
    return [finish for finish in answer_all(job, error) if finish.operation != but]


def _operation(job: Job) -> int:
    assert isinstance(job.termination, Termination)
    return job.termination.operation


def _why(job: Job) -> str:
    """Return the reason for which the job is suspended."""
    assert job.termination is not None
    return job.termination.because or REQUESTED


def _reason(fact: Failed | Died) -> str:
    return fact.error.message if isinstance(fact, Failed) else fact.reason


def _with_details(job: Job, fact: Failed | Died) -> Job:
    return dataclasses.replace(job, failure_details=fact.details) if isinstance(fact, Failed) else job
