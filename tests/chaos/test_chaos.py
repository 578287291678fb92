"""A short run of ``make chaos``."""

import itertools
from random import Random

import pytest

from pitstop.errors import UsageError
from tests.chaos.connectors import BrokerKilled, BrokerStopped, CutOff, DatabaseStopped
from tests.chaos.events import START_MS, event
from tests.chaos.fault import Fault
from tests.chaos.operations import During, Update
from tests.chaos.outputs import Difference
from tests.chaos.page import SECTIONS, write_page
from tests.chaos.reference import expected, rolled_of_keys, totals, windows
from tests.chaos.run import Outcome, befall, run
from tests.chaos.schedule import ALL, ON_CONNECTORS, ON_POSTGRES, SHORT, kinds, schedule


@pytest.mark.e2e
@pytest.mark.long
@pytest.mark.timeout(1500)
def test_no_row_is_lost_or_doubled_whatever_happens(tmp_path):
    outcome = run(tmp_path / "chaos", 1, 0, SHORT, print)
    assert outcome.clean, outcome.verdict()
    assert outcome.recoveries.keys() == {
        "a runner killed, a spare is ready",
        "a runner stopped for 3 s",
        "the store locked for 10 s",
        "HTTP answers half a body for 4 s",
        "a sink fails for 5 s",
        "events of the year 2200",
        "a snapshot exported",
    }


def test_the_same_seed_gives_the_same_faults():
    def drawn(seed):
        return [(fault.name, numbers.random()) for fault, numbers in itertools.islice(schedule(seed, ALL), 2 * len(ALL))]

    assert drawn(1) == drawn(1) != drawn(2)
    assert {name for name, _ in drawn(1)[: len(ALL)]} == {made().name for made in ALL}


@pytest.mark.parametrize("seed", range(5))
def test_each_kind_comes_once_before_any_comes_again(seed):
    names = [fault.name for fault, _ in itertools.islice(schedule(seed, ALL), len(ALL))]
    assert len(kinds(ALL)) < len(ALL)
    assert set(names[: len(kinds(ALL))]) == set(kinds(ALL))


class Recorded(Fault):
    """One that is only counted."""

    def __init__(self, name, why=None, refusals=0):
        self.name, self._why, self._refusals = name, why, itertools.repeat(None, refusals)

    def impossible(self, cluster):
        return self._why

    def inject(self, cluster, drawn):
        for _ in self._refusals:
            raise UsageError("not now")


class AtOnce:
    """A cluster that goes on at once; has no processes."""

    class feeds:
        count = 0

    def wait_settled(self):
        pass

    def wait(self, condition, what):
        assert condition()

    def have(self, seq):
        return True


def test_a_run_ends_when_its_time_is_over_and_each_kind_has_come():
    faults = [Recorded("one"), Recorded("two", refusals=2), Recorded("three")]
    outcome = Outcome(("one", "two", "three"))
    befall(AtOnce(), outcome, ((fault, Random(1)) for fault in itertools.cycle(faults)), until=0, say=print)
    assert {name: len(took) for name, took in outcome.recoveries.items()} == {"one": 1, "two": 1, "three": 1}
    assert outcome.never == []


def test_a_kind_that_cannot_come_is_told_and_not_waited_for():
    faults = [Recorded("one"), Recorded("two", why="no disk"), Recorded("three", refusals=100)]
    outcome = Outcome(("one", "two", "three"))
    befall(AtOnce(), outcome, ((fault, Random(1)) for fault in itertools.cycle(faults)), until=0, say=print)
    assert outcome.never == ["two", "three"]
    assert outcome.verdict() == "1 faults, of 1 of 3 kinds"
    assert "| two | not: no disk | | |" in outcome.table()
    assert "| three | not: refused: not now | | |" in outcome.table()


def test_a_loss_names_the_seed_and_the_faults_in_their_order():
    outcome = Outcome(("one", "two"), seed=7)
    befall(AtOnce(), outcome, ((fault, Random(1)) for fault in itertools.cycle([Recorded("two"), Recorded("one")])), 0, print)
    assert "seed" not in outcome.verdict()
    outcome.differences.append(Difference("topic rolled", 10, 0, 1))
    assert outcome.verdict().splitlines()[-1] == "with seed 7, in this order: two, one"


