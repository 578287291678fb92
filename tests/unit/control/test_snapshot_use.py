"""Which jobs need a snapshot, so that it cannot be deleted."""

import dataclasses

import pytest

from pitstop.control.snapshot_use import job_that_needs
from pitstop.model.config import JobConfig
from pitstop.model.data_folder import DataFolder
from pitstop.model.job import Asked, Job, JobSource, JobState, Starting, Update, Version, Watched
from pitstop.model.operation import GoingBack, StateAtStart, UpdateJob
from pitstop.snapshots.checkpoint import Checkpoint, OffsetLog
from tests.doubles.registry import MemoryRegistry


def version(number=1, snapshot=None, lineage=None, guarantee="exactly_once"):
    options = {"processing_guarantee": guarantee} | ({"initial_snapshot": snapshot} if snapshot else {})
    return Version(number, JobSource("a.py"), options, JobConfig.from_options(options), {"stages": []}, lineage)


@pytest.fixture
def needs(tmp_path):
    """Whether a job that is at this point needs snapshot ``saved``."""

    def needs(version, update=None, begun=(), state=JobState.RUNNING, request=None, **more):
        registry, data = MemoryRegistry(), DataFolder(tmp_path)
        registry.add_job(Job("id", "job", 0.0, version, state, update=update, **more))
        if request is not None:
            registry.add_operation("id", request)
        for lineage in begun:
            Checkpoint(data.job("id").checkpoint(lineage)).write_offsets(0, OffsetLog({}, ("0",)))
        return job_that_needs("saved", registry, data) is not None

    return needs


def test_a_job_needs_what_it_starts_from_until_it_has_an_epoch_of_its_own(needs):
    assert needs(version(snapshot="saved"), state=JobState.NOT_RUNNING)
    assert needs(version(snapshot="saved", lineage="L1"), state=JobState.STARTING)
    assert not needs(version(snapshot="saved", lineage="L1"), begun=["L1"])
    assert not needs(version(snapshot="another"))
    assert not needs(version())


def test_a_job_whose_guarantee_keeps_no_checkpoint_needs_it_all_the_time(needs):
    assert needs(version(snapshot="saved", lineage="L1", guarantee="none"), begun=["L1"])


def test_an_ended_job_needs_it_while_it_may_be_resumed_and_has_no_epoch(needs):
    failed = {"state": JobState.FAILED, "completion_time": 1.0, "failure": "boom"}
    assert needs(version(snapshot="saved"), **failed)
    assert needs(version(snapshot="saved", lineage="L1"), **failed, user_cancelled=True)
    assert not needs(version(snapshot="saved", lineage="L1"), **failed, begun=["L1"])
    assert not needs(version(snapshot="saved"), **failed, state_dropped=True)
    assert not needs(version(snapshot="saved"), state=JobState.COMPLETED, completion_time=1.0)


def test_a_job_that_is_not_compiled_may_name_any_snapshot_in_its_code(needs):
    unread = dataclasses.replace(version(), plan=None)
    assert needs(unread, state=JobState.NOT_RUNNING)
    assert needs(unread, state=JobState.STARTING)
    assert not needs(unread, state=JobState.FAILED, completion_time=1.0, failure="boom"), "nothing of it is lost"
    assert not needs(dataclasses.replace(version(snapshot="another"), plan=None), state=JobState.STARTING)


def test_a_version_that_an_update_may_go_on_or_back_to_counts_as_well(needs):
    new, old = version(2, "saved", "L2"), version(1, lineage="L1")
    assert needs(old, Update(7, 0.0, Asked(new)), begun=["L1"])
    assert needs(new, Update(7, 0.0, Starting(old, 0.0)), begun=["L1"])
    assert not needs(new, Update(7, 60.0, Watched(old, 0.0)), begun=["L1", "L2"])
    forgetful = version(1, lineage="L1", guarantee="none")
    assert needs(new, Update(7, 60.0, Watched(forgetful, 0.0)), begun=["L1", "L2"]), "going back starts it from the snapshot"
    first = version(1, "saved", "never begun")
    assert needs(version(2, "of the update", "L2"), Update(7, 60.0, Watched(first, 0.0)), begun=["L2"])


def test_a_job_that_goes_back_to_a_snapshot_needs_it_from_the_moment_it_is_asked_to(needs):
    back = GoingBack(1, StateAtStart.SNAPSHOT)
    running = version(2, lineage="L2")
    assert needs(running, begun=["L2"], request=UpdateJob(running.source, {}, "taken", back=back, start_from="saved"))
    assert not needs(running, begun=["L2"], request=UpdateJob(running.source, {}, "taken", back=back, start_from="another"))
    assert not needs(running, begun=["L2"], request=UpdateJob(running.source, {}, "saved"))
