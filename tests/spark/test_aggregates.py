"""Every aggregate is a monoid: however its events are split, and parts are combined, the result is that of all."""

import math
import statistics
from fractions import Fraction

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import functions as F

import pitstop as ps
from pitstop.pipeline.nodes import Node
from pitstop.pipeline.specs import WindowSpec
from pitstop.plan.diff import compare
from pitstop.spark.lowering.compile import compile_pipeline
from pitstop.spark.lowering.window import Aggregation

pytestmark = pytest.mark.spark

SCHEMA = "part int, group int, v bigint, x bigint, d double, ts timestamp"
AGGREGATES = {
    "rows": ps.count(),
    "n": ps.count("v"),
    "total": ps.sum("v"),
    "mean": ps.avg("v"),
    "low": ps.min("v"),
    "high": ps.max("v"),
    "at_low": ps.min_by("x", "v"),
    "at_high": ps.max_by("x", "v"),
    "early": ps.first("x"),
    "late": ps.last("x"),
    "values": ps.collect_list("v"),
    "different": ps.collect_set("v"),
    "count_different": ps.count_distinct("v"),
    "about": ps.approx_count_distinct("v"),
    "spread": ps.variance("v"),
    "deviation": ps.stddev("v"),
    "trend": ps.linear_trend("x", "v"),
    "best": ps.top_n(3, "x", "v"),
    "worst": ps.bottom_n(3, "x", "v"),
    "both": ps.all_of(low=ps.min("v"), mean=ps.avg("v")),
    "squares": ps.aggregate(lambda f, v: (v * v,), lambda f, c: f.sum(c), inputs=("v",)),
}


def own(combine):
    return ps.aggregate(lambda f, v: (v,), lambda f, c: getattr(f, combine)(c), inputs=("v",))


EVENT = st.tuples(
    st.integers(0, 4), st.integers(0, 2), st.none() | st.integers(-50, 50), st.integers(-1000, 1000), st.integers(0, 10**6)
)


def plan_of(spark, aggregate, time="ts", rolling=False):
    p = ps.Pipeline()
    rows = p.read_from(ps.sources.items([], SCHEMA), name="rows").with_columns(sent="ts - interval 1 hour").with_timestamps(time)
    keyed = rows.group_by("group")
    kept = keyed.rolling_aggregate if rolling else keyed.window(ps.tumbling("1 minute")).aggregate
    kept("stage", **{"made" if rolling else "x": aggregate}).write_to(ps.sinks.noop(), name="out")
    return compile_pipeline(spark, p).to_dict()


@pytest.mark.parametrize(
    ("before", "after", "reason"),
    [
        (ps.top_n(3, "x", "v"), ps.top_n(5, "x", "v"), "kept 3 rows of each key and now keeps 5"),
        (ps.bottom_n(3, "x", "v"), ps.bottom_n(2, "x", "v"), None),
        (own("sum"), own("max"), "was combined by sum(x__0) and now is by max(x__0)"),
        (own("sum"), own("sum"), None),
        (ps.avg("cast(d as int)"), ps.avg("d"), "took in avg(CAST(d AS INT)) and now takes in avg(d)"),
        (ps.avg("v"), ps.avg("cast(v as decimal(20,0))"), None),
    ],
    ids=["more", "fewer", "other own code", "its own code", "what truncated", "what widens"],
)
def test_an_aggregate_whose_state_would_be_of_two_meanings_is_refused(spark, before, after, reason):
    report = compare(plan_of(spark, before), plan_of(spark, after), 2)
    assert [line.verdict for line in report.lines if line.stage == "stage"] == ["refused" if reason else "restored"]
    assert reason is None or reason in str(report.reasons)


@pytest.mark.parametrize("rolling", [False, True], ids=["window", "rolling"])
@pytest.mark.parametrize(
    ("aggregate", "time", "reason"),
    [
        (ps.first("x"), "sent", "took in first(x, event time ts) and now takes in first(x, event time sent)"),
        (ps.last("x"), "sent", "took in last(x, event time ts) and now takes in last(x, event time sent)"),
        (
            ps.all_of(n=ps.count(), at=ps.last("x")),
            "sent",
            "event time ts) and now takes in all_of count last(x, event time sent)",
        ),
        (ps.last("x"), "ts", None),
        (ps.max_by("x", "ts"), "sent", None),
        (ps.count(), "sent", None),
    ],
    ids=["first", "last", "within another", "the same time", "by a column", "of no order"],
)
def test_an_aggregate_by_event_time_is_refused_where_another_column_is_the_event_time(spark, aggregate, time, reason, rolling):
    report = compare(plan_of(spark, aggregate, rolling=rolling), plan_of(spark, aggregate, time, rolling), 2)
    assert [line.verdict for line in report.lines if line.stage == "stage"] == ["refused" if reason else "restored"]
    assert reason is None or reason in str(report.reasons)


