"""Which process starts, looks after and ends a run where members may do it."""

import threading

import pytest

from pitstop.control.ports.assignments import AssignmentState
from pitstop.control.ports.launcher import RunHandle, RunSpec
from pitstop.launchers.on_members import MembersLauncher
from pitstop.launchers.processes import own_handle
from pitstop.model.cluster import Member
from pitstop.model.config import JobConfig
from pitstop.model.job import Job, JobSource, JobState, Version
from pitstop.store.assignments import SqlAssignments
from pitstop.store.database import open_database, sqlite_url
from pitstop.store.registry import SqlRegistry
from tests.doubles.launcher import ScriptedLauncher
from tests.doubles.members import MemoryMembers
from tests.doubles.wake import MemoryWake

ELSEWHERE = RunHandle("boot-of-another-machine/1/1")


class World:
    def __init__(self, folder):
        database = open_database(sqlite_url(folder / "pitstop.db"))
        self.registry, self.members = SqlRegistry(database), MemoryMembers()
        self.assignments = SqlAssignments(database)
        self.here = ScriptedLauncher(lambda: None, MemoryWake())
        self.launcher = MembersLauncher(self.here, self.members, self.assignments)

    def member(self, name, cores=1):
        self.members.join(Member(name, name, "127.0.0.1", "0.1.0", cores))

    def start(self, name, standby=None):
        version = Version(1, JobSource("job.py"), {}, JobConfig())
        self.registry.add_job(Job(name, name, 1.0, version, JobState.STARTING, token=1))
        self.launcher.start(RunSpec(name, 1, standby))

    def given(self, member):
        return [spec.job_id for spec, _ in self.assignments.runs_of(member)]


@pytest.fixture
def world(tmp_path):
    return World(tmp_path)


def test_members_get_runs_by_their_cores(world):
    world.member("large", cores=2)
    world.member("small")
    for number in range(6):
        world.start(f"job-{number}")
    assert (len(world.given("large")), len(world.given("small"))) == (4, 2)
    assert world.here.started == []


def test_a_run_starts_here_without_members_and_where_a_warm_process_waits_for_it(world):
    world.start("alone")
    world.member("one")
    world.start("updated", standby="spare")
    assert [process.spec.job_id for process in world.here.started] == ["alone", "updated"]


def test_a_run_that_is_asked_for_again_stays_with_its_member_as_long_as_that_is_there(world):
    world.member("one")
    world.start("job")
    world.member("idle")
    world.launcher.start(RunSpec("job", 1))
    assert world.given("one") == ["job"]
    world.members.leave("one")
    world.launcher.start(RunSpec("job", 1))
    assert (world.given("one"), world.given("idle")) == ([], ["job"])


def test_a_member_that_leaves_gets_no_run(world):
    world.member("leaves")
    world.member("stays")
    world.members.ask_to_leave("leaves")
    for name in ("a", "b"):
        world.start(name)
    assert world.given("stays") == ["a", "b"]


def test_a_start_has_failed_when_its_member_says_so_or_went_away_before_it_began(world):
    world.member("one")
    for name in ("a", "b", "c"):
        world.start(name)
    assert not any(world.launcher.start_failed(name, 1) for name in "abc")
    world.assignments.tell("a", 1, AssignmentState.FAILED)
    world.assignments.tell("b", 1, AssignmentState.BEGUN)
    assert [world.launcher.start_failed(name, 1) for name in "abc"] == [True, False, False]
    world.members.leave("one")
    assert [world.launcher.start_failed(name, 1) for name in "abc"] == [True, False, True]


def test_a_process_of_this_machine_is_ended_here_and_another_one_by_a_member_of_its_own(world, monkeypatch):
    monkeypatch.setattr(world.here, "kill", (killed := []).append)
    world.launcher.kill(own_handle())
    assert (killed, world.assignments.to_kill()) == ([own_handle()], [])
    asked = threading.Event()
    plain, world.assignments.ask_to_kill = world.assignments.ask_to_kill, lambda run: (plain(run), asked.set())
    ending = threading.Thread(target=world.launcher.kill, args=(ELSEWHERE,))
    ending.start()
    assert asked.wait(10)
    assert world.assignments.to_kill() == [ELSEWHERE]
    world.assignments.killed(ELSEWHERE)
    ending.join(10)
    assert not ending.is_alive()


def test_nobody_waits_long_for_a_machine_that_may_be_lost(world, monkeypatch):
    monkeypatch.setattr("pitstop.launchers.on_members.KILL_SECONDS", 0.2)
    world.launcher.kill(ELSEWHERE)
    assert world.assignments.to_kill() == [ELSEWHERE], "its member does it when it is back"
