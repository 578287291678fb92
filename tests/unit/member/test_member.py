"""A member keeps a Spark worker for the master that there is, and tells that it lives."""

import pytest

from pitstop.errors import ConflictError, EngineError, StoreError
from pitstop.member.member import DRAIN_SECONDS, FOLLOW_SECONDS, MemberProcess
from pitstop.model.cluster import Member, SparkCluster
from pitstop.store.members import SILENT_SECONDS
from tests.doubles.clock import ManualClock
from tests.doubles.members import MemoryMembers


class Worker:
    def __init__(self, cluster):
        self.master, self.over, self.stopped = cluster.master, False, False
        self.follows = cluster.master
        self.drains, self.executors = False, 0

    def ended(self):
        return self.over

    def works_for(self, master):
        return self.follows == master

    def drain(self):
        self.drains = True

    def drained(self):
        return self.drains and self.executors == 0

    def stop(self):
        self.stopped = True


class World:
    def __init__(self):
        self.clock = ManualClock()
        self.members, self.workers = MemoryMembers(self.clock), []
        self.master = SparkCluster("spark://a:1", "secret")
        self.process = MemberProcess(
            Member("id", "a", "127.0.0.1", "0.1.0", 2), self.members, self.cluster, self.start, self.clock.monotonic
        )
        self.process.join()

    def cluster(self):
        if self.master is None:
            raise EngineError("there is none")
        return self.master

    def start(self, cluster):
        self.workers.append(Worker(cluster))
        return self.workers[-1]

    @property
    def names(self):
        return [member.name for member in self.members.list()]


@pytest.fixture
def world():
    return World()


def test_it_has_one_worker_as_long_as_nothing_changes(world):
    for _ in range(3):
        assert world.process.step()
    assert [worker.master for worker in world.workers] == ["spark://a:1"]


def test_a_worker_that_has_ended_is_started_again(world):
    world.process.step()
    world.workers[0].over = True
    world.process.step()
    assert len(world.workers) == 2
    assert world.workers[0].stopped, "what it had started is ended, too"


def test_a_worker_that_follows_a_new_master_goes_on_with_its_executors(world):
    world.process.step()
    world.master = SparkCluster("spark://b:2", "secret")
    for _ in range(5):
        world.process.step()
        world.clock.advance(1)
    world.workers[0].follows = "spark://b:2"
    for _ in range(60):
        world.process.step()
        world.clock.advance(1)
    assert (len(world.workers), world.workers[0].stopped) == (1, False)


def test_a_worker_that_does_not_follow_a_new_master_is_started_again_after_a_while(world):
    world.process.step()
    for master in ("spark://b:2", "spark://c:3"):
        world.master = SparkCluster(master, "secret")
        world.process.step()
        world.clock.advance(FOLLOW_SECONDS - 1)
        world.process.step()
        assert len(world.workers) == 1, "a newer master gives it time anew"
    world.clock.advance(1)
    world.process.step()
    assert [worker.master for worker in world.workers] == ["spark://a:1", "spark://c:3"]
    assert world.workers[0].stopped


def test_a_worker_that_knows_another_secret_cannot_follow(world):
    world.process.step()
    world.master = SparkCluster("spark://b:2", "another")
    world.process.step()
    assert [worker.master for worker in world.workers] == ["spark://a:1", "spark://b:2"]
    assert world.workers[0].stopped


def test_more_members_are_no_reason_to_start_the_worker_again(world):
    world.process.step()
    world.master = SparkCluster("spark://a:1", "secret", cores=(1, 1, 1))
    world.process.step()
    assert len(world.workers) == 1


def test_it_waits_for_a_master_that_is_not_up_yet(world):
    world.master = None
    assert world.process.step()
    assert world.workers == []


def test_a_member_that_is_to_leave_waits_for_the_tasks_that_run_on_it_and_tells_that_it_lives(world):
    world.process.step()
    world.workers[0].executors = 1
    world.members.ask_to_leave("a")
    for _ in range(10):
        assert world.process.step()
        world.clock.advance(1)
    assert (world.workers[0].drains, world.workers[0].stopped, world.names) == (True, False, ["a"])
    world.workers[0].executors = 0
    assert not world.process.step()
    assert (world.workers[0].stopped, world.names) == (True, [])


def test_a_member_that_is_to_leave_waits_for_no_task_for_ever(world):
    world.process.step()
    world.workers[0].executors = 1
    world.members.ask_to_leave("a")
    steps = 0
    while world.process.step():
        world.clock.advance(1)
        steps += 1
    assert steps == DRAIN_SECONDS
    assert world.workers[0].stopped


def test_it_leaves_when_it_is_asked_to(world):
    world.process.step()
    world.members.ask_to_leave("a")
    assert not world.process.step()
    assert world.workers[0].stopped
    assert world.names == []


def test_one_that_was_taken_for_dead_joins_again(world):
    world.process.step()
    world.clock.advance(SILENT_SECONDS)
    assert world.names == []
    assert world.process.step()
    assert world.names == ["a"]
    assert len(world.workers) == 1


def test_one_whose_name_was_taken_meanwhile_ends(world):
    world.clock.advance(SILENT_SECONDS)
    world.members.join(Member("other", "a", "10.0.0.2", "0.1.0", 2))
    with pytest.raises(ConflictError, match=r"There is a member 'a' already, at 10.0.0.2"):
        world.process.step()


def test_a_store_that_is_away_costs_it_nothing(world, monkeypatch):
    world.process.step()

    def away(member_id):
        raise StoreError("away")

    with monkeypatch.context() as patched:
        patched.setattr(world.members, "beat", away)
        assert world.process.step()
    assert world.process.step()
    assert not world.workers[0].stopped
