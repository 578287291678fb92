"""Full and semi joins of two streams agree with plain Python, go on in changed versions, and count what they leave out."""

import random
from collections import Counter
from datetime import datetime, timedelta

import pytest

import pitstop as ps
from pitstop.errors import PipelineError, PitstopError, UsageError
from tests.spark.harness import Collected

pytestmark = [pytest.mark.spark, pytest.mark.timeout(400)]

START = datetime(2026, 1, 1, 12)
WITHIN = timedelta(seconds=10)
ORDERS, PAYMENTS = "k string, n bigint, ts timestamp", "k string, paid bigint, seen timestamp"


@pytest.fixture(scope="session")
def pitstop_spark(spark):
    return spark


def rows(seed, count=60):
    """Rows over five minutes, some without a key or a time; several of a key are near one another."""
    draw = random.Random(seed)
    result = []
    for number in range(count):
        time = START + timedelta(seconds=number * 5 + draw.randrange(5))
        lacks = draw.random()
        result.append((None if lacks < 0.05 else draw.choice("abc"), number, None if lacks > 0.95 else time))
    return result


def by_python(how, orders, payments):
    """Return the rows of a join by plain Python; those of one side alone are there for full."""

    def fit(order, payment):
        complete = None not in (order[0], order[2], payment[0], payment[2])
        return complete and order[0] == payment[0] and abs(order[2] - payment[2]) <= WITHIN

    if how == "semi":
        return Counter(order for order in orders if any(fit(order, payment) for payment in payments))
    pairs = [(*order, *payment[1:]) for order in orders for payment in payments if fit(order, payment)]
    pairs += [(*order, None, None) for order in orders if not any(fit(order, payment) for payment in payments)]
    pairs += [(k, None, None, n, ts) for k, n, ts in payments if not any(fit(order, (k, n, ts)) for order in orders)]
    return Counter(pairs)


def joined(how, more=False, name="pairs"):
    """Return a job of two streams; ``more``: with another stage with state beside the join."""
    p = ps.Pipeline()
    orders = p.read_from(ps.sources.csv_tail("orders", schema=ORDERS), name="orders").with_timestamps("ts")
    payments = p.read_from(ps.sources.csv_tail("payments", schema=PAYMENTS), name="payments").with_timestamps("seen")
    orders.join(name, payments, on="k", within=WITHIN, how=how).write_to(ps.sinks.noop(), name="out")
    if more:
        orders.group_by("k").rolling_aggregate("counts", c=ps.count()).write_to(ps.sinks.noop(), name="counts-out")
    return p


@pytest.mark.long
@pytest.mark.parametrize("how", ["full", "semi"])
def test_a_batch_agrees_with_python(spark, how):
    p, sink, orders, payments = ps.Pipeline(), Collected(), rows(1), rows(2)
    left = p.read_from(ps.sources.items(orders, ORDERS), name="orders").with_timestamps("ts")
    right = p.read_from(ps.sources.items(payments, PAYMENTS), name="payments").with_timestamps("seen")
    left.join("pairs", right, on="k", within=WITHIN, how=how).write_to(ps.sinks.custom(sink), name="out")
    ps.run(p, spark)
    assert Counter(map(tuple, sink.rows)) == by_python(how, orders, payments)


@pytest.mark.long
@pytest.mark.parametrize("how", ["full", "semi"])
def test_a_stream_agrees_with_python_through_a_crash_and_an_update_that_moves_its_state(job_test, how):
    test, orders, payments = job_test(joined(how)), rows(1), rows(2)
    for number, begin in enumerate(range(0, 60, 20)):
        test.push("orders", orders[begin : begin + 20])
        test.push("payments", payments[begin : begin + 20])
        test.crash() if number == 1 else test.epoch()
        if number == 1:
            report = test.upgrade(joined(how, more=True), partitions=3)
            assert report.of("restored") == ("orders", "payments", "pairs")
    test.advance_time("1 minute")
    results, expected = Counter(tuple(row.values()) for row in test.rows("out")), by_python(how, orders, payments)
    assert (results - expected, expected - results) == (Counter(), Counter())


@pytest.mark.long
def test_windows_behind_a_full_join_count_its_rows_by_the_time_of_either_side(job_test):
    p, orders, payments = ps.Pipeline(), rows(3), rows(4)
    left = p.read_from(ps.sources.csv_tail("orders", schema=ORDERS), name="orders").with_timestamps("ts")
    right = p.read_from(ps.sources.csv_tail("payments", schema=PAYMENTS), name="payments").with_timestamps("seen")
    pairs = left.join("pairs", right, on="k", within=WITHIN, how="full").with_timestamps("coalesce(ts, seen) AS at")
    pairs.group_by().window(ps.tumbling("1 minute")).aggregate("minutes", n=ps.count()).write_to(ps.sinks.noop(), name="out")
    test = job_test(p)
    for begin in range(0, 60, 20):
        test.push("orders", orders[begin : begin + 20])
        test.push("payments", payments[begin : begin + 20])
        test.epoch()
    test.advance_time("3 minutes")
    times = [(ts or seen, n) for (_, _, ts, _, seen), n in by_python("full", orders, payments).items()]
    expected = Counter()
    for time, n in times:
        if time is not None:
            expected[time.replace(second=0)] += n
    assert {row["window_start"]: row["n"] for row in test.rows("out")} == expected


@pytest.mark.long
def test_a_join_of_another_kind_does_not_take_the_state_over(job_test):
    test = job_test(joined("semi"))
    test.push("orders", [("a", 1, START)])
    test.epoch()
    with pytest.raises(PitstopError, match="its join was semi and is now full"):
        test.upgrade(joined("full"))


def test_what_a_join_cannot_be_is_refused():
    with pytest.raises(UsageError, match="a join of two streams is inner, left, full or semi, not 'anti'"):
        joined("anti")
    p = ps.Pipeline()
    one = p.read_from(ps.sources.rate(1), name="one").with_timestamps("time")
    two = p.read_from(ps.sources.rate(1), name="two").with_timestamps("time").select("sequence", "time AS seen")
    full = one.join("pairs", two, on="sequence", within="1 s", how="full")
    assert full.timestamp_column() is None
    with pytest.raises(PipelineError, match="Stage 'w' needs event time"):
        full.group_by("sequence").window(ps.tumbling("1 s")).aggregate("w", n=ps.count())