def test_a_release_that_did_not_note_the_column_of_the_event_time_is_gone_on_with(spark):
    before, after = (plan_of(spark, ps.last("x")) for _ in range(2))
    stage = next(stage for stage in before["stages"] if stage["name"] == "stage")
    taken = stage["layout"]["parameters"]["taken"]["x"]
    taken[0] = taken[0].replace("event time ts", "event time")
    assert [line.verdict for line in compare(before, after, 2).lines if line.stage == "stage"] == ["restored"]


def expected(events):
    """The results over (v, x, ts) of some events."""
    known = [(v, x) for v, x, _ in events if v is not None]
    values = [v for v, _ in known]
    some = bool(values)
    timed = [(ts, x) for _, x, ts in events]
    spread = statistics.variance(values) if len(values) > 1 else None
    ordered = sorted(known)
    return {
        "rows": len(events),
        "n": len(values),
        "total": sum(values) if some else None,
        "mean": sum(values) / len(values) if some else None,
        "low": min(values, default=None),
        "high": max(values, default=None),
        "at_low": ordered[0][1] if some else None,
        "at_high": ordered[-1][1] if some else None,
        "early": min(timed)[1],
        "late": max(timed)[1],
        "values": sorted(values),
        "different": sorted(set(values)),
        "count_different": len(set(values)),
        "about": len(set(values)),
        "spread": spread,
        "deviation": None if spread is None else math.sqrt(spread),
        "trend": slope(known),
        "best": [x for _, x in reversed(ordered[-3:])],
        "worst": [x for _, x in ordered[:3]],
        "both": (min(values, default=None), sum(values) / len(values) if some else None),
        "squares": sum(v * v for v in values) if some else None,
    }


def slope(points):
    n, sx, sy = len(points), sum(x for _, x in points), sum(v for v, _ in points)
    along = n * sum(x * x for _, x in points) - sx * sx
    return float(Fraction(n * sum(x * v for v, x in points) - sx * sy, along)) if along else None


def shown(name, value):
    if name in ("values", "different"):
        return sorted(value)
    return tuple(value) if name == "both" else value


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(events=st.lists(EVENT, min_size=1, max_size=40))
@pytest.mark.long
def test_any_split_gives_the_result_of_all(spark, events):
    aggregation = Aggregation(Node(WindowSpec(("group",), ps.tumbling("1 s"), ("ts",), (AGGREGATES,)), "all"), (AGGREGATES,))
    rows = [(part, group, v, x, ts) for part, group, v, x, ts in events]
    frame = spark.createDataFrame(rows, "part int, group int, v bigint, x bigint, ts bigint")
    frame = frame.withColumn("ts", F.timestamp_micros("ts"))
    lifted, _ = aggregation.stable(frame.select("part", "group", *aggregation.lifted(frame, AGGREGATES, "ts")))
    by_part = aggregation.combined(lifted, ("group",), "part", of_rows=True)
    half = by_part.withColumn("half", F.col("part") % 2)
    by_half = aggregation.combined(half, ("group",), "half", of_rows=False)
    whole = aggregation.combined(by_half.withColumn("one", F.lit(1)), ("group",), "one", of_rows=False)
    got = {row.group: row for row in whole.select("group", *aggregation.results(spark)).collect()}
    for group in {group for _, group, _, _, _ in events}:
        wanted = expected([(v, x, ts) for _, own, v, x, ts in events if own == group])
        for name, value in wanted.items():
            found = shown(name, got[group][name])
            if isinstance(value, float) and found is not None:
                assert found == pytest.approx(value, rel=1e-9, abs=1e-9), name
            else:
                assert found == (tuple(map(approximately, value)) if name == "both" else value), name


def approximately(value):
    return pytest.approx(value) if isinstance(value, float) else value
