"""Short forms of what ``make chaos`` does to two servers, and to the broker and the database of two jobs."""

import pytest

from tests.chaos.connected import Connected
from tests.chaos.connectors import BrokerKilled, CutOff, DatabaseKilled, DatabaseStopped
from tests.chaos.pair import Pair
from tests.chaos.processes import Kill, a_whole_run
from tests.chaos.run import run
from tests.chaos.servers import LeaderKilled, StoreKilled

pytestmark = [pytest.mark.e2e, pytest.mark.long, pytest.mark.timeout(1500)]


def test_no_row_is_lost_or_doubled_when_the_store_and_the_leader_are_killed(tmp_path):
    outcome = run(tmp_path / "chaos", 1, 0, [lambda: StoreKilled(8), LeaderKilled], print, start=Pair)
    assert outcome.clean, outcome.verdict()
    assert outcome.never == []


def test_no_row_of_a_topic_or_table_is_lost_or_doubled_when_the_broker_and_the_database_are_killed(tmp_path):
    killed = Kill("a run with all its processes", a_whole_run)
    deck = [lambda: BrokerKilled(5), lambda: DatabaseKilled(5), lambda: CutOff(DatabaseStopped(5), killed)]
    outcome = run(tmp_path / "chaos", 1, 0, deck, print, start=Connected)
    assert outcome.clean, outcome.verdict()
    assert outcome.never == []
