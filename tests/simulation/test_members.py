"""A job follows the members of its cluster through crashes, without an event missing or twice."""

import pytest

from pitstop.model.job import JobState
from pitstop.model.operation import Resume, Suspend
from tests.simulation.world import World


def running(**options):
    world = World()
    world.submit(**options)
    go_on(world)
    assert world.job.placement.members == ("a", "b")
    return world


def go_on(world, times=40):
    for _ in range(times):
        world.all_go_on()
        world.sleep(1.0)


def test_a_job_is_rescaled_when_a_member_joins_and_its_version_and_options_stay():
    world = running()
    before = world.job.version
    world.there = ("a", "b", "c")
    go_on(world)
    job = world.job
    assert (job.state, job.placement.members, job.update) == (JobState.RUNNING, ("a", "b", "c"), None)
    assert (job.version.number, job.version.options) == (before.number, before.options)
    assert job.version.lineage != before.lineage
    assert (world.registry.snapshots(), world.exists(before.lineage)) == ([], False), "nothing of the change is left"
    world.there = ("a", "b", "c", "d")
    world.settle()
    world.check_no_event_twice()
    world.check_no_event_missing()


def test_a_job_that_does_not_follow_is_suspended_without_a_member_and_goes_on_when_it_is_resumed():
    world = running(auto_scaling=False)
    world.there = ("a", "c")
    go_on(world)
    assert world.job.state is JobState.SUSPENDED
    world.ask(Resume())
    go_on(world)
    assert (world.job.state, world.job.placement.members) == (JobState.RUNNING, ("a", "c")), "it is spread over all there are"
    world.settle()
    world.check_no_event_missing()


@pytest.mark.parametrize("guarantee", ["at_least_once", "exactly_once"])
def test_a_job_that_does_not_follow_stops_in_order_before_a_member_leaves(guarantee):
    world = running(auto_scaling=False, guarantee=guarantee)
    run = world.processes.living[0]
    world.leaving = ("b",)
    for _ in range(20):
        world.all_go_on()
        if world.job.state is JobState.SUSPENDED:
            break
        assert world.job.token == run.spec.token, "it is not cut off"
        world.sleep(0.1)
    assert (world.job.state, world.job.token) == (JobState.SUSPENDED, run.spec.token)
    world.there, world.leaving = ("a",), ()
    go_on(world)
    world.ask(Resume())
    go_on(world)
    assert (world.job.state, world.job.placement.members) == (JobState.RUNNING, ("a",))
    world.settle()
    world.check_no_event_missing()
    world.check_no_event_twice()


def test_a_protected_job_waits_for_its_quorum():
    world = running(split_brain_protection=True)
    world.there = ("a",)
    go_on(world)
    assert (world.job.state, world.processes.living) == (JobState.NOT_RUNNING, [])
    world.there = ("a", "b")
    go_on(world)
    assert world.job.state is JobState.RUNNING
    world.settle()
    world.check_no_event_missing()


@pytest.mark.parametrize("moment", range(12))
def test_the_control_plane_may_die_at_any_moment_of_rescaling(moment):
    world = running()
    world.there = ("a", "b", "c")
    for seconds in range(4, 12):
        world.sleep(seconds)
        world.round(moment)
        world.act(0, moment)
        world.run(0)
    go_on(world)
    assert world.job.placement.members == ("a", "b", "c")
    world.there = ("a", "b", "c", "d")
    world.settle()
    world.check_no_event_twice()
    world.check_no_event_missing()


def test_a_suspended_job_is_not_started_by_a_join():
    world = running()
    world.ask(Suspend())
    go_on(world)
    world.there = ("a", "b", "c")
    go_on(world)
    assert world.job.state is JobState.SUSPENDED