def test_without_each_a_run_ends_when_its_time_is_over_whatever_has_come():
    outcome = Outcome(("one",))
    befall(AtOnce(), outcome, iter([(Recorded("one"), Random(1))]), until=0, say=print, each=False)
    assert outcome.never == ["one"]


@pytest.mark.parametrize("deck", [ALL, ON_POSTGRES, ON_CONNECTORS])
def test_an_outage_draws_how_long_it_lasts_and_its_name_is_that_of_its_kind(deck):
    for made in deck:
        assert made().name == made().name
    outages = [BrokerKilled(), DatabaseStopped(), CutOff(BrokerStopped(), BrokerKilled()), During(Update(), BrokerKilled())]
    for outage in outages:
        holds = set()
        for seed in range(20):
            outage.prepare(None, Random(seed))
            holds.add(outage.hold)
        assert len(holds) == 20
        assert min(holds) >= 1
        assert max(holds) <= 20


def test_what_must_come_of_the_messages_of_one_key_in_topics_and_tables():
    values = [event(seq).v for seq in range(80)]  # two bursts, each of a key
    assert rolled_of_keys(80)[(79, 1, 40, sum(values[40:]))] == 1
    assert rolled_of_keys(80).total() == 80
    assert totals(80) == {(0, 40, sum(values[:40])): 1, (1, 40, sum(values[40:])): 1}
    assert windows(40) == expected(40)["windows"]


def test_what_must_come_of_the_events_of_one_key():
    found = expected(40)  # one burst: 4 s, whose events are 100 ms apart
    values = [event(seq).v for seq in range(40)]
    assert found["rolled"][(39, 40, sum(values))] == 1
    assert found["mapped"][(0, 1, None)] == found["mapped"][(39, 40, 38)] == 1
    whole = START_MS - START_MS % 10_000
    assert found["windows"].total() == 2
    assert {row[1] for row in found["windows"]} == {whole - 5_000, whole}
    assert found["owned"] == {(0, whole, 40, sum(values)): 1}
    assert found["sessions"] == {(0, START_MS, START_MS + 3_900 + 5_000, 40, max(values)): 1}
    assert found["joined"].total() == 4 * 4


def test_the_table_tells_how_often_and_how_long():
    outcome = Outcome(("nothing", "the disk full", "restarted"), skipped={"the disk full": "no small disk"})
    outcome.recoveries["nothing"] += [1.0, 2.0, 6.0]
    assert "| nothing | 3 | 2.0 s | 6.0 s |" in outcome.table()
    assert "| the disk full | not: no small disk | | |" in outcome.table()
    assert "| restarted | not: the run ended before | | |" in outcome.table()


def test_a_section_of_the_page_is_written_once_every_kind_has_come_and_tells_what_was_found(tmp_path):
    page, one, two = tmp_path / "chaos.md", Outcome(("nothing", "restarted")), Outcome(("the leader killed",))
    connected = Outcome(("the broker killed",), recoveries={"the broker killed": [9.0]})
    one.recoveries["nothing"].append(1.0)
    two.recoveries["the leader killed"].append(7.5)
    assert write_page(page, {"one": one, "two": two}, "SEED=1") == ["cluster one: these have never come: restarted"]
    assert "One server, its store a file" not in page.read_text()

    one.recoveries["restarted"].append(3.0)
    one.differences.append(Difference("rolled", 10, 1, 0))
    assert write_page(page, {"one": one, "connected": connected}, "SEED=2") == []
    text = page.read_text()
    titles = [line for line in text.splitlines() if line.startswith("## ")]
    assert titles == [*(f"## {title}" for title, _ in SECTIONS.values()), "## Networks"]
    assert text.count("`make chaos SEED=1`") == 1
    assert text.count("`make chaos SEED=2`") == 2
    assert "| the leader killed | 1 | 7.5 s | 7.5 s |" in text
    assert "- 2 faults, of 2 of 2 kinds\n- rolled: 10 rows, 1 lost, 0 doubled\n" in text
    assert "| the broker killed | 1 | 9.0 s | 9.0 s |" in text
