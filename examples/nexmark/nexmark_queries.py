"""The queries of NEXMark as pipelines: each takes the stream of all events, and gives the stage that is its result.

Where the words of the benchmark leave a choice, the docstring of a query says what was taken::

    python nexmark_events.py "$PWD/events" 1000000
    pitstop submit nexmark_queries.py q5 "$PWD/events"
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pitstop as ps

SCHEMA = (
    "kind string, ts timestamp, id bigint, name string, city string, state string, "
    "category bigint, seller bigint, reserve bigint, expires timestamp, auction bigint, bidder bigint, price bigint"
)
"""One stream of all: ``kind`` is person, auction or bid. An event has the columns of its kind, and null in the others."""
LONGEST = 1
"""How many seconds an auction may last."""
LAST_AUCTIONS = 10


def q0(events: ps.Stage) -> ps.Stage:
    """Each bid as it came: what reading and writing costs."""
    return bids(events)


def q1(events: ps.Stage) -> ps.Stage:
    """The price of each bid in another currency."""
    return bids(events).with_columns(price="price * 0.908D")


def q2(events: ps.Stage) -> ps.Stage:
    """The bids on some auctions."""
    return bids(events).filter("auction % 123 = 0").select("auction", "price")


def q3(events: ps.Stage) -> ps.Stage:
    """Who sells in a category in three states: a join that never forgets, in Spark's own words."""
    sellers = events.filter("kind = 'person' and state in ('OR', 'ID', 'CA')").select("id as person", "name", "city", "state")
    return auctions(events).filter("category = 10").stateful("local items", sold_by, sellers)


def sold_by(opened: Any, people: Any) -> Any:
    return opened.join(people, opened["seller"] == people["person"]).select("name", "city", "state", "auction")


def q4(events: ps.Stage) -> ps.Stage:
    """The average price of a category's auctions so far, after each that has ended."""
    return (
        closed(events)
        .group_by("category")
        .rolling_aggregate("averages", average=ps.avg("final"))
        .select("category", "auction", "average")
    )


def q5(events: ps.Stage) -> ps.Stage:
    """The auction with the most bids in the last ten seconds, every two; of equals the newest."""
    counted = bids(events).group_by("auction").window(ps.sliding("10 seconds", "2 seconds")).aggregate("bids", n=ps.count())
    timed = counted.with_timestamps("window_end").select("window_end as at", "auction", "n")
    hot = timed.group_by("at").window(ps.tumbling("2 seconds")).aggregate("hottest", top=ps.max("struct(n, auction)"))
    return hot.select("at", "top.auction as auction", "top.n as n")


def q6(events: ps.Stage) -> ps.Stage:
    """The average price of a seller's last ten auctions, after each that has ended, in the order in which they were opened."""
    ended = closed(events).select("seller", "auction", "final", "window_end")
    return ended.group_by("seller").map_stateful("sellers", last_ten, "prices array<bigint>", "auction bigint, average double")


def last_ten(state: Any, row: Any) -> tuple[int, float]:
    state.prices = [*(state.prices or []), row.final][-LAST_AUCTIONS:]
    return row.auction, sum(state.prices) / len(state.prices)


def q7(events: ps.Stage) -> ps.Stage:
    """The highest bid of each ten seconds; of equals that of the newest auction and bidder."""
    highest = bids(events).group_by().window(ps.tumbling("10 seconds"))
    found = highest.aggregate("highest", top=ps.max("struct(price, auction, bidder)"))
    return found.select("window_end", "top.price as price", "top.auction as auction", "top.bidder as bidder")


def q8(events: ps.Stage) -> ps.Stage:
    """Who registered and opened auctions within the same ten seconds."""
    people = events.filter("kind = 'person'").select("id as person", "name", "ts")
    both = ps.co_group(people=people.group_by("person"), auctions=auctions(events).group_by("seller"))
    found = both.window(ps.tumbling("10 seconds")).aggregate(
        "newcomers", people={"name": ps.max("name")}, auctions={"opened": ps.count()}
    )
    return found.filter("name is not null and opened > 0").select("person", "name", "window_start", "opened")


def q9(events: ps.Stage) -> ps.Stage:
    """The highest bid of each auction that has ended with one."""
    return closed(events)


def q11(events: ps.Stage) -> ps.Stage:
    """How many bids each bidder made in a session, which ends after ten seconds without one."""
    sessions = bids(events).group_by("bidder").window(ps.session("10 seconds"))
    return sessions.aggregate("sessions", n=ps.count())


def q12(events: ps.Stage) -> ps.Stage:
    """How many bids each bidder made in ten seconds of the clock on the wall."""
    stamped = events.filter("kind = 'bid'").select("bidder").with_ingestion_timestamps("at")
    return stamped.group_by("bidder").window(ps.tumbling("10 seconds")).aggregate("by the clock", n=ps.count())


def bids(events: ps.Stage) -> ps.Stage:
    return events.filter("kind = 'bid'").select("auction", "bidder", "price", "ts")


def auctions(events: ps.Stage) -> ps.Stage:
    return events.filter("kind = 'auction'").select("id as auction", "category", "seller", "expires", "ts")


def closed(events: ps.Stage) -> ps.Stage:
    """Auctions that have ended with a bid, and their highest: columns auction, category, seller, final, window_start, window_end.

    Those of an auction's bids count that came while it was open. All pairs of one have the time at which it was opened, so a
    window on that time has them all as soon as no more can come.
    """
    offers = bids(events).select("auction", "price", "ts as bid_at")
    pairs = auctions(events).join("offers", offers, on="auction", within=LONGEST)
    valid = pairs.filter("bid_at between ts and expires")
    by_auction = valid.group_by("auction", "category", "seller").window(ps.tumbling("1 second"))
    return by_auction.aggregate("closed", final=ps.max("price")).with_timestamps("window_end")


QUERIES: dict[str, Callable[[ps.Stage], ps.Stage]] = {
    query.__name__: query for query in (q0, q1, q2, q3, q4, q5, q6, q7, q8, q9, q11, q12)
}


@ps.job()
def nexmark(query: str, folder: str) -> ps.Pipeline:
    """A query over the files of a folder, an epoch a file, to the job's log."""
    return pipeline(query, folder, ps.sinks.logger())


def pipeline(query: str, folder: str, sink: ps.Sink) -> ps.Pipeline:
    p = ps.Pipeline()
    files = ps.sources.files(folder, "parquet", schema=SCHEMA, streaming=True, maxFilesPerTrigger=1)
    events = p.read_from(files, name="events")
    timed = events if query == "q12" else events.with_timestamps("ts")
    QUERIES[query](timed).write_to(sink, name="out")
    return p
