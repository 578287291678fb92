"""Aggregates at the ends of every type, against plain Python."""

import math
import struct
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pyspark.sql import functions as F

import pitstop as ps
from pitstop.pipeline.nodes import Node
from pitstop.pipeline.specs import RollingSpec, WindowSpec
from pitstop.spark.lowering.rolling import lower_rolling
from pitstop.spark.lowering.window import Aggregation
from tests.spark.harness import Collected, Harness, numbers
from tests.spark.sequence import events, millis

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]

MOST = 2**63 - 1
NAN = math.nan


def whole(bits):
    least, most = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
    return st.sampled_from([least, least + 1, -1, 0, 1, most - 1, most]) | st.integers(least, most)


def doubles(width):
    ends = [0.0, -0.0, math.inf, -math.inf, NAN, 5e-324, -5e-324, 1.7976931348623157e308, 1e-308, 1.0]
    odd = struct.unpack(">d", bytes.fromhex("fff8000000000123"))[0]  # a NaN with another sign and payload
    some = [odd, *ends] if width == 64 else [0.0, -0.0, math.inf, -math.inf, NAN, 2.0**-149, 3.4028234663852886e38, 1.0]
    return st.sampled_from(some) | st.floats(width=width)


MOMENTS = st.sampled_from(
    [datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC), datetime(1969, 12, 31, tzinfo=UTC)]
) | st.datetimes(timezones=st.just(UTC))
DECIMALS = st.sampled_from([10**38 - 1, 1 - 10**38, 0, 1]) | st.integers(1 - 10**38, 10**38 - 1)
TYPES = {
    "tiny": ("tinyint", whole(8)),
    "small": ("smallint", whole(16)),
    "plain": ("int", whole(32)),
    "big": ("bigint", whole(64)),
    "exact": ("decimal(38,0)", DECIMALS.map(Decimal)),
    "fine": ("decimal(38,38)", DECIMALS.map(lambda n: Decimal(f"{n}E-38"))),
    "single": ("float", doubles(32)),
    "double": ("double", doubles(64)),
    "day": ("date", st.sampled_from([date.min, date.max]) | st.dates()),
    "moment": ("timestamp", MOMENTS),
    "span": ("interval day to second", st.timedeltas(timedelta(days=-106751991), timedelta(days=106751991))),
    "flag": ("boolean", st.booleans()),
}
VALUE = st.tuples(*[st.none() | values for _, values in TYPES.values()])
GROUPS = st.lists(st.lists(VALUE, min_size=1, max_size=6), min_size=25, max_size=40)


def aggregates_of(name):
    return {
        f"{name}_rows": ps.count(),
        f"{name}_n": ps.count(name),
        f"{name}_low": ps.min(name),
        f"{name}_high": ps.max(name),
        f"{name}_low_by": ps.min_by(name, name),
        f"{name}_high_by": ps.max_by("number", name),
        f"{name}_top": ps.top_n(3, "number", name),
        f"{name}_bottom": ps.bottom_n(3, name, name),
        f"{name}_first": ps.first(name),
        f"{name}_list": ps.collect_list(name),
        f"{name}_set": ps.collect_set(name),
        f"{name}_distinct": ps.count_distinct(name),
        f"{name}_about": ps.approx_count_distinct(name),
    }


def order(value):
    """Spark's: null first, NaN last, and 0.0 is -0.0."""
    if value is None:
        return (0,)
    if isinstance(value, float) and math.isnan(value):
        return (2,)
    return (1, value)


def alike(value):
    """A value as it compares: any NaN is itself, and -0.0 is 0.0."""
    if isinstance(value, list):
        return [alike(item) for item in value]
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else value + 0.0
    return value


