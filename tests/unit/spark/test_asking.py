"""Who carries a query out waits for room only while somebody may make it."""

import threading

from pitstop.spark.selecting.asking import MOST_UNTAKEN, Asking


def test_nobody_waits_for_room_once_nobody_asks_however_much_is_left():
    asking = Asking()
    assert [asking.wait_for_room() for _ in range(MOST_UNTAKEN)] == [True] * MOST_UNTAKEN
    found = []
    waiting = threading.Thread(target=lambda: found.extend(asking.wait_for_room() for _ in range(3 * MOST_UNTAKEN)), daemon=True)
    waiting.start()
    asking.end()
    waiting.join(30)
    assert found == [False] * 3 * MOST_UNTAKEN


def test_a_batch_that_was_taken_makes_room_for_one():
    asking = Asking()
    for _ in range(MOST_UNTAKEN):
        asking.wait_for_room()
    asking.taken()
    assert asking.wait_for_room()


def test_it_ends_once_and_for_one_reason():
    asking, called = Asking(), []
    asking.then(lambda: called.append("before"))
    asking.end(late=True)
    asking.end()
    asking.then(lambda: called.append("after"))
    assert (asking.late, asking.over, called) == (True, True, ["before", "after"])
