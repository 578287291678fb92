"""Schedules that once went wrong, each by itself."""

import pytest

from pitstop.model.job import JobSource, JobState
from pitstop.model.operation import Cancel, Export, Rollback, UpdateJob
from tests.simulation.world import World

OPTIONS = {"processing_guarantee": "exactly_once"}


@pytest.fixture
def world():
    world = World()
    world.submit("v1.py")
    return world


def test_an_export_of_an_ended_job_without_a_checkpoint_is_answered_after_a_crash_of_the_control_plane(world):
    world.ask(Cancel())
    world.all_go_on()
    world.ask(Export("kept"))
    world.all_go_on()
    world.round(dies_at=0)
    world.settle()


def test_an_export_that_was_asked_after_a_cancel_is_not_answered_by_the_cancel(world):
    world.ask(Cancel())
    world.ask(UpdateJob(JobSource("v2.py"), OPTIONS, "before-2"))
    world.ask(Export("kept"))
    world.all_go_on()
    world.round(dies_at=0)
    world.settle()


def watched(world):
    """A second version that has written an epoch, and is watched."""
    for _ in range(4):
        world.all_go_on()
    world.ask(UpdateJob(JobSource("v2.py"), OPTIONS, "before-2", 600.0))
    while not (world.job.version.number == 2 and world.job.state is JobState.RUNNING):
        world.all_go_on()
    for _ in range(2):
        world.all_go_on()
    assert world.job.withdrawable is not None
    return next(process for process in world.processes.living if process.begun)


def test_a_run_that_cannot_be_ended_writes_nothing_more_once_its_output_is_withdrawn(world):
    new = watched(world)
    world.ask(Rollback())
    world.round()
    world.launcher_faults.left = 1
    world.act()
    assert new.alive, "the kill has failed"
    world.act()
    withdrawn = world.sink.events
    for _ in range(4):
        new.epoch()
    assert world.sink.events == withdrawn
    world.settle()
    world.check_no_event_twice()
    world.check_no_event_missing()


def test_the_old_version_waits_until_a_withdrawal_that_fails_is_done(world):
    watched(world)
    world.ask(Rollback())
    world.round()
    world.act()
    world.launcher_faults.left = 3
    while world.work:
        world.act()
    world.round()
    assert world.job.state is JobState.NOT_RUNNING
    world.settle()
    world.check_no_event_twice()
    world.check_no_event_missing()
