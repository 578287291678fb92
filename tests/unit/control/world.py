"""A control plane's surroundings in memory."""

import dataclasses

from pitstop.control.ports.launcher import RunSpec
from pitstop.model.config import JobConfig
from pitstop.model.job import Job, JobSource, JobState, Version
from tests.doubles.clock import ManualClock
from tests.doubles.launcher import ScriptedLauncher
from tests.doubles.registry import MemoryRegistry, MemoryRunnerLink
from tests.doubles.wake import MemoryWake


class World:
    """Registry, launcher, clock and wake, and jobs whose runs are started by hand."""

    def __init__(self):
        self.clock, self.wake = ManualClock(), MemoryWake()
        self.registry = MemoryRegistry(self.clock)
        self.launcher = ScriptedLauncher(lambda: MemoryRunnerLink(self.registry, self.wake), self.wake)

    def job(self, job_id="id-1", state=JobState.STARTING, **more):
        """A job that has its first run, or is to have it."""
        job = Job(job_id, job_id, self.clock.now(), Version(1, JobSource("a.py"), {}, JobConfig()), state, token=1, **more)
        self.registry.add_job(job)
        return job

    def start(self, job):
        """The process of the job's present run."""
        self.launcher.start(RunSpec(job.id, job.token))
        return self.launcher.started[-1]

    def change(self, job, **fields):
        changed = dataclasses.replace(job, **fields)
        self.registry.save_job(changed)
        return changed
