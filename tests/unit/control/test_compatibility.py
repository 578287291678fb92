"""A version is compiled for an update or a check with the options that it would run with."""

import dataclasses
from pathlib import Path

import pytest

from pitstop.control.compatibility import Judge
from pitstop.errors import DropError, IncompatibleError
from pitstop.model.config import JobConfig
from pitstop.model.data_folder import DataFolder
from pitstop.model.job import Job, JobSource, JobState, Version
from pitstop.model.report import Verdict
from pitstop.plan.model import Plan
from tests.doubles.registry import MemoryRegistry
from tests.doubles.scripts import Script
from tests.doubles.workers import ScriptedWorkers

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


def _with_state(job, *stages):
    """The job with a plan of these stages, compiled as the scripts are."""
    script = Path(job.version.source.artifact).with_name("before.py")
    script.write_text("\n".join(f"# stage: {stage}" for stage in stages))
    return dataclasses.replace(job, version=dataclasses.replace(job.version, plan=Script.read(script).plan.to_dict()))


def test_an_update_that_drops_state_is_refused_with_the_list_until_it_is_allowed(judge):
    judge, _, job = judge
    job = _with_state(job, "speed bigint", "old double")
    with pytest.raises(DropError) as refused:
        judge.judge_update(job, job.version.source, {}, None)
    assert refused.value.message == (
        "The new version would drop what job 'job' has saved of stage 'old'. The job goes on as it was: if that is meant, say "
        "--allow-drop=old (option allow_drop, in SQL allowDrop)."
    )
    assert (refused.value.code, refused.value.details["report"]["needs_allow_drop"]) == ("DROPS_STATE", ["old"])
    for allowed in (True, ["old"], "old", ["*"]):
        report = judge.judge_update(job, job.version.source, {"allow_drop": allowed}, None)
        assert report.of(Verdict.DROPPED) == ("old",)


def test_an_update_to_another_job_says_that_it_looks_so(judge):
    judge, _, job = judge
    (other := Path(job.version.source.artifact).with_name("other.py")).write_text("# source: drops\n# stage: slow string")
    job = dataclasses.replace(_with_state(job, "speed bigint"), state=JobState.SUSPENDED)
    with pytest.raises(DropError) as refused:
        judge.judge_update(job, JobSource(str(other)), {}, None)
    assert refused.value.message == (
        "Nothing that job 'job' has saved is in the new version, so this looks like another job: stage 'speed' and source "
        "'source' would be dropped. The job stays as it is: if that is meant, say --allow-drop=speed,source (option allow_drop, "
        "in SQL allowDrop); for a stage that only has another name, give --renamed NEW=OLD."
    )


def test_what_is_refused_by_a_rule_is_told_first(judge):
    judge, _, job = judge
    with pytest.raises(IncompatibleError, match="C20") as refused:
        judge.judge_update(_with_state(job, "speed double", "old double"), job.version.source, {}, None)
    assert refused.value.code == "INCOMPATIBLE"


def test_a_check_compiles_with_the_options_that_are_asked_for(judge):
    judge, workers, job = judge
    judge.check(job.version.source, OPTIONS, None, None)
    assert workers.options == [OPTIONS]


def test_a_check_tells_that_another_job_writes_where_a_new_one_would(judge):
    judge, _, job = judge
    artifact = Path(job.version.source.artifact)
    artifact.write_text("# sink: out\n# into: the map 'm'")
    job = dataclasses.replace(job, version=dataclasses.replace(job.version, plan=Script.read(artifact).plan.to_dict()))
    judge._registry.save_job(job)
    (finding,) = judge.check(job.version.source, {}, None, None).findings
    assert finding.startswith("As a job of its own it would fail. Sink 'out' () writes into the map 'm', as job 'job' (id) does")
    assert finding.endswith("To see what an update would do: pitstop check -j JOB.")
    assert judge.check(job.version.source, {"allow_shared": True}, None, None).findings == ()
    assert judge.check(job.version.source, {}, job, None).findings == ()


def test_an_update_without_a_standby_compiles_with_the_options_that_are_asked_for(judge):
    judge, workers, job = judge
    judge.judge_update(job, job.version.source, OPTIONS, None)
    assert workers.options == [OPTIONS]
