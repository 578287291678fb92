"""Sessions that were signed out, in each kind of store."""

import pytest

from pitstop.store.database import open_database
from pitstop.store.sessions import SqlEndedSessions
from tests.contract.stores import DATABASES

NOW = 1_000_000.0


@pytest.fixture(params=DATABASES)
def database(request, tmp_path):
    made = open_database(DATABASES[request.param](tmp_path))
    yield made
    made.close()


@pytest.fixture
def now():
    return [NOW]


def test_a_session_has_ended_for_all_who_share_the_store_until_it_would_have_ended_by_itself(database, now):
    one, other = (SqlEndedSessions(database, lambda: now[0]) for _ in range(2))
    one.add("a", NOW + 10)
    other.add("b", NOW + 20)
    one.add("b", NOW + 20)
    assert one.all() == other.all() == {"a": NOW + 10, "b": NOW + 20}
    now[0] = NOW + 10
    assert other.all() == {"b": NOW + 20}


def test_rows_of_sessions_that_are_over_go(database, now):
    sessions = SqlEndedSessions(database, lambda: now[0])
    sessions.add("a", NOW + 10)
    now[0] = NOW + 11
    sessions.add("b", NOW + 20)
    now[0] = NOW
    assert sessions.all() == {"b": NOW + 20}
