"""The queries of NEXMark (examples/nexmark) against plain Python over the same events."""

import itertools
import sys
import time
from collections import Counter, defaultdict
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyspark.cloudpickle
import pytest

import pitstop as ps
from pitstop.kit.waiting import wait_until
from pitstop.snapshots.checkpoint import Checkpoint
from tests.spark.harness import Collected, FilesHarness
from tests.spark.sequence import millis

sys.path.insert(0, str(Path(__file__).parents[2] / "examples" / "nexmark"))
import nexmark_events
import nexmark_queries

pyspark.cloudpickle.register_pickle_by_value(nexmark_queries)
pytestmark = [pytest.mark.spark, pytest.mark.long, pytest.mark.timeout(900)]

COUNT, STEP = 300_000, 100_000
"""Half a minute of event time."""
CLOCK_SECONDS = 10


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("nexmark") / "events"
    nexmark_events.write_files(made, COUNT, STEP)
    return made


@pytest.fixture(scope="module")
def events():
    rows = nexmark_events.events(0, COUNT).to_pylist()
    return {kind: [row for row in rows if row["kind"] == kind] for kind in ("person", "auction", "bid")}


@pytest.fixture
def run(spark, folder, tmp_path):
    """Run a query: its rows in the order in which they came, and the watermark of its last epoch in ms."""

    def run_query(name):
        sink, harness = Collected(), FilesHarness(spark, tmp_path)
        harness.run(nexmark_queries.pipeline(name, str(folder), ps.sinks.custom(sink)), until=COUNT // STEP)
        checkpoint = Checkpoint(tmp_path / "checkpoint-0")
        return sink.rows, checkpoint.offsets(checkpoint.committed()).metadata["batchWatermarkMs"]

    return run_query


def ms(time_):
    return int(time_.timestamp() * 1000)


def ends(event, size_ms, slide_ms):
    """The ends of the windows that an event is in."""
    first = ms(event["ts"]) // slide_ms * slide_ms + slide_ms
    return range(first, first + size_ms, slide_ms)


def closed(events):
    """(auction, category, seller) -> the end of its second and its highest bid."""
    offers = defaultdict(list)
    for bid in events["bid"]:
        offers[bid["auction"]].append(bid)
    found = {}
    for opened in events["auction"]:
        prices = [bid["price"] for bid in offers[opened["id"]] if opened["ts"] <= bid["ts"] <= opened["expires"]]
        if prices:
            end = ms(opened["ts"]) // 1000 * 1000 + 1000
            found[(opened["id"], opened["category"], opened["seller"])] = (end, max(prices))
    return found


def test_no_auction_lasts_longer_than_the_queries_wait(events):
    longest = max(each["expires"] - each["ts"] for each in events["auction"])
    assert timedelta(0) < longest <= timedelta(seconds=nexmark_queries.LONGEST)


def test_an_event_is_the_same_in_whatever_part_it_is_made():
    whole = nexmark_events.events(0, 1_000)
    assert nexmark_events.events(123, 777).equals(whole.slice(123, 654))
    assert Counter(whole["kind"].to_pylist()) == {"person": 20, "auction": 60, "bid": 920}


def test_bids_as_they_came_in_another_currency_and_on_some_auctions(run, events):
    rows, _ = run("q0")
    wanted = Counter((bid["auction"], bid["bidder"], bid["price"], ms(bid["ts"])) for bid in events["bid"])
    assert Counter((row.auction, row.bidder, row.price, millis(row.ts)) for row in rows) == wanted


def test_the_price_in_another_currency(run, events):
    rows, _ = run("q1")
    assert len(rows) == len(events["bid"])
    assert sum(row.price for row in rows) == pytest.approx(sum(bid["price"] for bid in events["bid"]) * 0.908)


def test_bids_on_some_auctions(run, events):
    rows, _ = run("q2")
    wanted = Counter((bid["auction"], bid["price"]) for bid in events["bid"] if bid["auction"] % 123 == 0)
    assert wanted
    assert Counter((row.auction, row.price) for row in rows) == wanted


def test_who_sells_in_a_category_in_three_states(run, events):
    rows, _ = run("q3")
    people = {person["id"]: person for person in events["person"] if person["state"] in ("OR", "ID", "CA")}
    wanted = Counter()
    for opened in events["auction"]:
        seller = people.get(opened["seller"])
        if opened["category"] == 10 and seller is not None:
            wanted[(seller["name"], seller["city"], seller["state"], opened["id"])] += 1
    assert len(wanted) > 100
    assert Counter(tuple(row) for row in rows) == wanted


@pytest.mark.parametrize(("query", "key"), [("q4", "category"), ("q6", "seller")])
def test_average_prices_of_auctions_that_have_ended(run, events, query, key):
    """Auctions of one key that were opened in one second may come in any order; those of another second come behind."""
    rows, watermark = run(query)
    by_auction = {number: (end, price) for (number, *_), (end, price) in closed(events).items()}
    keys = {number: {"category": category, "seller": seller}[key] for number, category, seller in closed(events)}
    until = watermark - nexmark_queries.LONGEST * 1000 - 1000
    got = [row.auction for row in rows]
    assert len(set(got)) == len(got)
    assert {number for number, (end, _) in by_auction.items() if end <= until} <= set(got) <= set(by_auction)
    prices, last_end, averages = defaultdict(list), {}, []
    for number in got:
        end, price = by_auction[number]
        assert end >= last_end.get(keys[number], end)
        last_end[keys[number]] = end
        prices[keys[number]].append(price)
        counted = prices[keys[number]] if query == "q4" else prices[keys[number]][-nexmark_queries.LAST_AUCTIONS :]
        averages.append(sum(counted) / len(counted))
    assert max(map(len, prices.values())) > 2 * nexmark_queries.LAST_AUCTIONS
    assert [row.average for row in rows] == pytest.approx(averages)


def test_the_highest_bid_of_each_auction_that_has_ended(run, events):
    rows, watermark = run("q9")
    wanted, until = closed(events), watermark - nexmark_queries.LONGEST * 1000 - 1000
    ended = {auction: found for auction, found in wanted.items() if found[0] <= until}
    assert len(ended) > 100
    got = {(row.auction, row.category, row.seller): (millis(row.window_end), row.final) for row in rows}
    assert len(got) == len(rows)
    assert ended.items() <= got.items() <= wanted.items()


def test_the_auction_with_the_most_bids(run, events):
    rows, watermark = run("q5")
    counts = defaultdict(Counter)
    for bid in events["bid"]:
        for end in ends(bid, 10_000, 2_000):
            counts[end][bid["auction"]] += 1
    # The end of a window is the first moment of the next two seconds.
    until = watermark - 2_000
    wanted = {end: max((n, auction) for auction, n in found.items()) for end, found in counts.items() if end <= until}
    assert len(wanted) > 10
    assert {millis(row.at): (row.n, row.auction) for row in rows} == wanted
    assert len(rows) == len(wanted)


def test_the_highest_bid_of_each_ten_seconds(run, events):
    rows, watermark = run("q7")
    bids = [(end, (bid["price"], bid["auction"], bid["bidder"])) for bid in events["bid"] for end in ends(bid, 10_000, 10_000)]
    wanted = {end: max(bid for _, bid in found) for end, found in itertools.groupby(bids, lambda each: each[0])}
    got = {millis(row.window_end): (row.price, row.auction, row.bidder) for row in rows}
    assert len(got) == len(rows) > 1
    assert got == {end: bid for end, bid in wanted.items() if end <= watermark}


def test_who_registered_and_opened_auctions_within_ten_seconds(run, events):
    rows, watermark = run("q8")
    opened = Counter((each["seller"], end) for each in events["auction"] for end in ends(each, 10_000, 10_000))
    wanted = {
        (person["id"], person["name"], end): opened[(person["id"], end)]
        for person in events["person"]
        for end in ends(person, 10_000, 10_000)
        if opened[(person["id"], end)] and end <= watermark
    }
    assert len(wanted) > 100
    got = {(row.person, row.name, millis(row.window_start) + 10_000): row.opened for row in rows}
    assert got == wanted
    assert len(rows) == len(wanted)


def test_how_many_bids_a_bidder_made_in_a_session(run, events):
    rows, watermark = run("q11")
    sessions, last = Counter(), {}
    for bid in events["bid"]:
        start, before = last.get(bid["bidder"], (None, None))
        at = bid["ts"]
        start = start if before is not None and at < before + timedelta(seconds=10) else at
        last[bid["bidder"]] = (start, at)
        sessions[(bid["bidder"], ms(start))] += 1
    lasts = {(bidder, ms(start)): at for bidder, (start, at) in last.items()}
    reached = datetime.fromtimestamp(watermark / 1000, UTC)
    wanted = {key: n for key, n in sessions.items() if key not in lasts or lasts[key] + timedelta(seconds=10) <= reached}
    assert len(wanted) > 100
    assert {(row.bidder, millis(row.window_start)): row.n for row in rows} == wanted


def test_how_many_bids_a_bidder_made_in_ten_seconds_of_the_clock(spark, tmp_path, events):
    """What came before a moment of the clock is counted once an epoch has come after it."""
    folder, sink = tmp_path / "few", Collected()
    nexmark_events.write_files(folder, 2 * STEP, STEP)
    late = folder / "00001.parquet"
    waiting = late.rename(tmp_path / "later.parquet")

    class Clock(FilesHarness):
        def wait_for(self, running, until):
            super().wait_for(running, 1)
            next_window = time.time() // CLOCK_SECONDS * CLOCK_SECONDS + CLOCK_SECONDS
            assert wait_until(lambda: time.time() > next_window, CLOCK_SECONDS + 5)
            waiting.rename(late)
            super().wait_for(running, 2)

    Clock(spark, tmp_path).run(nexmark_queries.pipeline("q12", str(folder), ps.sinks.custom(sink)))
    wanted = Counter(bid["bidder"] for bid in events["bid"][: STEP * nexmark_events.BIDS // nexmark_events.ROUND])
    assert {row.bidder: row.n for row in sink.rows} == wanted
    assert len(sink.rows) == len(wanted)
    assert all(millis(row.window_end) % 10_000 == 0 for row in sink.rows)
