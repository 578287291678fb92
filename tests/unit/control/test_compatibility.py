"""A version is compiled for an update or a check with the options that it would run with."""

import pytest

from pitstop.control.compatibility import Judge
from pitstop.model.config import JobConfig
from pitstop.model.data_folder import DataFolder
from pitstop.model.job import Job, JobSource, JobState, Version
from pitstop.plan.model import Plan
from pitstop.testing.registry import MemoryRegistry
from pitstop.testing.workers import ScriptedWorkers

OPTIONS = {"partitions": 3}


class Noting(ScriptedWorkers):
    """Notes what it is to compile."""

    def __init__(self):
        self.options = []

    def compile(self, task):
        self.options.append(task.options)
        return super().compile(task)


@pytest.fixture
def judge(tmp_path):
    """The judge, what it lets be compiled, and a job."""
    (tmp_path / "job.py").write_text("# stage: speed bigint")
    registry, workers = MemoryRegistry(), Noting()
    version = Version(1, JobSource(str(tmp_path / "job.py")), {}, JobConfig(), Plan(()).to_dict(), "L1")
    job = Job("id", "job", 0.0, version, JobState.RUNNING, token=1)
    registry.add_job(job)
    return Judge(registry, workers, DataFolder(tmp_path)), workers, job


def test_a_check_compiles_with_the_options_that_are_asked_for(judge):
    judge, workers, job = judge
    judge.check(job.version.source, OPTIONS, None, None)
    assert workers.options == [OPTIONS]


def test_an_update_without_a_standby_compiles_with_the_options_that_are_asked_for(judge):
    judge, workers, job = judge
    judge.judge_update(job, job.version.source, OPTIONS, None)
    assert workers.options == [OPTIONS]
