"""A member starts the runs that it is given, and tells how they go."""

import subprocess

import pytest

from pitstop.control.ports.assignments import AssignmentState
from pitstop.control.ports.launcher import RunHandle, RunSpec
from pitstop.control.ports.wake import CONTROL
from pitstop.errors import EngineError, StoreError
from pitstop.kit.waiting import wait_until
from pitstop.member.hosting import HostedRuns
from pitstop.model.config import JobConfig
from pitstop.model.job import Job, JobSource, JobState, Version
from pitstop.store.assignments import SqlAssignments
from pitstop.store.database import open_database, sqlite_url
from pitstop.store.registry import SqlRegistry
from tests.doubles.wake import MemoryWake


class Processes:
    def __init__(self):
        self.started = []

    def start(self, spec):
        self.started.append((spec, subprocess.Popen(["sleep", "600"])))
        return self.started[-1][1]

    def reap(self):
        pass


class World:
    def __init__(self, folder):
        database = open_database(sqlite_url(folder / "pitstop.db"))
        self.registry, self.assignments, self.processes = SqlRegistry(database), SqlAssignments(database), Processes()
        self.wake, self.ended = MemoryWake(), []
        self.control = self.wake.waiter(CONTROL)
        self.hosted = HostedRuns("member-1", self.assignments, self.processes, self.wake, self.end)

    def end(self, handle):
        self.ended.append(handle)
        return handle == "mine"

    def give(self, name, member="member-1"):
        self.registry.add_job(Job(name, name, 1.0, Version(1, JobSource("job.py"), {}, JobConfig()), JobState.STARTING, token=1))
        self.assignments.assign(RunSpec(name, 1, None, name), member)


@pytest.fixture
def world(tmp_path):
    made = World(tmp_path)
    yield made
    for _, process in made.processes.started:
        process.kill()
        process.wait()


def test_each_run_is_started_once(world):
    world.give("mine")
    world.give("another's", member="member-2")
    for _ in range(3):
        world.hosted.step()
    assert [spec for spec, _ in world.processes.started] == [RunSpec("mine", 1, None, "mine")]
    assert world.assignments.of_run("mine", 1) == ("member-1", AssignmentState.BEGUN)
    assert world.assignments.of_run("another's", 1) == ("member-2", AssignmentState.ASKED)


def test_its_end_is_told_at_the_next_look(world):
    world.give("job")
    world.hosted.step()
    world.processes.started[0][1].kill()
    assert wait_until(lambda: world.hosted.step() or world.assignments.of_run("job", 1)[1] is AssignmentState.FAILED, 10)
    assert world.control.wait(0)


@pytest.mark.parametrize("refusal", [OSError("no more processes"), RuntimeError("can't start new thread"), AssertionError()])
def test_what_cannot_be_started_has_failed_and_keeps_no_other_run_from_beginning(world, refusal):
    start = world.processes.start
    world.processes.start = lambda spec: start(spec) if spec.job_id != "job" else refuse(refusal)
    for name in ("job", "another"):
        world.give(name)
    world.hosted.step()
    assert world.assignments.of_run("job", 1) == ("member-1", AssignmentState.FAILED)
    assert world.assignments.of_run("another", 1) == ("member-1", AssignmentState.BEGUN)


def refuse(error):
    raise error


def test_a_store_that_is_away_when_a_start_is_to_be_told_has_no_run_started_twice(world, monkeypatch):
    world.give("job")
    with monkeypatch.context() as patch:
        patch.setattr(world.assignments, "tell", away)
        world.hosted.step()
    world.hosted.step()
    assert len(world.processes.started) == 1
    assert world.assignments.of_run("job", 1) == ("member-1", AssignmentState.BEGUN)


def away(*_):
    raise StoreError("The store is away.")


def test_a_process_that_nobody_knows_how_to_end_keeps_no_run_from_beginning(world, monkeypatch):
    monkeypatch.setattr(world.hosted, "_end", no_handle)
    world.assignments.ask_to_kill(RunHandle("what is this"))
    world.give("job")
    world.hosted.step()
    assert world.assignments.of_run("job", 1) == ("member-1", AssignmentState.BEGUN)


def no_handle(handle):
    raise EngineError(f"{handle} names no process")


def test_processes_of_this_machine_alone_are_ended(world):
    for handle in ("mine", "of another machine"):
        world.assignments.ask_to_kill(RunHandle(handle))
    world.hosted.step()
    assert world.assignments.to_kill() == ["of another machine"]
    assert sorted(world.ended) == ["mine", "of another machine"]
