"""What changes between two looks is events."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pitstop.service.feed import Feed, FeedEvent, FeedKind

JOB, MAP = FeedKind.JOB, FeedKind.MAP


@pytest.fixture
def feed():
    made = Feed(most=3)
    made.look({(JOB, "a"): 1})
    return made


def test_the_first_look_is_no_event(feed):
    assert (feed.newest, feed.after(0)) == (0, [])


def test_what_is_new_changed_or_gone_is_an_event_and_nothing_else_is(feed):
    assert feed.look({(JOB, "a"): 1}) == 0
    assert feed.look({(JOB, "a"): 2, (MAP, "a"): "x"}) == 2
    assert feed.look({(MAP, "a"): "x"}) == 1
    assert feed.after(0) == [FeedEvent(1, JOB, "a", 2), FeedEvent(2, MAP, "a", "x"), FeedEvent(3, JOB, "a", None)]
    assert feed.after(2) == [FeedEvent(3, JOB, "a", None)]
    assert feed.after(3) == []
    assert [event.number for event in feed.after(0, most=2)] == [1, 2]


def test_who_comes_back_too_late_or_from_elsewhere_is_told(feed):
    for value in range(2, 7):
        feed.look({(JOB, "a"): value})
    assert [event.number for event in feed.after(2)] == [3, 4, 5]
    assert feed.after(1) is None
    assert feed.after(6) is None


WORLDS = st.lists(st.dictionaries(st.tuples(st.sampled_from(FeedKind), st.sampled_from("abc")), st.integers(0, 2)), min_size=1)


@given(worlds=WORLDS, begins=st.integers(0, 5))
def test_who_applies_the_events_to_what_was_there_has_what_is_there(worlds, begins):
    feed = Feed()
    feed.look(worlds[0])
    known, place = dict(worlds[0]), 0
    for number, world in enumerate(worlds):
        feed.look(world)
        if number < begins:
            continue
        for event in feed.after(place):
            place = event.number
            if event.value is None:
                del known[event.kind, event.key]
            else:
                known[event.kind, event.key] = event.value
        assert known == world