def expected_of(name, values):
    """``values`` are those of a group, in the order of event time."""
    known = [(value, number) for number, value in enumerate(values) if value is not None]
    ranked = sorted(known, key=lambda pair: (order(pair[0]), pair[1]))
    different = sorted({(order(value), alike(value)) for value, _ in known})
    return {
        f"{name}_rows": len(values),
        f"{name}_n": len(known),
        f"{name}_low": ranked[0][0] if known else None,
        f"{name}_high": ranked[-1][0] if known else None,
        f"{name}_low_by": ranked[0][0] if known else None,
        f"{name}_high_by": ranked[-1][1] if known else None,
        f"{name}_top": [number for _, number in ranked[::-1][:3]],
        f"{name}_bottom": [value for value, _ in ranked[:3]],
        f"{name}_first": values[0],
        f"{name}_list": [value for value, _ in ranked],
        f"{name}_set": [value for _, value in different],
        f"{name}_distinct": len(different),
        f"{name}_about": len(different),
    }


def frame_of(spark, groups, types):
    """(group, part, number, ts, a column for each type) of groups of rows; intervals are made of seconds and microseconds."""
    schema = "group int, part int, number bigint, ts timestamp, " + ", ".join(
        f"{name} {kind}" for name, (kind, _) in types.items()
    )
    rows = [
        (group, number % 3, number, datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=number), *row)
        for group, own in enumerate(groups)
        for number, row in enumerate(own)
    ]
    return spark.createDataFrame(rows, schema)


def computed(spark, frame, aggregates):
    """The results by group, of parts that are combined twice."""
    node = Node(WindowSpec(("group",), ps.tumbling("1 s"), ("ts",), (aggregates,)), "all")
    aggregation = Aggregation(node, (aggregates,), strict=True)
    lifted, _ = aggregation.stable(frame.select("part", "group", *aggregation.lifted(frame, aggregates, "ts")))
    by_part = aggregation.combined(lifted, ("group",), "part", of_rows=True)
    whole = aggregation.combined(by_part.withColumn("one", F.lit(1)), ("group",), "one", of_rows=False)
    # By Arrow: PySpark's own way to datetimes stumbles over the year 1.
    return {row["group"]: row for row in whole.select("group", *aggregation.results(spark)).toArrow().to_pylist()}


def rolled(spark, frame, aggregates):
    """The same after the last row of each group, rolling."""
    node = Node(RollingSpec(("group",), aggregates, "ts"), "all")
    rows, _ = lower_rolling(node, node.spec, frame, strict=True)
    last = {}
    for row in rows.toArrow().to_pylist():
        if row["number"] >= last.get(row["group"], row)["number"]:
            last[row["group"]] = row
    return last


def differences(found, wanted):
    """Name -> (found, wanted) of what differs."""
    wrong = {}
    for name, value in wanted.items():
        got = found[name]
        if name.endswith(("_list", "_set")):
            got = sorted(got, key=order)
        if alike(got) != alike(value):
            wrong[name] = (got, value)
    return wrong


