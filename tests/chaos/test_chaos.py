"""A short run of ``make chaos``."""

import itertools

import pytest

from tests.chaos.events import START_MS, event
from tests.chaos.reference import expected
from tests.chaos.run import Outcome, run
from tests.chaos.schedule import ALL, SHORT, schedule

SECONDS = 45


@pytest.mark.e2e
@pytest.mark.long
@pytest.mark.timeout(1500)
def test_no_row_is_lost_or_doubled_whatever_happens(tmp_path):
    outcome = run(tmp_path / "chaos", 1, SECONDS, SHORT, print)
    assert outcome.clean, outcome.verdict()
    assert outcome.recoveries


def test_the_same_seed_gives_the_same_faults():
    def drawn(seed):
        return [(fault.name, numbers.random()) for fault, numbers in itertools.islice(schedule(seed, ALL), 2 * len(ALL))]

    assert drawn(1) == drawn(1) != drawn(2)
    assert {name for name, _ in drawn(1)[: len(ALL)]} == {made().name for made in ALL}


def test_what_must_come_of_the_events_of_one_key():
    found = expected(40)  # one burst: 4 s, whose events are 100 ms apart
    values = [event(seq).v for seq in range(40)]
    assert found["rolled"][(39, 40, sum(values))] == 1
    assert found["mapped"][(0, 1, None)] == found["mapped"][(39, 40, 38)] == 1
    whole = START_MS - START_MS % 10_000
    assert found["windows"].total() == 2
    assert {row[1] for row in found["windows"]} == {whole - 5_000, whole}
    assert found["sessions"] == {(0, START_MS, START_MS + 3_900 + 5_000, 40, max(values)): 1}
    assert found["joined"].total() == 4 * 4


def test_the_table_tells_how_often_and_how_long():
    outcome = Outcome(skipped={"the disk full": "no small disk"})
    outcome.recoveries["nothing"] += [1.0, 2.0, 6.0]
    assert "| nothing | 3 | 2.0 s | 6.0 s |" in outcome.table()
    assert "| the disk full | not: no small disk | | |" in outcome.table()
