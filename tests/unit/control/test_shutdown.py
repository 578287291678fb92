"""How the runs end with their server."""

import threading

import pytest

from pitstop.control.ports.launcher import RunHandle
from pitstop.control.shutdown import end_runs
from pitstop.model.job import JobState, Mode, Termination
from pitstop.model.run import StopRun
from tests.unit.control.world import World


@pytest.fixture
def world():
    return World()


def obey(world, process):
    """A thread in which the run waits to be woken, and ends when it is told to stop; the commands that it was given."""
    told, waiter = [], world.wake.waiter(process.spec.job_id)

    def work():
        while not told:
            waiter.wait(5)
            told.extend(process.link.commands(0))
        world.launcher.die(process)

    thread = threading.Thread(target=work)
    thread.start()
    return told, thread


def test_a_run_that_is_told_to_stop_ends_by_itself(world):
    process = world.start(world.job(state=JobState.RUNNING))
    process.claim()
    told, thread = obey(world, process)
    end_runs(world.registry, world.launcher, world.wake, 30)
    thread.join()
    assert [command.order for command in told] == [StopRun()]
    assert not process.alive
    assert world.registry.get_job("id-1").state is JobState.RUNNING, "the next control plane starts it again"


def test_a_run_that_does_not_stop_in_time_is_killed(world):
    process = world.start(world.job(state=JobState.RUNNING))
    process.claim()
    end_runs(world.registry, world.launcher, world.wake, 0.0)
    assert world.launcher.killed == [process.handle]
    assert not process.alive


def test_a_run_that_is_being_ended_already_or_is_starting_is_not_told_twice(world):
    ending = world.start(world.job("id-1", JobState.RUNNING, termination=Termination(Mode.SUSPEND, 7)))
    starting = world.start(world.job("id-2", JobState.STARTING))
    unclaimed = world.start(world.job("id-3", JobState.STARTING))
    for process in (ending, starting):
        process.claim()
    end_runs(world.registry, world.launcher, world.wake, 0.0)
    assert (world.registry.commands("id-1", 1), world.registry.commands("id-2", 1)) == ((), ())
    assert world.launcher.living() == [unclaimed], "a run that has not claimed its job has no handle yet, by which to end it"


def test_a_run_that_only_starts_is_ended_once_it_has_claimed_its_job(world):
    starting = world.start(world.job(state=JobState.STARTING))
    threading.Timer(0.1, starting.claim).start()
    end_runs(world.registry, world.launcher, world.wake, 30)
    assert not starting.alive


def test_jobs_without_a_run_are_left_alone(world):
    job = world.job("id-1", JobState.RUNNING)
    world.start(job).claim()
    world.change(job, state=JobState.SUSPENDED)
    end_runs(world.registry, world.launcher, world.wake, 0.0)
    assert world.launcher.killed == []
    assert world.registry.handle_of("id-1", 1) == RunHandle("process-1")


def test_who_asks_is_told_which_jobs_have_not_ended_yet(world):
    processes = [world.start(world.job(name, state=JobState.RUNNING)) for name in ("id-1", "id-2")]
    for process in processes:
        process.claim()
    seen, waiter = [], world.wake.waiter("id-2")

    def work():
        waiter.wait(5)
        world.launcher.die(processes[1])

    def told(left):
        seen.append([job.id for job in left])
        if left and len(left) == 1:
            world.launcher.die(processes[0])

    thread = threading.Thread(target=work)
    thread.start()
    end_runs(world.registry, world.launcher, world.wake, 30, told)
    thread.join()
    assert seen == [["id-1", "id-2"], ["id-1"], []]
