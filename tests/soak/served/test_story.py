"""The generator of stories, and what compares them."""

from collections import Counter

from tests.soak.served.job import SHOWN, Version, plain_guard
from tests.soak.served.outcome import how_it_differs
from tests.soak.served.story import STEPS, Step, dealt, story
from tests.spark.chains import KEYS, KINDS


def test_a_seed_makes_one_story_and_another_seed_another():
    assert story(7) == story(7)
    assert len({story(seed) for seed in range(100)}) == 100


def test_every_step_comes_as_often_as_the_others_and_every_stage_stands_in_every_place():
    told = [story(seed) for seed in range(1, 4 * len(Step) + 1)]
    counts = Counter(step for each in told for step in each.steps)
    assert set(counts) == set(Step)
    assert max(counts.values()) - min(counts.values()) <= 2
    assert all(len(each.steps) == STEPS for each in told)
    for place in (0, 1):
        assert {line[place] for each in told for line in each.lines} == set(KINDS)


def test_hands_are_dealt_without_a_gap():
    assert dealt(0, 5) + dealt(1, 5) + dealt(2, 5) == dealt(0, 15)


def test_a_version_goes_through_its_text():
    version = Version(3, (("window", "join"), ("session",)), "folder", "name", turned=True)
    assert Version.from_text(version.text) == version
    assert version.fault("raises").name == "raises-3"


def test_the_guard_counts_the_events_of_each_key():
    found = plain_guard(10 * SHOWN)
    assert len(found) == 10
    assert all(n == sum((other * 7919) % KEYS == key for other in range(seq + 1)) for key, n, seq in found)


def test_what_is_missing_or_there_twice_is_told_and_what_may_still_come_is_not():
    wanted = Counter([(1, 2, 10), (1, 3, 20), (1, 4, 30)])
    assert how_it_differs("line", Counter([(1, 2, 10), (1, 3, 20)]), wanted, 20) == []
    assert how_it_differs("line", wanted, wanted, 20) == []
    assert how_it_differs("line", Counter([(1, 2, 10)]), wanted, 20) == ["line: 1 missing, such as [(1, 3, 20)], of 2"]
    twice = Counter({(1, 2, 10): 2, (1, 3, 20): 1})
    assert how_it_differs("line", twice, wanted, 20) == ["line: 1 too many, such as [(1, 2, 10)], of 2"]
