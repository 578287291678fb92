"""The handlers of requests, for the states in which each request is legal."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from pitstop.control import updating
from pitstop.control.actions import CleanUp, ExportSuspended, FailExports, Finish, KillRun, PrepareUpdate, SendCommand
from pitstop.control.decision import (
    CANCELLED,
    REQUESTED,
    Decision,
    answer_all,
    answered,
    ended,
    refuse,
    suspended,
    waiting,
    without_state,
)
from pitstop.errors import ConflictError, UsageError
from pitstop.kit import durations
from pitstop.model.config import JobConfig
from pitstop.model.job import Job, JobState, Mode, Starting, Termination
from pitstop.model.operation import (
    CancelAndExport,
    Configure,
    Export,
    Operation,
    Rescale,
    Restart,
    Suspend,
    UpdateJob,
    moves_state,
)
from pitstop.model.run import StopRun, TakeSnapshot


def accept(job: Job, operation: Operation, now: float) -> Decision:
    """Answer a request for something that holds already."""
    return Decision(job, (answered(operation.id),))


def stop_for(mode: Mode) -> Callable[[Job, Operation, float], Decision]:
    """Tell the run to stop at its next epoch boundary, and save the state if the request names a snapshot."""

    def stop(job: Job, operation: Operation, now: float) -> Decision:
        if job.version.bounded:
            return _is_a_batch(job, operation)
        snapshot = operation.request.snapshot if isinstance(operation.request, CancelAndExport) else None
        because = operation.request.because if isinstance(operation.request, Suspend | Restart) else None
        stopping = dataclasses.replace(job, termination=Termination(mode, operation.id, because))
        return Decision(stopping, (SendCommand(StopRun(operation.id, snapshot)),))

    return stop


def resume(job: Job, operation: Operation, now: float) -> Decision:
    """Start again from the kept state."""
    resumed = dataclasses.replace(waiting(job), suspension_cause=None, failure_details=None)
    return Decision(resumed, (answered(operation.id),))


def configure(job: Job, operation: Operation, now: float) -> Decision:
    """Give a suspended job other options: its next run has them."""
    assert isinstance(operation.request, Configure)
    options = operation.request.options
    try:
        JobConfig.refuse_fixed(options)
        config = JobConfig.from_options(options, base=job.version.config)
    except UsageError as error:  # they may be right by themselves, and contradict what the job has already
        return Decision(job, (answered(operation.id, error),))
    version = dataclasses.replace(job.version, options=JobConfig.over(job.version.options, options), config=config)
    # Protected again later, it counts its members anew.
    quorum = job.quorum if config.split_brain_protection else 0
    return Decision(dataclasses.replace(job, version=version, quorum=quorum), (answered(operation.id),))


def bring_back(job: Job, operation: Operation, now: float) -> Decision:
    """Start an ended job again from its last epoch."""
    if job.state_dropped:
        return _has_no_state(job, operation)
    return Decision(waiting(_not_ended(job)), (answered(operation.id),))


def update_ended(job: Job, operation: Operation, now: float) -> Decision:
    """Bring an ended job back suspended, and get its new version ready as for every suspended job."""
    if job.state_dropped:
        return _has_no_state(job, operation)
    if job.version.bounded:
        return _is_a_batch(job, operation)
    cause = REQUESTED if job.user_cancelled else f"Execution failure:\n{job.failure}"
    return prepare_update(suspended(_not_ended(job), cause), operation, now)


def discard(job: Job, operation: Operation, now: float) -> Decision:
    """Remove what an ended job keeps."""
    return Decision(without_state(job), (answered(operation.id), CleanUp()))


def _not_ended(job: Job) -> Job:
    return dataclasses.replace(job, completion_time=None, user_cancelled=False, failure=None, failure_details=None)


def _has_no_state(job: Job, operation: Operation) -> Decision:
    result = f"because it already has a result: {job.failure}; its state was removed"
    return refuse(job, operation, f"Cannot {operation.verb.name} job {job.id} {result}")


def cancel(job: Job, operation: Operation, now: float) -> Decision:
    """End at once. A new version that is not up yet goes with its update: what the job keeps is the state of the one before."""
    cancelled = ended(job, now, CANCELLED, user_cancelled=True)
    end = _end_at_once(job, cancelled, "was cancelled", answered(operation.id))
    phase = job.update.phase if job.update is not None else None
    if job.update is None or not isinstance(phase, Starting):
        return end
    old, actions = updating.without_new_version(job, phase)
    message = f"Version {job.version.number} of job '{job.display_name}' was cancelled before it was up"
    restored = dataclasses.replace(
        end.job,
        version=old,
        withdrawal=job.update.operation,
        update_failure=f"{message}: the job keeps version {old.number} and its state",
    )
    return Decision(restored, (*end.actions, *actions))


def end_by_timeout(job: Job, now: float) -> Decision:
    """End a job that has run as long as it may. It can be brought back like every other that has failed."""
    timeout = durations.words(job.version.config.timeout_ms or 0)
    return _end_at_once(job, ended(job, now, f"Timed out: it has run for {timeout} (option timeout)"), "timed out")


def _end_at_once(job: Job, ended_job: Job, what: str, *answers: Finish) -> Decision:
    meanwhile = answer_all(job, ConflictError(f"Job '{job.display_name}' {what} meanwhile."))
    # A higher token fences the run, should it not be reached by the kill.
    return Decision(
        dataclasses.replace(ended_job, token=job.token + 1), (*meanwhile, FailExports(), *answers, KillRun(job.token))
    )


def export(job: Job, operation: Operation, now: float) -> Decision:
    """Tell the run to save its state and go on."""
    assert isinstance(operation.request, Export)
    if job.version.bounded:
        return _is_a_batch(job, operation)
    return Decision(job, (SendCommand(TakeSnapshot(operation.id, operation.request.snapshot)),))


def _is_a_batch(job: Job, operation: Operation) -> Decision:
    what = f"all sources of job '{job.display_name}' end, so it runs once and keeps no state"
    way = "Wait for its end, or cancel it"
    if job.state is not JobState.RUNNING:
        way = "Resume it to run it again, or submit its replacement as another job"
    return refuse(job, operation, f"Cannot {operation.verb.name}: {what}. {way}.")


def export_suspended(mode: Mode) -> Callable[[Job, Operation, float], Decision]:
    """Copy the kept state; what happens then depends on the mode."""

    def begin(job: Job, operation: Operation, now: float) -> Decision:
        assert isinstance(operation.request, Export | CancelAndExport)
        exporting = dataclasses.replace(
            job, state=JobState.SUSPENDED_EXPORTING_SNAPSHOT, termination=Termination(mode, operation.id)
        )
        return Decision(exporting, (ExportSuspended(operation.id, operation.request.snapshot),))

    return begin


def export_ended(job: Job, operation: Operation, now: float) -> Decision:
    """Copy the state that an ended job keeps; it stays ended."""
    assert isinstance(operation.request, Export)
    if job.state_dropped:
        return _has_no_state(job, operation)
    exporting = dataclasses.replace(job, termination=Termination(Mode.EXPORT, operation.id))
    return Decision(exporting, (ExportSuspended(operation.id, operation.request.snapshot),))


def prepare_update(job: Job, operation: Operation, now: float) -> Decision:
    """Get the new version ready while the old one goes on; nothing of the job changes yet."""
    assert isinstance(operation.request, UpdateJob | Rescale)
    if job.version.bounded:
        return _is_a_batch(job, operation)
    if job.preparation is not None:
        return refuse(
            job, operation, f"Job '{job.display_name}' is being updated or rescaled already: try again when that is done."
        )
    prepare = PrepareUpdate(operation.id, moves_state(operation.request))
    return Decision(dataclasses.replace(job, preparation=operation.id), (prepare,))


# Refusals, with the sentences of the reference


def not_in_this_state(states: str) -> Callable[[Job, Operation, float], Decision]:
    """Refuse what is legal in other states."""

    def refused(job: Job, operation: Operation, now: float) -> Decision:
        return refuse(job, operation, f"Cannot {operation.verb.name}, job status is {job.state}, should be {states}")

    return refused


def busy(job: Job, operation: Operation, now: float) -> Decision:
    """Refuse what would cross a termination that is under way."""
    assert job.termination is not None
    return refuse(job, operation, f"Job is already terminating in mode: {job.termination.mode}")


def busy_export(job: Job, operation: Operation, now: float) -> Decision:
    """Refuse what would change an ended job while its state is copied."""
    return refuse(job, operation, f"Cannot {operation.verb.name} while the state of job {job.id} is being exported: try again")


def no_cancel(job: Job, operation: Operation, now: float) -> Decision:
    """Refuse to cancel while state is being saved."""
    return refuse(job, operation, f"Cannot cancel when job status is {job.state}")


def still_going(job: Job, operation: Operation, now: float) -> Decision:
    """Refuse to remove the state of a job that has not ended."""
    return refuse(job, operation, f"Cannot {operation.verb.name}, job status is {job.state}: cancel the job first")


def has_result(job: Job, operation: Operation, now: float) -> Decision:
    """Refuse what an ended job can do no more."""
    result = job.failure or job.state.value
    return refuse(job, operation, f"Cannot {operation.verb.name} job {job.id} because it already has a result: {result}")


def no_resume(job: Job, operation: Operation, now: float) -> Decision:
    """Refuse to resume an ended job."""
    return refuse(job, operation, "Job already completed")
