"""Rows are grouped by their event time itself: Spark takes one event time a stage, and the key would be a second one."""

from collections import Counter

import pytest

import pitstop as ps
from pitstop.snapshots.checkpoint import Checkpoint
from tests.spark.harness import Collected, Harness, numbers
from tests.spark.sequence import events, millis

pytestmark = [pytest.mark.spark, pytest.mark.long]

ROWS, STEP, KEYS = 16_000, 4_000, 6
GONE_MS = 3_000
"""Results of times that are so long before the watermark are all there."""


def step(state, row):
    state.n = (state.n or 0) + 1
    return state.n, row.seq


def expired(state, key, time):
    return state.n, -1


def windowed(rows, window):
    return rows.group_by("ts").window(window).aggregate("counted", n=ps.count()).select("ts", "n")


def together(rows, others):
    grouped = ps.co_group(rows=rows.group_by("ts"), others=others.group_by("ts")).window(ps.tumbling("1 second"))
    return grouped.aggregate("counted", rows={"m": ps.count()}, others={"k": ps.count()}).select("ts", "m + k - 1 as n")


STAGES = {
    "window": (1, lambda rows, others: windowed(rows, ps.tumbling("1 second"))),
    "sliding window": (2, lambda rows, others: windowed(rows, ps.sliding("2 seconds", "1 second"))),
    "session": (1, lambda rows, others: windowed(rows, ps.session("1 second"))),
    "two streams": (1, together),
    "rolling": (1, lambda rows, others: rows.group_by("ts").rolling_aggregate("counted", n=ps.count()).select("ts", "n")),
    "state": (1, lambda rows, others: rows.group_by("ts").map_stateful("counted", step, "n bigint", "n bigint, seq bigint")),
    "state with time to live": (
        2,
        lambda rows, others: rows.group_by("ts").map_stateful(
            "counted", step, "n bigint", "n bigint, seq bigint", ttl="1 second", on_evict=expired
        ),
    ),
    "distinct": (1, lambda rows, others: rows.group_by("ts").distinct("counted").select("ts", "1L as n")),
}
"""How many rows come of a time, and the stage that gives them."""


@pytest.mark.parametrize("stage", STAGES)
def test_a_stage_takes_the_event_time_for_its_key(spark, tmp_path, stage):
    often, built = STAGES[stage]
    p, sink = ps.Pipeline(), Collected()
    rows, others = (numbers(p, name, rows=ROWS, step=STEP, keys=KEYS) for name in ("numbers", "others"))
    built(rows, others).write_to(ps.sinks.custom(sink), name="out")
    others.write_to(ps.sinks.noop(), name="others out")
    Harness(spark, tmp_path).run(p)
    checkpoint = Checkpoint(tmp_path / "checkpoint-0")
    until = checkpoint.offsets(checkpoint.committed()).metadata["batchWatermarkMs"] - GONE_MS
    times = [ms for _, _, _, ms in events(ROWS, KEYS)]
    got = Counter(millis(row.ts) for row in sink.rows)
    assert {row.n for row in sink.rows} == {1}
    assert {ms: n for ms, n in got.items() if ms <= until} == {ms: often for ms in times if ms <= until} != {}
    assert set(got) <= set(times)
