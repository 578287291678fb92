"""Work that no event asks for: to get ready for the next start, and to forget what is too old."""

from __future__ import annotations

from collections.abc import Callable

import structlog

from pitstop.control.lanes import Lanes
from pitstop.control.owed import unneeded
from pitstop.control.performing import Performer
from pitstop.control.ports import Launcher, Outputs, Registry
from pitstop.control.retention import SWEEP_SECONDS, old_lineages, sweep
from pitstop.control.updating import under_way
from pitstop.errors import FencedError
from pitstop.kit.clock import Clock
from pitstop.model.data_folder import DataFolder
from pitstop.model.job import Job, JobState
from pitstop.model.retention import Retention
from pitstop.model.run import Observation, StateExpired
from pitstop.snapshots.files import Files

LANE = "house"

log = structlog.get_logger("pitstop.control")


class Housekeeper:
    """Keeps house when no job is just being started. ``hear`` takes the facts that it sees of jobs, for the loop to decide."""

    def __init__(
        self,
        registry: Registry,
        launcher: Launcher,
        performer: Performer,
        lanes: Lanes,
        clock: Clock,
        data: DataFolder,
        outputs: Outputs,
        files: Files,
        hear: Callable[[Observation], None],
        check_lead: Callable[[], None],
        retention: Retention,
    ) -> None:
        self._registry, self._launcher, self._performer, self._lanes = registry, launcher, performer, lanes
        self._clock, self._data, self._outputs, self._files = clock, data, outputs, files
        self._hear, self._check_lead, self._retention = hear, check_lead, retention
        self._next_sweep = float("-inf")

    def keep_house(self, jobs: list[Job]) -> None:
        """Begin the work, unless it is under way, or would slow down a job that starts now."""
        if not any(job.state is JobState.STARTING or under_way(job) for job in jobs) and not self._lanes.busy(LANE):
            self._lanes.put(LANE, self._prepare_and_sweep)

    def _prepare_and_sweep(self) -> None:
        """Prepare and sweep. A failure harms no job."""
        try:
            self._check_lead()
            self._launcher.prepare()
            if self._clock.monotonic() >= self._next_sweep:
                self._next_sweep = self._clock.monotonic() + SWEEP_SECONDS
                self._sweep()
        except FencedError:
            pass
        except Exception:
            log.exception("the control loop could not prepare or sweep; trying again")

    def _sweep(self) -> None:
        for job in sweep(self._registry, self._data, self._clock.now(), self._files, self._retention):
            self._hear(Observation(job.id, job.token, StateExpired()))
        self._drop_unneeded()
        self._outputs.forget(self._registry.get_job)

    def _drop_unneeded(self) -> None:
        """Remove the checkpoints whose removal was lost with an earlier control plane."""
        for job_before in self._registry.jobs(include_ended=False):
            lineages = old_lineages(self._data, job_before, self._clock.now(), self._files)
            # The job afresh, after the list: a version that was put in its place meanwhile has told its checkpoint.
            open_operations = self._registry.open_operations(job_before.id)
            job = self._registry.get_job(job_before.id)
            if job is not None:
                self._performer.act(job, unneeded(job, lineages, open_operations))
