"""State that outgrows the memory moves to disk (state_store=auto), and a move that fails stops its job seldom."""

import dataclasses

import pytest

from pitstop.control.actions import Ask, DropSnapshot, Finish, PrepareUpdate, SendCommand
from pitstop.control.job_events import events_of
from pitstop.control.life import Due, decide
from pitstop.control.owed import owed
from pitstop.control.scaling import as_update
from pitstop.control.seeing import HELD, MOVE_AGAIN_SECONDS
from pitstop.errors import Problem
from pitstop.model.config import JobConfig, ProcessingGuarantee, StateStore
from pitstop.model.job import Job, JobSource, JobState, Version
from pitstop.model.operation import Operation, Rescale, Restart, UpdateJob
from pitstop.model.report import Report, Way
from pitstop.model.run import (
    Compiled,
    Died,
    Failed,
    Observation,
    PreparationFailed,
    Running,
    StateOutgrown,
    Stopped,
    StopRun,
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


def being_made_ready(job, now, request=MOVE):
    return decide(job, Operation(9, "id", request), now).job


def stopping(job, now, request=MOVE):
    """The job whose run is to stop with a snapshot, to be started with its state on disk."""
    ready = UpdatePrepared(9, as_update(job, request), REPORT, job.version.number, rescales=True)
    return saw(being_made_ready(job, now, request), ready, now).job


def moving(job, now):
    """The job whose run has stopped to be started with its state on disk."""
    return decide(saw(stopping(job, now), Stopped(now, SAVED), now).job, Due(), now).job


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


NO_ROOM = Problem("ENGINE", "no room")
IN_VAIN = {
    "not made ready": (being_made_ready, PreparationFailed(9, NO_ROOM, moves_state=True)),
    "without its snapshot": (stopping, Stopped(2001.0, None, NO_ROOM)),
    "lost on its way": (stopping, Died("no room")),
}


@pytest.mark.parametrize(("until", "fact"), IN_VAIN.values(), ids=IN_VAIN)
def test_a_move_that_fails_before_the_job_has_another_run_is_told_and_tried_again_less_and_less_often(until, fact):
    job, now = running(), 2000.0
    for wait in (*MOVE_AGAIN_SECONDS, MOVE_AGAIN_SECONDS[-1]):
        failed = saw(until(job, now), fact, now)
        (answer,) = [action for action in failed.actions if isinstance(action, Finish)]
        assert "no room" in answer.error.message
        assert failed.job.update_failure.startswith("The state of job 'job' could not be moved to disk, so it goes on as it was:")
        up = saw(decide(failed.job, Due(), now).job, Running(5), now).job if failed.job.state is not job.state else failed.job
        assert (up.state, up.version, up.moves_failed) == (JobState.RUNNING, job.version, job.moves_failed + 1)
        assert not is_moved(up, now + wait - 1)
        assert is_moved(up, now + wait)
        job, now = up, now + wait


@pytest.mark.parametrize(("until", "fact"), IN_VAIN.values(), ids=IN_VAIN)
def test_other_members_for_which_a_job_is_not_started_say_nothing_of_moves(until, fact):
    fact = dataclasses.replace(fact, moves_state=False) if isinstance(fact, PreparationFailed) else fact
    stays = saw(until(running(), 2000.0, Rescale("rescaling-id")), fact, 2001.0).job
    assert (stays.moves_failed, stays.update_failure) == (0, None)


def test_what_is_made_ready_is_known_for_a_move_also_by_the_next_control_plane():
    begun = decide(running(), Operation(9, "id", MOVE), 2000.0)
    assert begun.actions == (PrepareUpdate(9, moves_state=True),)
    assert owed(begun.job, [Operation(9, "id", MOVE)]) == begun.actions


def test_a_run_that_holds_still_for_a_move_that_has_failed_is_started_again_as_one_that_does_not():
    held, asked = StateOutgrown(10, holds=True), Ask(Restart(because=HELD))
    assert saw(running(), held, 2000.0).actions == (Ask(MOVE),)
    failed = saw(being_made_ready(running(), 2000.0), PreparationFailed(9, NO_ROOM, moves_state=True), 2000.0).job
    assert saw(failed, StateOutgrown(10), 2030.0).actions == (), "its epochs go on"
    assert saw(failed, held, 2030.0).actions == (asked,)
    restarting = decide(failed, Operation(10, "id", asked.request), 2030.0)
    assert restarting.actions == (SendCommand(StopRun(10)),)
    assert saw(restarting.job, held, 2031.0).actions == ()
    stopped = Observation("id", failed.token, Stopped(2031.0))
    decision = decide(restarting.job, stopped, 2031.0)
    (change,) = events_of(restarting.job, stopped, decision, 2031.0)
    assert change.text == f"Pitstop: RUNNING -> NOT_RUNNING ({HELD})"
    again = decide(decision.job, Due(), 2031.0).job
    assert (again.state, again.moves_failed, again.version) == (JobState.STARTING, 1, failed.version)


def test_a_run_without_a_guarantee_that_holds_still_is_not_started_again_without_its_state():
    job = running(processing_guarantee=ProcessingGuarantee.NONE)
    failed = saw(being_made_ready(job, 2000.0), PreparationFailed(9, NO_ROOM, moves_state=True), 2000.0).job
    assert saw(failed, StateOutgrown(10, holds=True), 2030.0).actions == (Ask(MOVE),)
    assert saw(failed, StateOutgrown(10), 2030.0).actions == (), "its epochs go on"


def test_a_job_without_a_guarantee_names_no_snapshot_that_a_move_has_removed():
    job = moved_in_vain(running(processing_guarantee=ProcessingGuarantee.NONE), 2000.0)
    assert job.version.config.initial_snapshot == "rescaling-id", "the state goes on from it"
    up = saw(moving(job, 3000.0), Running(7), 3001.0)
    assert DropSnapshot("rescaling-id") in up.actions
    assert up.job.version.config.initial_snapshot is None
    assert "initial_snapshot" not in up.job.version.options
