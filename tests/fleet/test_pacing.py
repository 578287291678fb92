"""When pings are due, on a clock that the test moves."""

import itertools

import pytest
from fleetsim.pacing import paced
from fleetsim.world import World


class ManualTime:
    """A clock that only waiting moves, and an end that the test sets."""

    def __init__(self, end_after=None):
        self.now, self.waits, self._end_after = 50.0, [], end_after

    def __call__(self):
        return self.now

    @property
    def ended(self):
        return self._end_after is not None and self.now >= self._end_after

    def wait(self, seconds):
        self.waits.append(seconds)
        until = self.now + seconds
        self.now = until if self._end_after is None else min(until, self._end_after)


def run(time, speedup, count):
    world = World(seed=1)
    return itertools.islice(paced(world.pings(), world.start_time, speedup, time, clock=time), count)


def test_sixty_vehicles_at_speedup_thirty_give_sixty_pings_a_second():
    time = ManualTime()
    assert len(list(run(time, 30.0, 601))) == 601
    assert time.now == 50.0 + 10.0


def test_it_sleeps_once_from_ping_to_ping_instead_of_looking_again_and_again():
    time = ManualTime()
    list(run(time, 30.0, 100))
    assert time.waits == pytest.approx([0.5 / 30.0] * 99)


def test_after_a_stall_it_catches_up_without_waiting_and_skips_nothing():
    time = ManualTime()
    running = run(time, 30.0, 700)
    before = list(itertools.islice(running, 100))
    waited = len(time.waits)
    time.now += 5.0
    caught_up = list(itertools.islice(running, 300))
    assert len(time.waits) == waited
    rest = list(running)
    assert len(time.waits) > waited
    assert before + caught_up + rest == list(itertools.islice(World(seed=1).pings(), 700))


def test_an_end_during_a_wait_gives_no_further_ping():
    time = ManualTime(end_after=51.0)
    pings = list(run(time, 0.1, 1000))
    assert [ping.time for ping in pings] == [World().start_time]
    assert time.now == 51.0


def test_an_end_while_catching_up_gives_no_further_ping():
    time = ManualTime(end_after=100.0)
    running = run(time, 30.0, 10_000)
    next(running)
    time.now = 100.0
    assert list(running) == []