@pytest.mark.long
@settings(max_examples=2, deadline=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
@given(GROUPS)
def test_values_at_the_ends_of_every_type_are_ordered_and_counted_as_they_are(spark, groups):
    aggregates = {name: each for column in TYPES for name, each in aggregates_of(column).items()}
    frame = frame_of(spark, groups, TYPES)
    by_window = computed(spark, frame, aggregates)
    rolling = rolled(spark, frame, {name: each for name, each in aggregates.items() if not name.endswith("_about")})
    for group, rows in enumerate(groups):
        for place, column in enumerate(TYPES):
            wanted = expected_of(column, [row[place] for row in rows])
            assert differences(by_window[group], wanted) == {}, (group, column)
            wanted.pop(f"{column}_about")
            assert differences(rolling[group], wanted) == {}, (group, column)


def summable(values, least, most):
    """True if the sum of these numbers is within the ends, in whichever order they are added."""
    ups, downs = sum(v for v in values if v > 0), sum(v for v in values if v < 0)
    return ups <= most and downs >= least


SUMS = {
    "tiny": ("tinyint", whole(8), MOST, 1),
    "small": ("smallint", whole(16), MOST, 1),
    "plain": ("int", whole(32), MOST, 1),
    "big": ("bigint", whole(64), MOST, 1),
    "exact": ("decimal(38,0)", DECIMALS, 10**38 - 1, 1),
    "fine": ("decimal(38,38)", DECIMALS, 10**38 - 1, 10**38),
    "small_exact": ("decimal(5,2)", st.integers(-99999, 99999), 10**38 - 1, 100),
}


def written(value, column):
    kind, _, _, one = column
    digits = len(str(one)) - 1
    return Decimal(f"{value}E-{digits}") if kind.startswith("decimal") and value is not None else value


@settings(max_examples=2, deadline=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
@given(st.data())
@pytest.mark.long
def test_sums_up_to_the_ends_are_exact(spark, data):
    groups = []
    for _ in range(30):
        columns = []
        for _, values, most, _ in SUMS.values():
            column = data.draw(st.lists(st.none() | values, min_size=4, max_size=4))
            while not summable([v for v in column if v is not None], -most - (most == MOST), most):
                column[next(n for n, v in enumerate(column) if v is not None)] = None
            columns.append(column)
        groups.append(list(zip(*columns, strict=True)))
    shown = [[tuple(map(written, row, SUMS.values())) for row in rows] for rows in groups]
    aggregates = {f"{name}_sum": ps.sum(name) for name in SUMS} | {f"{name}_mean": ps.avg(name) for name in SUMS}
    frame = frame_of(spark, shown, {name: (kind, None) for name, (kind, *_) in SUMS.items()})
    for got in (computed(spark, frame, aggregates), rolled(spark, frame, aggregates)):
        check_sums(groups, got)


def check_sums(groups, got):
    for group, rows in enumerate(groups):
        for place, (name, (_, _, _, one)) in enumerate(SUMS.items()):
            known = [row[place] for row in rows if row[place] is not None]
            found = got[group][f"{name}_sum"]
            assert found is None if not known else Fraction(found) == Fraction(sum(known), one), (group, name)
            mean = got[group][f"{name}_mean"]
            largest = max(map(abs, known), default=0) / one
            assert (
                mean is None
                if not known
                else math.isclose(mean, Fraction(sum(known), len(known) * one), rel_tol=1e-12, abs_tol=1e-15 * largest)
            ), (group, name)


def slope(points):
    n, sx, sy = len(points), sum(x for x, _ in points), sum(y for _, y in points)
    along = n * sum(x * x for x, _ in points) - sx * sx
    return float(Fraction(n * sum(x * y for x, y in points) - sx * sy, along)) if along else None


def points_near(x, spread, most):
    xs = st.integers(0, spread).map(lambda d: x + d)
    return st.lists(st.tuples(xs, st.integers(-most, most)), min_size=1, max_size=12)


POINTS = [
    points_near(1_767_225_600_000_000, 60_000_000, 10**6),  # microseconds of a minute
    points_near(1_767_225_600_000_000_000, 60 * 10**9, 100),  # nanoseconds
    points_near(-62_135_596_800_000_000, 2, 2**62),  # the year 1
    points_near(0, 3, 3),
    points_near(-(2**60), 2**61, 2**60),
]
LONG_POINTS = [*POINTS, points_near(-(2**63), 2**64 - 1, MOST), points_near(MOST - 5, 5, MOST), points_near(-(2**63), 1, 1)]


@pytest.mark.long
@pytest.mark.parametrize(("wide", "points"), [(False, POINTS), (True, LONG_POINTS)], ids=["as it is", "wide"])
def test_slopes_are_exact_however_far_from_nothing_their_points_are(spark, wide, points):
    @settings(max_examples=2, deadline=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
    @given(st.lists(st.one_of(*points), min_size=60, max_size=60))
    def check(groups):
        frame = frame_of(spark, groups, {"x": ("bigint", None), "y": ("bigint", None)})
        trend = {"trend": ps.linear_trend("x", "y", wide=wide)}
        for got in (computed(spark, frame, trend), rolled(spark, frame, trend)):
            for group, own in enumerate(groups):
                wanted = slope(own)
                assert got[group]["trend"] == (None if wanted is None else pytest.approx(wanted, rel=1e-14, abs=0)), own

    check()


@pytest.mark.long
@pytest.mark.parametrize(
    ("begin", "wide"), [(1_767_225_600_000_000, False), (1_767_225_600_000_000_000, True)], ids=["microseconds", "nanoseconds"]
)
def test_a_trend_over_time_takes_a_window_of_many_events(spark, begin, wide):
    n = 50_000
    frame = spark.range(n).selectExpr(
        "0 as group",
        "cast(id % 3 as int) as part",
        "timestamp '2026-01-01' as ts",
        f"{begin} + id * 300 as x",
        "id * 7 + id % 2 as y",
    )
    got = computed(spark, frame, {"trend": ps.linear_trend("x", "y", wide=wide)})[0]["trend"]
    assert got == pytest.approx(slope([(begin + i * 300, i * 7 + i % 2) for i in range(n)]), rel=1e-14)


ALL, CUT, STEP, EACH = 40_000, 20_000, 10_000, 5
BEGIN = 1_767_225_600_000_000


def trends(sinks, wide, rows):
    p = ps.Pipeline()
    source = numbers(p, rows=rows, step=STEP, keys=EACH).with_columns(x=f"{BEGIN} + seq * 1000")
    trend = ps.linear_trend("x", "v * v", wide=wide)
    windows = source.group_by("key").window(ps.sliding("4 seconds", slide="2 seconds"))
    sinks["windows"], sinks["rolled"] = Collected(), Collected()
    windows.aggregate("windows", n=ps.count(), trend=trend).write_to(ps.sinks.custom(sinks["windows"]), name="to windows")
    rolled = source.group_by("key").rolling_aggregate("rolled", trend=trend)
    rolled.write_to(ps.sinks.custom(sinks["rolled"]), name="to rolled")
    return p


@pytest.mark.long
def test_a_wide_trend_goes_on_from_the_sums_of_a_plain_one(spark, tmp_path):
    harness, before, after = Harness(spark, tmp_path), {}, {}
    harness.run(trends(before, False, ALL), until=CUT)
    report = harness.run(trends(after, True, ALL))
    assert {line.stage: line.verdict.value for line in report.lines if line.stage in before} == dict.fromkeys(before, "converted")
    happened = [(BEGIN + seq * 1000, v * v, key, ms, seq) for seq, key, v, ms in events(ALL, EACH)]
    windows = before["windows"].rows + after["windows"].rows
    assert len({(row.key, row.window_start) for row in windows}) == len(windows) > 2 * EACH
    for row in windows:
        start, end = millis(row.window_start), millis(row.window_end)
        own = [(x, y) for x, y, key, ms, _ in happened if key == row.key and start <= ms < end]
        assert (row.n, row.trend) == (len(own), pytest.approx(slope(own), rel=1e-14))
    last = {row.key: row for row in after["rolled"].rows}
    for key, row in last.items():
        own = [(x, y) for x, y, other, _, seq in happened if other == key and seq <= row.seq]
        assert len(own) > ALL / EACH * 0.9
        assert row.trend == pytest.approx(slope(own), rel=1e-14)


@pytest.mark.parametrize("kind", ["double", "float", "array<double>", "struct<a:int,b:array<float>>", "map<int,double>"])
def test_both_zeros_and_all_nans_are_about_one_value(spark, kind):
    made = {
        "double": "{}",
        "float": "{}",
        "array<double>": "array({}, 1.5D)",
        "struct<a:int,b:array<float>>": "struct(1 as a, array({}) as b)",
        "map<int,double>": "map(1, {})",
    }[kind]
    number, texts = "float" if "float" in kind else "double", ["0.0", "-0.0", "NaN", "NaN", "1"]
    values = [made.format(f"cast('{text}' as {number})") for text in texts]
    rows = [f"({n}, {value})" for n, value in enumerate(values)]
    frame = spark.sql(f"select 0 as group, 0 as part, timestamp '2026-01-01' as ts, v from values {', '.join(rows)} as t(n, v)")
    assert computed(spark, frame, {"about": ps.approx_count_distinct("v")})[0]["about"] == 3
