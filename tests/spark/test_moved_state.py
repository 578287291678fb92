"""A Python function's state goes on exactly when it moves from memory to disk, as state_store=auto does by itself."""

from collections import Counter, defaultdict
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest

import pitstop as ps
from pitstop.snapshots import manifest as manifests
from tests.spark import sequence
from tests.spark.harness import Collected, Harness, numbers

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]

ROWS, CUT, STEP, KEYS = 3_000, 1_000, 500, 7
STATE = "first timestamp_ntz, seen map<bigint,bigint>, since map<int,array<timestamp_ntz>>, price decimal(20,4), share float"
OUTPUT = "seq bigint, first timestamp_ntz, of_value bigint, since array<timestamp_ntz>, price decimal(20,4)"


def follow(state, row):
    state.first = state.first or row.ts
    seen, since = state.seen or {}, state.since or {}
    seen[row.v] = seen.get(row.v, 0) + 1
    since.setdefault(row.v, [row.ts, None])
    state.seen, state.since = seen, since
    state.price = (state.price or Decimal(0)) + Decimal(row.v) / 4
    state.share = 0.1
    return {"seq": row.seq, "first": state.first, "of_value": seen[row.v], "since": since[row.v], "price": state.price}


def pipeline(sink, state=STATE):
    p = ps.Pipeline()
    stage = numbers(p, rows=ROWS, step=STEP, keys=KEYS).group_by("key").map_stateful("follows", follow, state, OUTPUT)
    stage.write_to(ps.sinks.custom(sink), name="out")
    return p


def expected():
    """seq -> the row of each event, by plain Python."""
    found, first, price = {}, {}, defaultdict(Decimal)
    seen, since = defaultdict(Counter), defaultdict(dict)
    for seq in range(ROWS):
        key, value = seq * 7919 % KEYS, seq % 10
        at = datetime.fromtimestamp(0, UTC).replace(tzinfo=None) + timedelta(milliseconds=sequence.START_MS + seq)
        first.setdefault(key, at)
        seen[key][value] += 1
        since[key].setdefault(value, [at, None])
        price[key] += Decimal(value) / 4
        found[seq] = (first[key], seen[key][value], since[key][value], price[key])
    return found


@pytest.mark.long
@pytest.mark.parametrize(
    "after", [pytest.param(STATE, marks=pytest.mark.long), f"{STATE}, later string"], ids=["the-same-fields", "another-field"]
)
def test_state_of_every_type_goes_on_exactly_on_disk(spark, tmp_path, after):
    harness, before, later = Harness(spark, tmp_path), Collected(), Collected()
    try:
        harness.store("memory")
        harness.run(pipeline(before), until=CUT)
        assert "HDFS" in manifests.read(tmp_path / "snapshots" / "saved").provider
        harness.store("rocksdb")
        assert harness.run(pipeline(later, after)).way == "rebuild"
    finally:
        harness.store("rocksdb")
    assert later.rows[0].seq >= CUT
    got = {row.seq: (row.first, row.of_value, row.since, row.price) for row in [*before.rows, *later.rows]}
    assert len(before.rows) + len(later.rows) == ROWS
    assert got == expected()
