"""The rules that hold for every job at every moment, whatever happened to it."""

from __future__ import annotations

from pitstop.model.job import Asked, Job, JobState, Mode, Starting

_MODES = {
    JobState.RUNNING: (Mode.SUSPEND, Mode.RESTART, Mode.CANCEL_AND_EXPORT, Mode.UPDATE),
    JobState.SUSPENDED_EXPORTING_SNAPSHOT: (Mode.EXPORT, Mode.CANCEL_AND_EXPORT, Mode.UPDATE),
    JobState.FAILED: (Mode.EXPORT,),
}
"""States in which a run may be ended, or kept state exported, and what for."""
_RUN_STATES = (JobState.NOT_RUNNING, JobState.STARTING, JobState.RUNNING)


def violations(job: Job) -> dict[int, str]:
    """Number of each rule that does not hold → the sentence that says so; none if all is well."""
    checks = [*_of_state(job), *_of_update(job)]
    return {rule: sentence for rule, (holds, sentence) in enumerate(checks) if not holds}


def _of_state(job: Job) -> list[tuple[bool, str]]:
    state, mode = job.state, job.termination.mode if job.termination is not None else None
    stopped = state in (JobState.SUSPENDED, JobState.SUSPENDED_EXPORTING_SNAPSHOT)
    return [
        (mode is None or mode in _MODES.get(state, ()), f"{state} has mode {mode}"),
        (state is not JobState.SUSPENDED_EXPORTING_SNAPSHOT or mode is not None, f"{state} has no mode"),
        (not job.state_dropped or state.terminal, f"{state} without its state"),
        (state.terminal == (job.completion_time is not None), f"{state} with completion time {job.completion_time}"),
        (state is not JobState.FAILED or bool(job.failure), "it has failed without a reason"),
        (not job.user_cancelled or state is JobState.FAILED, f"it was cancelled and is {state}"),
        (job.suspension_cause is None or stopped, f"{state} with a cause of suspension"),
        (not stopped or job.suspension_cause is not None, "suspended without a cause"),
        (job.due is None or state is JobState.NOT_RUNNING, f"{state} with a time to start"),
        (state not in (JobState.STARTING, JobState.RUNNING) or job.token > 0, f"{state} without a token"),
    ]


def _of_update(job: Job) -> list[tuple[bool, str]]:
    phase = job.update.phase if job.update is not None else None
    mode = job.termination.mode if job.termination is not None else None
    active = job.state in (*_RUN_STATES, JobState.SUSPENDED, JobState.SUSPENDED_EXPORTING_SNAPSHOT)
    return [
        ((mode is Mode.UPDATE) == isinstance(phase, Asked), f"mode {mode} in phase {phase and phase.kind} of an update"),
        (not isinstance(phase, Starting) or job.state is not JobState.RUNNING, "the new version runs and is still starting"),
        (job.update is None or active, f"{job.state} with an update"),
        (job.preparation is None or active, f"{job.state} while a new version is made ready"),
        (
            job.withdrawal is None or job.state not in (*_RUN_STATES[1:], JobState.COMPLETING, JobState.COMPLETED),
            f"{job.state} before what a version wrote is withdrawn",
        ),
        (mode is not Mode.UPDATE or job.preparation is None, "an update is begun and another made ready"),
    ]
