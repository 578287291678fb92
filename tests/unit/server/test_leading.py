"""A control plane leads while it has the lease, and begins nothing once it may be over."""

import threading

import pytest

from pitstop.control.ports.wake import CHANGED
from pitstop.errors import FencedError, StoreError
from pitstop.kit.waiting import wait_until
from pitstop.server import leading as module
from pitstop.server.leading import LEASE_SECONDS, Lead, Leading, SoleLeader
from tests.doubles.wake import MemoryWake


class Lease:
    """control.ports.leadership.Leadership of one that a test lets lead, or not."""

    def __init__(self):
        self.free, self.kept, self.away, self.number, self.released = True, True, False, 0, []
        self.asked_to_end = 7

    def take(self, seconds):
        if self.away:
            raise StoreError("away")
        self.number += self.free
        return self.number if self.free else None

    def renew(self, epoch, seconds):
        if self.away:
            raise StoreError("away")
        return self.kept

    def release(self, epoch):
        self.released.append(epoch)

    def leader(self):
        return None

    def ends(self):
        return self.asked_to_end


class Loop:
    """Runs until it is stopped, or is to fail."""

    def __init__(self, lead):
        self.lead, self._end, self.error, self.running = lead, threading.Event(), None, False

    def run(self):
        self.running = True
        self._end.wait(60)
        self.running = False
        if self.error:
            raise self.error

    def stop(self):
        self._end.set()


class World:
    def __init__(self, monkeypatch, free=True):
        self.time, self.lease, self.wake = 100.0, Lease(), MemoryWake()
        self.lease.free = free
        self.loops, self.changes, self.lost, self.ended = [], [], [], []
        monkeypatch.setattr(module, "clock", lambda: self.time)
        monkeypatch.setattr(module, "RENEW_SECONDS", 0.01)
        monkeypatch.setattr(module, "LOOK_SECONDS", 0.01)
        self.leading = Leading(
            self.lease,
            self.wake,
            self._loop,
            lambda: self.changes.append(1),
            lambda: self.lost.append(len(self.loops)),
            lambda: self.ended.append(len(self.loops)),
        )
        self.failures = []
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _loop(self, lead):
        self.loops.append(Loop(lead))
        return self.loops[-1]

    def _run(self):
        try:
            self.leading.run()
        except Exception as error:
            self.failures.append(error)

    def end(self):
        self.leading.stop()
        self._thread.join(30)
        assert not self._thread.is_alive()


@pytest.fixture
def world(monkeypatch):
    made = World(monkeypatch)
    yield made
    made.end()


def until(condition):
    assert wait_until(condition, 30)


def test_whoever_gets_the_lease_leads_and_gives_it_back_at_the_end(world):
    until(lambda: world.loops and world.loops[0].running)
    assert world.leading.leads
    world.end()
    assert not world.loops[0].running
    assert (world.lease.released, world.lost) == ([1], [])
    assert world.wake.wakes[CHANGED] == 1, "others need not wait for the lease to end"


def test_who_loses_the_lease_stops_and_leads_anew_when_it_is_free(world):
    until(lambda: world.loops and world.loops[0].running)
    world.lease.free = world.lease.kept = False
    until(lambda: world.lost == [1])
    assert not world.loops[0].running
    world.lease.free = world.lease.kept = True
    until(lambda: len(world.loops) == 2 and world.loops[1].running)
    assert [loop.lead.epoch for loop in world.loops] == [1, 2]


def test_a_store_that_is_away_for_less_than_the_lease_costs_no_lead(world):
    until(lambda: world.loops and world.loops[0].running)
    world.lease.away = True
    world.time += LEASE_SECONDS - 0.1
    world.loops[0].lead.check()
    world.lease.away = False
    until(lambda: world.loops[0].lead.until == world.time + LEASE_SECONDS)
    assert (len(world.loops), world.lost) == (1, [])


def test_nothing_is_begun_once_the_lease_may_be_over_however_long_the_process_stood_still(world):
    until(lambda: world.loops and world.loops[0].running)
    world.lease.away, world.lease.free = True, False
    lead = world.loops[0].lead
    world.time += LEASE_SECONDS + 3600
    with pytest.raises(FencedError, match="leads no more"):
        lead.check()
    until(lambda: world.lost == [1])


def test_who_does_not_lead_tells_its_waiters_when_the_leader_has_decided(world):
    world.lease.free = world.lease.kept = False
    until(lambda: not world.leading.leads)

    def told():
        world.wake.wake(CHANGED)
        return len(world.changes) > 0

    until(told)


def test_a_loop_that_ends_by_a_defect_is_told(world):
    until(lambda: world.loops and world.loops[0].running)
    world.loops[0].error = RuntimeError("a defect")
    world.loops[0].stop()
    until(lambda: world.failures)
    assert str(world.failures[0]) == "a defect"


def test_a_sole_control_plane_always_leads():
    sole = SoleLeader("host:1")
    assert (sole.take(5), sole.renew(1, 5), sole.leader()) == (1, True, "host:1")


def test_a_lead_counts_from_before_it_was_asked_for(monkeypatch):
    now = [10.0]
    monkeypatch.setattr(module, "clock", lambda: now[0])
    lead = Lead(1, 15.0)
    now[0] = 14.9
    lead.check()
    now[0] = 15.0
    with pytest.raises(FencedError):
        lead.check()


def test_one_that_waits_for_the_lead_ends_with_all_others_and_takes_it_no_more(monkeypatch):
    world = World(monkeypatch, free=False)
    world.lease.asked_to_end += 1
    until(lambda: world.ended)
    world.lease.free = True
    until(lambda: not world._thread.is_alive())
    assert (world.ended, world.loops) == ([0], [])


def test_one_that_leads_is_told_once_and_leads_until_it_is_stopped(world):
    until(lambda: world.loops and world.loops[0].running)
    lead = world.loops[0].lead
    world.lease.asked_to_end += 1
    until(lambda: world.ended)
    world.time += 1
    until(lambda: lead.until == world.time + LEASE_SECONDS)
    assert (world.ended, world.loops[0].running, world.leading.leads) == ([1], True, True)
