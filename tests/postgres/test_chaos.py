"""A short form of what ``make chaos`` does to two servers: PostgreSQL is killed, then the server that leads."""

import pytest

from tests.chaos.pair import Pair
from tests.chaos.run import run
from tests.chaos.servers import LeaderKilled, StoreKilled

pytestmark = [pytest.mark.e2e, pytest.mark.long, pytest.mark.timeout(1500)]


def test_no_row_is_lost_or_doubled_when_the_store_and_the_leader_are_killed(tmp_path):
    outcome = run(tmp_path / "chaos", 1, 0, [lambda: StoreKilled(8), LeaderKilled], print, start=Pair)
    assert outcome.clean, outcome.verdict()
    assert outcome.never == []
