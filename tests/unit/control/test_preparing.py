"""A warm runner is made ready for a new version: compiled always, rehearsed where that does not hold the job up."""

import dataclasses

import pytest

from pitstop.control.preparing import Preparer
from pitstop.model.config import JobConfig, StateStore
from pitstop.model.data_folder import DataFolder
from pitstop.model.job import Job, JobSource, JobState, Version
from pitstop.model.operation import GoingBack, Rescale, StateAtStart, UpdateJob
from pitstop.model.report import Verdict
from pitstop.model.snapshot import SnapshotManifest, SnapshotRecord
from pitstop.plan.model import Plan
from pitstop.snapshots import manifest as manifests
from tests.doubles.registry import MemoryRegistry
from tests.doubles.scripts import Script
from tests.doubles.workers import ScriptedWorkers


class Warm:
    """A warm runner (control.ports.workers.Standby) that notes what it has done."""

    id = "warm"

    def __init__(self, workers):
        self._workers = workers
        self.done = []

    def compile(self, task):
        self.done.append("compiled")
        return self._workers.compile(task)

    def rehearse(self, task):
        self.done.append(f"rehearsed from {task.snapshot or task.lineage}")


class WithWarm(ScriptedWorkers):
    def __init__(self):
        self.warm = Warm(self)

    def hold(self, seconds):
        return self.warm


@pytest.fixture
def world(tmp_path):
    """What prepares, its warm runner, its registry, and a job that runs."""
    (tmp_path / "job.py").write_text("# stage: speed bigint")
    registry, workers = MemoryRegistry(), WithWarm()
    version = Version(1, JobSource(str(tmp_path / "job.py")), {}, JobConfig(), Plan(()).to_dict(), "L1")
    job = Job("id", "job", 0.0, version, JobState.RUNNING, token=1)
    registry.add_job(job)
    return Preparer(registry, workers, DataFolder(tmp_path)), workers.warm, registry, job


@pytest.mark.parametrize(
    "request_of", [lambda job: UpdateJob(job.version.source, {}, "before"), lambda job: Rescale("rescaling-id")]
)
def test_a_new_version_and_one_for_other_members_are_rehearsed(world, request_of):
    preparer, warm, registry, job = world
    asked = registry.add_operation(job.id, request_of(job))
    assert preparer.prepare(job, asked.id).standby == "warm"
    assert warm.done == ["compiled", "rehearsed from L1"]


def test_state_that_moves_to_disk_is_restored_once_without_a_rehearsal_that_would_take_as_long(world):
    preparer, warm, registry, job = world
    asked = registry.add_operation(job.id, Rescale("rescaling-id", StateStore.ROCKSDB))
    assert preparer.prepare(job, asked.id).standby == "warm"
    assert warm.done == ["compiled"]


def test_a_version_that_starts_from_another_snapshot_is_rehearsed_from_that(world, tmp_path):
    preparer, warm, registry, job = world
    folder = tmp_path / "saved"
    plan = Script.read(job.version.source.artifact).plan.to_dict()
    manifests.write(folder, SnapshotManifest("saved", "id", "job", "L0", 4, 5.0, None, plan, 2, "p", {}, {}, {}))
    registry.add_snapshot(SnapshotRecord("saved", "id", "job", 5.0, 1, str(folder), 4))
    back = GoingBack(1, StateAtStart.SNAPSHOT)
    asked = registry.add_operation(job.id, UpdateJob(job.version.source, {}, "before", back=back, start_from="saved"))
    prepared = preparer.prepare(job, asked.id)
    assert (prepared.standby, warm.done) == ("warm", ["compiled", f"rehearsed from {folder}"])
    assert prepared.report.of(Verdict.RESTORED) == ("source", "speed")


def test_a_suspended_job_needs_no_warm_runner(world):
    preparer, warm, registry, job = world
    asked = registry.add_operation(job.id, UpdateJob(job.version.source, {}, "before"))
    suspended = dataclasses.replace(job, state=JobState.SUSPENDED)
    assert preparer.prepare(suspended, asked.id).standby is None
    assert warm.done == []
