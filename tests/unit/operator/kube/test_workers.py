"""Workers that are held up, and those that take their place."""

import contextlib
import threading

import pytest

from pitstop.kit.waiting import wait_until
from pitstop.operator.kube.queue import WorkQueue
from pitstop.operator.kube.workers import Workers


class Shift:
    """Two workers, five at most. Each is held up by keys that begin with "h", until ``released`` is set."""

    def __init__(self, places_of):
        self.queue = WorkQueue(places_of=places_of)
        self.released = threading.Event()
        self.begun, self.handled, self.threads = [], [], set()
        self.workers = Workers(self.queue, self._equipped, usual=2, most=5, patience=0.1)

    @contextlib.contextmanager
    def _equipped(self):
        this = threading.current_thread()
        self.threads.add(this)
        try:
            yield self._handle
        finally:
            self.threads.discard(this)

    def _handle(self, key):
        self.begun.append(key)
        if key.startswith("h"):
            self.released.wait(30)
        self.handled.append(key)
        return True


@pytest.fixture
def shift():
    shift = Shift(lambda key: [(key[0], 4)])
    shift.workers.start()
    yield shift
    shift.released.set()
    shift.queue.close()
    assert shift.workers.join(10)


def test_keys_that_hold_up_their_workers_hold_up_no_other_key(shift):
    for number in range(6):
        shift.queue.add(f"h{number}")
    shift.queue.add("other")
    assert wait_until(lambda: shift.handled == ["other"], 10, 0.01)
    shift.queue.add("next")
    assert wait_until(lambda: shift.handled == ["other", "next"], 10, 0.01)
    assert wait_until(lambda: shift.begun.count("next") + len([each for each in shift.begun if each[0] == "h"]) == 5, 10, 0.01)


def test_there_are_as_many_workers_as_usual_once_nobody_is_held_up(shift):
    for number in range(4):
        shift.queue.add(f"h{number}")
    assert wait_until(lambda: len(shift.threads) == 5, 10, 0.01)
    shift.released.set()
    for number in range(20):
        shift.queue.add(f"other{number}")
    assert wait_until(lambda: len(shift.handled) == 24, 10, 0.01)
    assert wait_until(lambda: len(shift.threads) <= 2, 10, 0.01)


def test_who_waits_for_the_end_learns_of_those_who_have_not_ended(shift):
    shift.queue.add("h")
    assert wait_until(lambda: shift.begun == ["h"], 10, 0.01)
    shift.queue.close()
    assert not shift.workers.join(0.1)
