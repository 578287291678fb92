"""State that outgrows the memory moves to disk (state_store=auto), and a move that fails stops its job seldom."""

import dataclasses

import pytest

from pitstop.control.actions import Ask, DropSnapshot
from pitstop.control.life import Due, decide
from pitstop.control.scaling import as_update
from pitstop.control.seeing import MOVE_AGAIN_SECONDS
from pitstop.errors import Problem
from pitstop.model.config import JobConfig, ProcessingGuarantee, StateStore
from pitstop.model.job import Job, JobSource, JobState, Version
from pitstop.model.operation import Operation, Rescale, UpdateJob
from pitstop.model.report import Report, Way
from pitstop.model.run import (
    Compiled,
    Failed,
    Observation,
    PreparationFailed,
    Running,
    StateOutgrown,
    Stopped,
    UpdatePrepared,
    Withdrawn,
)
from pitstop.model.snapshot import SnapshotRecord

MOVE = Rescale("rescaling-id", StateStore.ROCKSDB)
SAVED = SnapshotRecord("rescaling-id", "id", "job", 1.0, 10, "/s")
REPORT = Report((), Way.REBUILD)


def running(**options):
    config = JobConfig(state_store=StateStore.AUTO, **options)
    version = Version(1, JobSource("a.py"), {}, config, {"stages": []}, "L1")
    return Job("id", "job", 1.0, version, JobState.RUNNING, token=3, start_time=1000.0)


def saw(job, fact, now):
    return decide(job, Observation("id", job.token, fact), now)


def moving(job, now, number=9):
    """The job whose run has stopped to be started with its state on disk."""
    asked = decide(job, Operation(number, "id", MOVE), now).job
    ready = UpdatePrepared(number, as_update(job, MOVE), REPORT, job.version.number, rescales=True)
    stopped = saw(saw(asked, ready, now).job, Stopped(now, SAVED), now).job
    return decide(stopped, Due(), now).job


def moved_in_vain(job, now):
    """The same once the new run has failed, and the one before is up again."""
    back = saw(moving(job, now), Failed(Problem("ENGINE", "boom")), now + 1).job
    waiting = saw(back, Withdrawn(9, 0, 0), now + 1).job
    return saw(decide(waiting, Due(), now + 1).job, Running(5), now + 2).job


def is_moved(job, now):
    return Ask(MOVE) in saw(job, StateOutgrown(10), now).actions


def test_a_move_that_has_failed_is_tried_again_less_and_less_often():
    job, now = running(), 2000.0
    assert is_moved(job, now)
    for failed in (1, 2, 3, 4, 5):
        job = moved_in_vain(job, now)
        assert (job.state, job.moves_failed, job.version.config.state_store) == (JobState.RUNNING, failed, StateStore.AUTO)
        wait = MOVE_AGAIN_SECONDS[min(failed, len(MOVE_AGAIN_SECONDS)) - 1]
        assert not is_moved(job, job.start_time + wait - 1)
        now = job.start_time + wait
        assert is_moved(job, now)


def test_a_move_that_goes_well_ends_the_waiting_and_so_does_another_version():
    job = moved_in_vain(running(), 2000.0)
    assert saw(moving(job, 3000.0), Running(7), 3001.0).job.moves_failed == 0
    update = UpdateJob(JobSource("b.py"), {}, "s")
    asked = decide(job, Operation(11, "id", update), 3000.0).job
    assert saw(asked, UpdatePrepared(11, update, REPORT, 1), 3001.0).job.moves_failed == 0


def test_a_job_is_moved_while_its_new_version_is_watched_as_it_may_hold_still():
    update = UpdateJob(JobSource("b.py"), {}, "s", watch_seconds=3600.0)
    asked = decide(running(), Operation(7, "id", update), 2000.0).job
    stopping = saw(asked, UpdatePrepared(7, update, REPORT, 1), 2000.0).job
    starting = decide(saw(stopping, Stopped(2000.0, dataclasses.replace(SAVED, name="s")), 2001.0).job, Due(), 2001.0).job
    assert not is_moved(starting, 2001.5)
    watched = saw(saw(starting, Compiled({}, "L2", running().version.config), 2002.0).job, Running(1), 2003.0).job
    assert watched.update is not None
    assert is_moved(watched, 2004.0)
    assert moving(watched, 2004.0).update.rescales


@pytest.mark.parametrize("fact", [PreparationFailed(9, Problem("ENGINE", "no room"))])
def test_a_move_that_cannot_be_made_ready_leaves_the_job_alone(fact):
    asked = decide(running(), Operation(9, "id", MOVE), 2000.0).job
    assert saw(asked, fact, 2001.0).job == running()


def test_a_job_without_a_guarantee_names_no_snapshot_that_a_move_has_removed():
    job = moved_in_vain(running(processing_guarantee=ProcessingGuarantee.NONE), 2000.0)
    assert job.version.config.initial_snapshot == "rescaling-id", "the state goes on from it"
    up = saw(moving(job, 3000.0), Running(7), 3001.0)
    assert DropSnapshot("rescaling-id") in up.actions
    assert up.job.version.config.initial_snapshot is None
    assert "initial_snapshot" not in up.job.version.options
