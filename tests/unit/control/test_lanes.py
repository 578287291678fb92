"""Slow work, in order within a lane, lanes side by side."""

import threading

import pytest

from pitstop.control.lanes import Lanes, in_thread

SECONDS = 10


def test_work_of_a_lane_is_done_in_order_and_lanes_do_not_wait_for_one_another():
    lanes, done, gate = Lanes(in_thread), [], threading.Event()
    lanes.put("slow", lambda: done.append(gate.wait(SECONDS)))
    lanes.put("slow", lambda: done.append("after"))
    other = threading.Event()
    lanes.put("other", other.set)
    assert other.wait(SECONDS)
    assert (done, lanes.busy("slow")) == ([], True)
    assert not lanes.settle(0.0)
    gate.set()
    assert lanes.settle(SECONDS)
    assert (done, lanes.busy("slow")) == ([True, "after"], False)


def test_what_fails_keeps_nothing_after_it_from_being_done():
    waiting, done = [], []
    lanes = Lanes(waiting.append)

    def fail():
        raise OSError("no such process")

    lanes.put("lane", fail)
    lanes.put("lane", lambda: done.append(1))
    with pytest.raises(OSError, match="no such process"):
        waiting.pop(0)()
    waiting.pop(0)()
    assert (done, waiting, lanes.busy("lane")) == ([1], [], False)
