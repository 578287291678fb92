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


def test_on_a_machine_without_threads_what_waits_is_still_done_and_what_cannot_begin_is_told():
    waiting, done, threads = [], [], [1]

    def spawn(work):
        if not threads:
            raise RuntimeError("can't start new thread")
        threads.pop()
        waiting.append(work)

    lanes = Lanes(spawn)
    lanes.put("lane", lambda: done.append(1))
    lanes.put("lane", lambda: done.append(2))
    waiting.pop()()
    assert (done, lanes.busy("lane")) == ([1, 2], False)
    with pytest.raises(RuntimeError, match="can't start new thread"):
        lanes.put("lane", lambda: done.append(3))
    assert not lanes.busy("lane")
    threads.append(1)
    lanes.put("lane", lambda: done.append(3))
    waiting.pop()()
    assert done == [1, 2, 3]
