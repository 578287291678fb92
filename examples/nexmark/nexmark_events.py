"""The events of NEXMark: people who register, auctions that they open, bids on these; of 50 events one, three and 46.

Every event is a function of its number, so that any program can make the same ones, in any order. What is as in the
benchmark's own generator: the shares of the three kinds, half of the bids on one hot auction in a hundred, three quarters of
them from one hot bidder in a hundred, prices over six orders of magnitude, auctions that last for a time in which some
hundred others are opened.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

PER_SECOND, ROUND, AUCTIONS, BIDS = 10_000, 50, 3, 46
"""Events a second of event time; and of each 50 events, so many auctions and bids. The first one is a person."""
FIRST_ID, IN_FLIGHT, CATEGORIES = 1_000, 100, 5
FIRST_CATEGORY = 10
LONGEST_US = 2 * IN_FLIGHT * ROUND // AUCTIONS * 1_000_000 // PER_SECOND
"""How long an auction may last, in microseconds."""
STATES = ("AZ", "CA", "ID", "OR", "WA", "WY")
CITIES = ("Phoenix", "Los Angeles", "San Francisco", "Boise", "Portland", "Bend", "Redmond", "Seattle", "Kent", "Cheyenne")
NAMES = ("Peter", "Paul", "Luke", "John", "Saul", "Vicky", "Kate", "Julie", "Sarah", "Deiter", "Walter")
START_US = 3_600_000_000
STAMP = pa.timestamp("us", "UTC")


def mixed(numbers: Any, purpose: int) -> Any:
    """A number without a sign for each, which looks like chance and is the same each time (the last steps of SplitMix64).

    Those of one purpose have nothing to do with those of another.
    """
    with np.errstate(over="ignore"):
        z = (numbers.astype("uint64") + (np.uint64(purpose) << np.uint64(40))) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))


def below(numbers: Any, purpose: int, limit: Any) -> Any:
    """Of each number one from 0 to less than ``limit``."""
    return (mixed(numbers, purpose) % np.asarray(limit, "uint64")).astype("int64")


def recent(numbers: Any, purpose: int, newest: Any, hot_of: int) -> Any:
    """An id of the last hundred: in ``hot_of - 1`` of ``hot_of`` cases the hot one, which changes once in a hundred."""
    hot = newest // IN_FLIGHT * IN_FLIGHT
    any_of = newest - below(numbers, purpose, np.minimum(newest, IN_FLIGHT - 1) + 1)
    return FIRST_ID + np.where(below(numbers, purpose + 1, hot_of) > 0, hot, any_of)


def events(start: int, end: int) -> pa.Table:
    """Those with the numbers from ``start`` to less than ``end``: the columns of nexmark_queries.SCHEMA. Prices are cents."""
    n = np.arange(start, end, dtype="int64")
    round_, place = n // ROUND, n % ROUND
    person, auction, bid = place == 0, (place > 0) & (place <= AUCTIONS), place > AUCTIONS
    newest_auction = round_ * AUCTIONS + np.clip(place, 1, AUCTIONS) - 1
    ts = START_US + n * (1_000_000 // PER_SECOND)

    def only(mask: Any, values: Any, type_: Any = None) -> pa.Array:
        return pa.array(values, type_, mask=~mask)

    return pa.table(
        {
            "kind": np.array(("person", "auction", "bid"))[np.where(person, 0, np.where(auction, 1, 2))],
            "ts": pa.array(ts, STAMP),
            "id": only(~bid, FIRST_ID + np.where(person, round_, newest_auction)),
            "name": only(person, np.array(NAMES)[below(n, 1, len(NAMES))]),
            "city": only(person, np.array(CITIES)[below(n, 2, len(CITIES))]),
            "state": only(person, np.array(STATES)[below(n, 3, len(STATES))]),
            "category": only(auction, FIRST_CATEGORY + below(n, 4, CATEGORIES)),
            "seller": only(auction, recent(n, 5, round_, 4)),
            "reserve": only(auction, price(n, 7)),
            "expires": only(auction, ts + 1 + below(n, 8, LONGEST_US), STAMP),
            "auction": only(bid, recent(n, 9, newest_auction, 2)),
            "bidder": only(bid, recent(n, 11, round_, 4)),
            "price": only(bid, price(n, 13)),
        }
    )


def price(numbers: Any, purpose: int) -> Any:
    """From 100 to 100 million cents, each order of magnitude as likely as the others."""
    return np.rint(100 * 10 ** (6 * (mixed(numbers, purpose) / 2.0**64))).astype("int64")


def write_files(folder: Path, count: int, step: int) -> None:
    """So many events as parquet, ``step`` a file, in the order of their times; nothing if the folder is there."""
    if folder.exists():
        return
    folder.mkdir(parents=True)
    for number in range(-(-count // step)):
        path, begun, stamp = folder / f"{number:05}.parquet", folder / f".{number}", 1_700_000_000 + number
        pq.write_table(events(number * step, min(count, (number + 1) * step)), begun)
        os.utime(begun, (stamp, stamp))
        begun.rename(path)


if __name__ == "__main__":
    write_files(Path(sys.argv[1]), int(sys.argv[2]), 100_000)
