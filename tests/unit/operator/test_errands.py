"""Slow work beside the workers that reconcile."""

import threading

import pytest

from pitstop.kit.waiting import wait_until
from pitstop.operator.errands import Errands, Room
from pitstop.operator.world import Key


class Errander:
    """Errands that end when a test says so."""

    def __init__(self, room):
        self.begun, self.done, self.ends = [], [], {}
        self.errands = Errands(room, self.done.append, lambda run: self.begun.append(run))

    def begin(self, name, namespace="lab", place="host"):
        key = Key("JetJob", namespace, name)
        self.errands.begin(key, "1", place, lambda: name)
        return key


def test_an_errand_brings_its_result_once_it_is_over():
    errander = Errander(Room(4, 4, 4))
    key = errander.begin("a")
    assert errander.errands.has(key, "1")
    assert errander.errands.runs(key)
    assert errander.errands.outcome(key, "1") is None
    errander.begun.pop()()
    assert (errander.done, errander.errands.outcome(key, "1"), errander.errands.runs(key)) == ([key], "a", False)
    assert errander.errands.outcome(key, "2") is None
    errander.errands.forget(key)
    assert not errander.errands.has(key, "1")


@pytest.mark.parametrize(
    ("room", "others", "runs"),
    [
        (Room(2, 9, 9), [("lab", "host")] * 3, 2),
        (Room(9, 2, 9), [("lab", "a"), ("lab", "b"), ("lab", "c"), ("other", "a")], 3),
        (Room(9, 9, 2), [("lab", "a"), ("lab", "a"), ("lab", "a"), ("lab", "b"), ("other", "a")], 4),
    ],
)
def test_who_has_to_wait_lets_those_pass_who_have_room(room, others, runs):
    errander = Errander(room)
    for number, (namespace, place) in enumerate(others):
        errander.begin(f"{number}", namespace, place)
    assert len(errander.begun) == runs
    errander.begun[0]()
    assert len(errander.begun) == len(others) if len(others) == runs + 1 else len(errander.begun) > runs


@pytest.mark.parametrize("error", [ValueError("no"), KeyboardInterrupt("a library panics")])
def test_an_error_is_raised_where_the_outcome_is_asked_for_and_then_forgotten(error):
    def work():
        raise error

    done, key = [], Key("JetJob", "lab", "a")
    errands = Errands(Room(1, 1, 1), done.append)
    errands.begin(key, "1", "host", work)
    assert wait_until(lambda: done == [key], 5, 0.01)
    with pytest.raises((ValueError, RuntimeError), match=r"no|a library panics"):
        errands.outcome(key, "1")
    assert not errands.has(key, "1")


def test_one_resource_never_has_two_errands_at_once():
    errander = Errander(Room(4, 4, 4))
    key = errander.begin("a")
    errander.errands.begin(key, "2", "host", lambda: "new")
    assert len(errander.begun) == 1
    errander.begun[0]()
    assert len(errander.begun) == 2
    errander.begun[1]()
    assert (errander.errands.outcome(key, "1"), errander.errands.outcome(key, "2")) == (None, "new")


def test_an_operator_that_ends_waits_for_what_runs_and_begins_nothing():
    free, ran, done = threading.Event(), [], []
    errands = Errands(Room(1, 1, 1), done.append)
    errands.begin(Key("JetJob", "lab", "a"), "1", "host", lambda: ran.append("a") or free.wait(10))
    errands.begin(Key("JetJob", "lab", "b"), "1", "host", lambda: ran.append("b"))
    threading.Timer(0.1, free.set).start()
    errands.wait(10)
    assert (free.is_set(), ran) == (True, ["a"])
