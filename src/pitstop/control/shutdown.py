"""End all runs when the control plane ends for good; their jobs go on when it is started again."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from pitstop.control.actions import SendCommand
from pitstop.control.life import Leave, decide
from pitstop.control.liveness import RUNNING_STATES
from pitstop.control.ports.launcher import Launcher
from pitstop.control.ports.registry import Registry
from pitstop.control.ports.wake import Wake
from pitstop.model.job import Job, JobState

LOOK_SECONDS = 0.1


def end_runs(
    registry: Registry,
    launcher: Launcher,
    wake: Wake,
    seconds: float,
    report: Callable[[Sequence[Job]], None] = lambda running: None,
) -> None:
    """Let every run end at its next epoch boundary. At once, end runs that are only starting; after ``seconds``, end all others.

    Call it when the control loop has ended. The stopped runs leave their facts in the store: the next control
    plane finds each job stopped without a wish to end it, and starts it again. ``report`` gets the jobs whose runs have not
    ended, whenever these have become fewer.
    """
    jobs = [job for job in registry.jobs(include_ended=False) if job.state in RUNNING_STATES]
    for job in jobs:
        for action in decide(job, Leave(), time.time()).actions:
            if isinstance(action, SendCommand):
                registry.add_command(job.id, job.token, action.order)
                wake.wake(job.id)
    deadline = time.monotonic() + seconds
    running = jobs
    report(running)
    while running and time.monotonic() < deadline:
        still = [job for job in running if not _is_over(registry, launcher, job)]
        if len(still) < len(running):
            report(still)
        running = still
        if running:
            time.sleep(LOOK_SECONDS)
    for job in jobs:
        handle = registry.handle_of(job.id, job.token)
        if handle is not None:
            launcher.kill(handle)


def _is_over(registry: Registry, launcher: Launcher, job: Job) -> bool:
    """Return True once the run has ended. A run that only starts has nothing to finish: it is ended as soon as it is known."""
    handle = registry.handle_of(job.id, job.token)
    if handle is None:
        return job.state is not JobState.STARTING or launcher.start_failed(job.id, job.token)
    if job.state is JobState.STARTING:
        launcher.kill(handle)
    return launcher.alive(handle) is False
