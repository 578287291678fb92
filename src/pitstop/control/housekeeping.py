"""Work that no event asks for: to get ready for the next start, and to forget what is too old."""

from __future__ import annotations

from collections.abc import Callable

import structlog

from pitstop.control.lanes import Lanes
from pitstop.control.means import Means
from pitstop.control.owed import unneeded
from pitstop.control.performing import Performer
from pitstop.control.retention import SWEEP_SECONDS, old_lineages, sweep
from pitstop.control.updating import under_way
from pitstop.errors import FencedError
from pitstop.model.job import Job, JobState
from pitstop.model.run import Observation, StateExpired

LANE = "house"

log = structlog.get_logger("pitstop.control")


class Housekeeper:
    """Keeps house when no job is just being started. ``hear`` takes the facts that it sees of jobs, for the loop to decide."""

    def __init__(self, means: Means, performer: Performer, lanes: Lanes, hear: Callable[[Observation], None]) -> None:
        self._means, self._performer, self._lanes, self._hear = means, performer, lanes, hear
        self._next_sweep = float("-inf")

    def keep_house(self, jobs: list[Job]) -> None:
        """Begin the work, unless it is under way, or would slow down a job that starts now."""
        if not any(job.state is JobState.STARTING or under_way(job) for job in jobs) and not self._lanes.busy(LANE):
            self._lanes.put(LANE, self._prepare_and_sweep)

    def _prepare_and_sweep(self) -> None:
        """Prepare and sweep. A failure harms no job."""
        try:
            self._means.check_lead()
            self._means.launcher.prepare()
            if self._means.clock.monotonic() >= self._next_sweep:
                self._next_sweep = self._means.clock.monotonic() + SWEEP_SECONDS
                self._sweep()
        except FencedError:
            pass
        except Exception:  # the control loop goes on without what is only prepared or swept
            log.exception("the control loop could not prepare or sweep; trying again")

    def _sweep(self) -> None:
        for job in sweep(
            self._means.registry, self._means.data, self._means.clock.now(), self._means.files, self._means.retention
        ):
            self._hear(Observation(job.id, job.token, StateExpired()))
        self._drop_unneeded()
        self._means.outputs.forget(self._means.registry.get_job)

    def _drop_unneeded(self) -> None:
        """Remove the checkpoints whose removal was lost with an earlier control plane."""
        for job_before in self._means.registry.jobs(include_ended=False):
            lineages = old_lineages(self._means.data, job_before, self._means.clock.now(), self._means.files)
            # The job afresh, after the list: a version that was put in its place meanwhile has told its checkpoint.
            open_operations = self._means.registry.open_operations(job_before.id)
            job = self._means.registry.get_job(job_before.id)
            if job is not None:
                self._performer.act(job, unneeded(job, lineages, open_operations))
