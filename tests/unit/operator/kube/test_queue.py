import threading

from pitstop.operator.kube.queue import FIRST_SECONDS, MOST_SECONDS, WorkQueue, back_off


class HandClock:
    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


def taken(queue, count):
    found = []
    for _ in range(count):
        found.append(queue.take())
        queue.done(found[-1])
    return found


def test_what_is_asked_for_several_times_is_taken_once():
    queue = WorkQueue()
    for key in ("b", "a", "b", "b"):
        queue.add(key)
    assert taken(queue, 2) == ["b", "a"]
    assert len(queue) == 0


def test_what_is_asked_for_while_it_is_at_work_is_taken_once_more_and_by_nobody_else_meanwhile():
    queue = WorkQueue()
    queue.add("a")
    assert queue.take() == "a"
    queue.add("a")
    queue.add("a")
    queue.add("b")
    assert queue.take() == "b"  # not "a", which somebody has
    queue.done("a")
    assert queue.take() == "a"
    assert len(queue) == 0


def test_later_is_not_before_its_time():
    clock = HandClock()
    queue = WorkQueue(clock)
    queue.add_after("late", 5.0)
    queue.add("now")
    assert taken(queue, 1) == ["now"]
    clock.now = 4.9
    queue.add("then")
    assert taken(queue, 1) == ["then"]
    clock.now = 5.0
    assert taken(queue, 1) == ["late"]


def test_a_failure_comes_again_each_time_later_until_it_goes_well():
    clock = HandClock()
    queue = WorkQueue(clock)
    queue.add("a")
    waits = []
    for _ in range(4):
        assert queue.take() == "a"
        queue.done("a", failed=True)
        begin = clock.now
        while not len(queue):
            clock.now += 0.01
            queue.add("tick")
            queue.take()
            queue.done("tick")
        waits.append(clock.now - begin)
    assert waits == sorted(waits)
    assert waits[-1] > 5 * waits[0]
    queue.take()
    queue.done("a")
    queue.add("a")
    queue.take()
    queue.done("a", failed=True)
    clock.now += FIRST_SECONDS
    queue.add("tick")
    assert set(taken(queue, 2)) == {"a", "tick"}  # it has forgotten the failures before


def test_waits_grow_to_a_bound():
    assert 0.8 * FIRST_SECONDS <= back_off(1) <= FIRST_SECONDS
    assert 0.8 * MOST_SECONDS <= back_off(1_000) <= MOST_SECONDS


def test_who_waits_is_told_of_the_end():
    queue = WorkQueue()
    found = []
    waiter = threading.Thread(target=lambda: found.append(queue.take()))
    waiter.start()
    queue.close()
    waiter.join(10)
    assert found == [None]


def test_a_key_comes_by_itself_once_and_at_the_earliest_time():
    clock = HandClock()
    queue = WorkQueue(clock)
    for seconds in (5.0, 2.0, 9.0):
        queue.add_after("a", seconds)
    clock.now = 2.0
    queue.add("tick")
    assert set(taken(queue, 2)) == {"a", "tick"}
    clock.now = 20.0
    queue.add("tick")
    assert taken(queue, 1) == ["tick"]
    assert len(queue) == 0


def test_who_is_looked_at_for_another_reason_does_not_come_once_more():
    clock = HandClock()
    queue = WorkQueue(clock)
    queue.add_after("a", 5.0)
    queue.add("a")
    assert taken(queue, 1) == ["a"]
    clock.now = 6.0
    queue.add("tick")
    assert taken(queue, 1) == ["tick"]
    assert len(queue) == 0


def test_keys_wait_for_room_at_their_place_and_let_others_pass():
    queue = WorkQueue(places_of=lambda key: [(key[0], 2)])
    for key in ("a1", "a2", "a3", "b1", "a4"):
        queue.add(key)
    assert [queue.take() for _ in range(3)] == ["a1", "a2", "b1"]
    queue.add("b2")
    assert queue.take() == "b2"
    queue.done("b1")
    queue.done("a2")
    assert queue.take() == "a3"
    queue.done("a1", failed=True)
    assert queue.take() == "a4"


def test_a_worker_that_waits_hears_of_room_at_a_full_place():
    queue = WorkQueue(places_of=lambda key: [("one", 1)])
    queue.add("a")
    queue.add("b")
    queue.take()
    keys = []
    waiting = threading.Thread(target=lambda: keys.append(queue.take()), daemon=True)
    waiting.start()
    queue.done("a")
    waiting.join(10)
    assert keys == ["b"]
