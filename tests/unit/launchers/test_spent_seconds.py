"""The time that a viewer's queries have taken in the last hour."""

import pytest

from pitstop.launchers.spent_seconds import SpentSeconds


class HandClock:
    def __init__(self):
        self.now = 100_000.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return HandClock()


@pytest.fixture
def spent(clock):
    return SpentSeconds(600.0, clock)


def run(spent, clock, number, user, seconds):
    spent.begin(number, user)
    clock.now += seconds
    spent.end(number)


def test_queries_of_one_viewer_count_together_and_those_of_others_do_not(spent, clock):
    run(spent, clock, 1, "ada", 200)
    run(spent, clock, 2, "ada", 150)
    run(spent, clock, 3, "bob", 10)
    assert (spent.left("ada"), spent.left("bob"), spent.left("eve")) == (250.0, 590.0, 600.0)


def test_a_query_counts_while_it_runs_and_no_more_after_its_end(spent, clock):
    spent.begin(1, "ada")
    clock.now += 100
    assert spent.left("ada") == 500.0
    spent.end(1)
    clock.now += 100
    spent.end(1)
    spent.end(2)
    assert spent.left("ada") == 500.0


def test_queries_at_once_count_each(spent, clock):
    for number in range(3):
        spent.begin(number, "ada")
    clock.now += 100
    assert spent.left("ada") == 300.0


def test_a_viewer_who_has_had_all_waits_until_an_hour_after_the_beginning_of_a_query(spent, clock):
    run(spent, clock, 1, "ada", 400)
    clock.now += 1000
    run(spent, clock, 2, "ada", 300)
    assert spent.left("ada") == 0.0
    # 1700 s after its beginning, query 1 leaves the hour in 1900 s, and 101 s of it must have left.
    assert spent.again_in("ada") == pytest.approx(2001.0, abs=0.01)
    clock.now += 1990
    assert spent.left("ada") == 0.0
    clock.now += 12
    assert spent.left("ada") == pytest.approx(2.0)


def test_less_than_a_second_is_nothing(spent, clock):
    run(spent, clock, 1, "ada", 599.5)
    assert spent.left("ada") == 0.0


def test_what_is_older_than_an_hour_is_forgotten(spent, clock):
    run(spent, clock, 1, "ada", 400)
    clock.now += 3600
    assert spent.left("ada") == 600.0
    assert spent._queries == {}
