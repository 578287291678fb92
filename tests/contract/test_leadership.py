"""Of several control planes of one store, one leads."""

import threading

import pytest

from pitstop.errors import FencedError
from pitstop.store.database import open_database
from pitstop.store.leadership import SqlLeadership
from pitstop.store.registry import SqlRegistry
from tests.contract.stores import DATABASES
from tests.contract.test_registry import job
from tests.doubles.clock import ManualClock


@pytest.fixture(params=DATABASES)
def database(request, tmp_path):
    made = open_database(DATABASES[request.param](tmp_path))
    yield made
    made.close()


@pytest.fixture
def clock():
    return ManualClock()


@pytest.fixture
def planes(database, clock):
    return [SqlLeadership(database, address, clock) for address in ("a:1", "b:2")]


def test_one_leads_until_its_lease_ends_and_each_lead_has_a_higher_number(planes, clock):
    first, second = planes
    assert (first.leader(), first.take(5)) == (None, 1)
    clock.advance(4)
    assert (second.take(5), second.leader()) == (None, "a:1")
    clock.advance(1)
    assert (second.leader(), second.take(5)) == (None, 2)
    assert (first.take(5), first.leader()) == (None, "b:2")


def test_who_renews_its_lease_goes_on_leading_and_who_comes_too_late_does_not(planes, clock):
    first, second = planes
    assert first.take(5) == 1
    for _ in range(3):
        clock.advance(4)
        assert first.renew(1, 5)
        assert second.take(5) is None
    clock.advance(5)
    assert not first.renew(1, 5), "nobody has taken over yet, but somebody may"
    assert second.take(5) == 2
    assert not first.renew(1, 5)


def test_a_lead_that_is_given_up_is_free_at_once(planes):
    first, second = planes
    assert first.take(5) == 1
    first.release(1)
    assert second.take(5) == 2
    first.release(1)
    assert second.leader() == "b:2"


@pytest.mark.parametrize("taken_over", [False, True])
def test_who_leads_no_more_decides_nothing(database, planes, clock, taken_over):
    first, second = planes
    epoch = first.take(5)
    registry = SqlRegistry(database.fenced(first.fence(epoch)))
    registry.add_job(job())
    clock.advance(5)
    if taken_over:
        assert second.take(5) == 2
    with pytest.raises(FencedError, match="leads no more"):
        registry.save_job(job(token=9))
    with pytest.raises(FencedError), registry.transaction():
        registry.add_job(job("id-2", "other"))
    assert SqlRegistry(database).jobs() == [job()]
    assert registry.get_job("id-1") == job(), "it may read"


def test_a_decision_that_has_begun_is_committed_before_another_one_takes_over(database, planes, clock):
    first, second = planes
    registry = SqlRegistry(database.fenced(first.fence(first.take(5))))
    seen = []

    def take_over():
        assert second.take(5) == 2
        seen.append(SqlRegistry(database).jobs())

    other = threading.Thread(target=take_over)
    with registry.transaction():
        registry.add_job(job())
        clock.advance(5)
        other.start()
        other.join(0.5)
        assert seen == []
        registry.add_job(job("id-2", "other"))
    other.join(60)
    assert [sorted(found.id for found in jobs) for jobs in seen] == [["id-1", "id-2"]]


def test_of_many_that_take_the_lead_at_once_one_gets_it(database):
    taken, start = [], threading.Barrier(8)

    def take(number):
        plane = SqlLeadership(database, f"host-{number}")
        start.wait(60)
        taken.append(plane.take(60))

    threads = [threading.Thread(target=take, args=[number]) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(taken, key=str) == [1] + [None] * 7


def test_all_that_share_a_store_are_asked_to_end_at_once_and_those_that_come_later_are_not(planes):
    first, second = planes
    before = second.ends()
    first.end_all()
    assert second.ends() == first.ends() != before
    later = second.ends()
    assert second.take(5) == 1
    assert second.ends() == later
