"""Every stateful stage, over events that plain Python computes too, with a stop and a start from the snapshot between."""

from collections import defaultdict

import pytest
from pyspark.sql import functions as F

import pitstop as ps
from pitstop.kit.waiting import wait_until
from tests.spark.harness import Collected, Harness, numbers
from tests.spark.kinds import processed
from tests.spark.own_code import Counting
from tests.spark.sequence import SCHEMA, Sequence, events, expected_sessions, expected_windows, millis

pytestmark = [pytest.mark.spark, pytest.mark.rules]

ROWS, KEYS = 80_000, 50


@pytest.fixture
def harness(spark, tmp_path):
    return Harness(spark, tmp_path)


def twice(harness, build):
    """Rows of a version that is stopped after 40,000 events and started again from its snapshot."""
    first, second = Collected(), Collected()
    harness.run(build(first), until=40_000)
    harness.run(build(second))
    return first.rows + second.rows


def test_sessions_end_their_timeout_after_the_last_event_of_their_key(harness):
    def build(sink):
        p = ps.Pipeline()
        stage = numbers(p, burst=10_000, pause=15_000).group_by("key").window(ps.session("5 seconds"))
        stage.aggregate("visits", n=ps.count(), total=ps.sum("v")).write_to(ps.sinks.custom(sink), name="out")
        return p

    got = [(r.key, millis(r.window_start), millis(r.window_end), r.n, r.total) for r in twice(harness, build)]
    closed = max(end for _, _, end, _, _ in got)
    expected = [s for s in expected_sessions(events(ROWS, KEYS, 10_000, 15_000), 5000) if s[2] <= closed]
    assert sorted(got) == sorted(expected)
    assert len(got) == 7 * KEYS


def test_a_branch_in_which_no_row_passes_holds_no_window_of_others_back(harness):
    sink, p = Collected(), ps.Pipeline()
    one = numbers(p, step=10_000)
    one.group_by("key").window(ps.tumbling("10 seconds")).aggregate("all", n=ps.count()).write_to(
        ps.sinks.custom(sink), name="out"
    )
    rare = one.filter("v > 100").group_by("key").window(ps.tumbling("10 seconds")).aggregate("rare", n=ps.count())
    rare.write_to(ps.sinks.noop(), name="rare-out")
    harness.run(p)
    until = max(millis(row.window_end) for row in sink.rows)
    got = {(r.key, millis(r.window_start), millis(r.window_end)): r.n for r in sink.rows}
    assert got == {window: n for window, (n, _) in expected_windows(ROWS, KEYS, 10_000, 10_000, until).items()}
    assert len(sink.rows) == 7 * KEYS


def test_rolling_aggregates_tell_each_row_what_there_was_so_far(harness):
    def build(sink):
        p = ps.Pipeline()
        stage = (
            numbers(p)
            .group_by("key")
            .rolling_aggregate(
                "rolling",
                n=ps.count(),
                total=ps.sum("v"),
                mean=ps.avg("v"),
                high=ps.max("v"),
                top=ps.top_n(2, "seq", "v"),
                last=ps.last("seq"),
            )
        )
        stage.write_to(ps.sinks.custom(sink), name="out")
        return p

    state, expected = defaultdict(list), {}
    for n, key, v, _ in events(ROWS, KEYS):
        own = state[key]
        own.append((v, n))
        total = sum(value for value, _ in own) if len(own) < 3 else expected[own[-2][1]][1] + v
        expected[n] = (len(own), total)
    rows = twice(harness, build)
    assert len(rows) == ROWS
    assert {row.seq: (row.n, row.total) for row in rows} == expected
    some = [row for row in rows if row.seq % 997 == 0]
    for row in some:
        own = [(v, n) for v, n in state[row.key] if n <= row.seq]
        assert (row.high, row.last) == (max(own)[0], row.seq)
        assert row.mean == pytest.approx(sum(v for v, _ in own) / len(own))
        assert row.top == [n for _, n in sorted(own, reverse=True)[:2]]


def test_state_of_ones_own_goes_on_and_rows_come_in_the_order_of_event_time(harness):
    def step(state, row):
        before, state.last, state.n = state.last, row.seq, (state.n or 0) + 1
        return None if state.n % 2 else {"seq": row.seq, "n": state.n, "before": before}

    def build(sink):
        p = ps.Pipeline()
        stage = (
            numbers(p).group_by("key").map_stateful("pairs", step, "n bigint, last bigint", "seq bigint, n bigint, before bigint")
        )
        stage.write_to(ps.sinks.custom(sink), name="out")
        return p

    own, expected = defaultdict(list), set()
    for n, key, _, _ in events(ROWS, KEYS):
        own[key].append(n)
        if len(own[key]) % 2 == 0:
            expected.add((key, n, len(own[key]), own[key][-2]))
    got = [(r.key, r.seq, r.n, r.before) for r in twice(harness, build)]
    assert len(got) == len(expected)
    assert set(got) == expected


def test_state_of_ones_own_needs_no_event_time(harness):
    def step(state, row):
        state.n = (state.n or 0) + 1
        return (row.seq, state.n)

    def build(sink):
        p = ps.Pipeline()
        source = p.read_from(ps.sources.custom(Sequence, schema=SCHEMA, rows=4_000, step=2_000, keys=5), name="numbers")
        stage = source.group_by("key").map_stateful("counts", step, "n bigint", "seq bigint, n bigint")
        stage.write_to(ps.sinks.custom(sink), name="out")
        return p

    first, second = Collected(), Collected()
    harness.run(build(first), until=2_000)
    harness.run(build(second))
    for part, events_of_part in ((first, range(2_000)), (second, range(2_000, 4_000))):
        assert sorted(row.seq for row in part.rows) == list(events_of_part)
    assert max(row.n for row in second.rows) == 800


def test_state_is_evicted_its_time_to_live_after_the_last_event(harness):
    def step(state, row):
        state.n = (state.n or 0) + 1

    def evict(state, key, time):
        return (state.n, time)

    def build(sink):
        p = ps.Pipeline()
        grouped = numbers(p, burst=10_000, pause=15_000).group_by("key")
        stage = grouped.map_stateful("visits", step, "n bigint", "n bigint, at bigint", ttl="5 seconds", on_evict=evict)
        stage.write_to(ps.sinks.custom(sink), name="out")
        return p

    sessions = expected_sessions(events(ROWS, KEYS, 10_000, 15_000), 5000)
    got = [(row.key, row.at, row.n) for row in twice(harness, build)]
    assert sorted(got) == sorted((key, end, n) for key, _, end, n, _ in sessions if end < max(s[2] for s in sessions) - 15_000)


def test_distinct_gives_the_first_row_of_each_key_once(harness):
    def build(sink):
        p = ps.Pipeline()
        numbers(p).group_by("key", "v").distinct("seen").write_to(ps.sinks.custom(sink), name="out")
        return p

    got = [(row.key, row.v) for row in twice(harness, build)]
    assert sorted(got) == sorted({(key, v) for _, key, v, _ in events(ROWS, KEYS)})


def test_distinct_within_a_time_forgets_older_rows(harness):
    def build(sink):
        p = ps.Pipeline()
        timed = numbers(p, rows=40_000, step=2500, burst=10_000, pause=30_000)
        timed.group_by("key").distinct("seen", within="20 seconds").write_to(ps.sinks.custom(sink), name="out")
        return p

    first, second = Collected(), Collected()
    harness.run(build(first), until=20_000)
    harness.run(build(second))
    got = defaultdict(list)
    for row in first.rows + second.rows:
        got[row.key].append(row.seq // 10_000)
    assert {tuple(bursts) for bursts in got.values()} == {(0, 1, 2, 3)}


@pytest.mark.parametrize("how", ["inner", "left"])
def test_two_streams_are_joined_within_a_time(harness, how):
    def build(sink):
        p = ps.Pipeline()
        orders = numbers(p, "orders", keys=1000).filter("seq % 100 = 0").select("key", "ts", "seq")
        visits = numbers(p, "visits", keys=1000).filter("seq % 100 = 0 and key < 500")
        visits = visits.select("key", "v", F.col("ts").alias("at"), F.col("seq").alias("visit"))
        orders.join("both", visits, on="key", within="3 seconds", how=how).write_to(ps.sinks.custom(sink), name="out")
        return p

    chosen = [(n, key, ms) for n, key, _, ms in events(ROWS, 1000) if n % 100 == 0]
    rows = twice(harness, build)
    got = sorted((row.seq, row.visit) for row in rows if row.visit is not None)
    by_key = defaultdict(list)
    for n, key, ms in chosen:
        if key < 500:
            by_key[key].append((n, ms))
    pairs = sorted((n, m) for n, key, ms in chosen for m, at in by_key[key] if abs(at - ms) <= 3000)
    assert got == pairs
    alone = {row.seq for row in rows if row.visit is None}
    expected = {n for n, key, _ in chosen if key >= 500}
    if how == "inner":
        assert not alone
    else:
        assert alone <= expected
        assert len(expected - alone) < 100


def test_rows_of_a_join_find_their_match_in_a_version_with_a_stage_more_and_other_partitions(harness):
    def build(sink, more):
        p = ps.Pipeline()
        orders = numbers(p, "orders", keys=1000).filter("seq % 100 = 0").select("key", "ts", "seq")
        visits = numbers(p, "visits", keys=1000).filter("seq % 100 = 0").select("key", "ts as at", "seq as visit")
        if more:
            numbers(p, "orders-too").group_by("key").distinct("seen").write_to(ps.sinks.noop(), name="seen-out")
        orders.join("both", visits, on="key", within="3 seconds").write_to(ps.sinks.custom(sink), name="out")
        return p

    first, second = Collected(), Collected()
    harness.run(build(first, more=False), until=40_000)
    assert harness.run(build(second, more=True), partitions=3).way == "rebuild"
    by_key = defaultdict(list)
    for n, key, _, ms in events(ROWS, 1000):
        if n % 100 == 0:
            by_key[key].append((n, ms))
    pairs = sorted((n, m) for own in by_key.values() for n, ms in own for m, at in own if abs(at - ms) <= 3000)
    assert sorted((row.seq, row.visit) for row in first.rows + second.rows) == pairs
    assert any(row.visit < 40_000 <= row.seq for row in second.rows)


def test_two_joins_of_the_same_rows_both_tell_which_have_no_match(harness):
    sinks, p = {2: Collected(), 3: Collected()}, ps.Pipeline()
    orders = numbers(p, "orders", rows=9_000, step=3_000).filter("seq % 150 = 30").select("key", "ts", "seq")
    visits = numbers(p, "visits", rows=9_000, step=3_000).filter("seq % 100 = 10")
    visits = visits.select("key + 1000 as key", "ts as at", "seq as visit")
    for seconds, sink in sinks.items():
        both = orders.join(f"within-{seconds}", visits, on="key", within=f"{seconds} seconds", how="left")
        both.write_to(ps.sinks.custom(sink), name=f"out-{seconds}")
    harness.run(p, partitions=1)
    for seconds, sink in sinks.items():
        # The last visit is event 8,910; the watermark follows it, or the last order, by two seconds.
        over = [seq for seq in range(30, 9_000, 150) if seq + seconds * 1_000 < 8_880 - 2_000]
        assert sorted(row.seq for row in sink.rows)[: len(over)] == over


def test_timers_of_two_operators_on_the_same_rows_both_fire(harness):
    sinks, p = [Collected(), Collected()], ps.Pipeline()
    # The pauses between three epochs take the watermark past the timers.
    rows = numbers(p, rows=9_000, step=3_000, keys=7, burst=3_000, pause=15_000).select("*", "unix_millis(ts) as ms")
    for number, sink in enumerate(sinks):
        rows.stateful(f"own {number}", processed(Counting, "eventTime")).write_to(ps.sinks.custom(sink), name=f"out {number}")
    harness.run(p)
    for sink in sinks:
        assert sorted(row.key for row in sink.rows if row.seq == -1) == list(range(7))


def test_streams_are_aggregated_together_by_key(harness):
    def build(sink):
        p = ps.Pipeline()
        left, right = numbers(p, "left"), numbers(p, "right", keys=25).with_columns(who="key")
        third = numbers(p, "third", keys=10)
        both = ps.co_group(a=left.group_by("key"), b=right.group_by("who"), c=third.group_by("key"))
        stage = both.window(ps.tumbling("10 seconds")).aggregate(
            "together", a={"n": ps.count()}, b={"m": ps.count(), "total": ps.sum("v")}, c={"high": ps.max("seq")}
        )
        stage.write_to(ps.sinks.custom(sink), name="out")
        return p

    rows = twice(harness, build)
    until = max(millis(row.window_end) for row in rows)
    left = expected_windows(ROWS, KEYS, 10_000, 10_000, until)
    right = expected_windows(ROWS, 25, 10_000, 10_000, until)
    third = expected_windows(ROWS, 10, 10_000, 10_000, until)
    got = {(r.key, millis(r.window_start), millis(r.window_end)): (r.n, r.m, r.total, r.high is not None) for r in rows}
    assert len(got) == len(rows)
    assert got == {
        window: (n, right.get(window, (0, None))[0], right.get(window, (0, None))[1], window in third)
        for window, (n, _) in left.items()
    }


def test_a_table_in_memory_enriches_rows_and_is_no_state(harness):
    def build(sink):
        p = ps.Pipeline()
        names = p.read_from(ps.sources.items([(k, f"name {k}") for k in range(25)], "key bigint, name string"), name="names")
        numbers(p, keys=50).hash_join(names, on="key").write_to(ps.sinks.custom(sink), name="out")
        return p

    rows = twice(harness, build)
    assert len(rows) == ROWS
    assert all(row.name == (f"name {row.key}" if row.key < 25 else None) for row in rows)


def test_a_table_in_memory_is_read_again_when_it_is_old(spark, tmp_path):
    table, sink = tmp_path / "table.csv", Collected()
    table.write_text("1,before\n")
    p = ps.Pipeline()
    side = p.read_from(ps.sources.files(table, format="csv", schema="one bigint, name string"), name="side")
    ticks = p.read_from(ps.sources.rate(20), name="ticks").with_columns(one="cast(1 as bigint)")
    ticks.hash_join(side, on="one", refresh="2 seconds").write_to(ps.sinks.custom(sink), name="out")
    job = ps.run(p, spark, data_dir=tmp_path / "data")
    assert wait_until(lambda: sink.rows, 60)
    table.write_text("1,after\n")
    assert wait_until(lambda: any(row.name == "after" for row in sink.rows), 60)
    job.stop()
    rows = sorted(sink.rows, key=lambda row: row.sequence)
    assert [row.sequence for row in rows] == list(range(len(rows)))
    assert [row.name for row in rows] == sorted((row.name for row in rows), reverse=True)


def test_spark_code_of_ones_own_is_restored_by_the_name_of_its_stage(harness):
    def counted(frame):
        unique = frame.dropDuplicates(["key", "ts"])
        return unique.groupBy("key", F.window("ts", "10 seconds")).agg(F.count("*").alias("n"))

    def build(sink):
        p = ps.Pipeline()
        numbers(p).stateful("mine", counted).write_to(ps.sinks.custom(sink), name="out")
        return p

    rows = twice(harness, build)
    until = max(millis(row.window.end) for row in rows)
    got = {(row.key, millis(row.window.start), millis(row.window.end)): row.n for row in rows}
    assert len(got) == len(rows)
    assert got == {window: n for window, (n, _) in expected_windows(ROWS, KEYS, 10_000, 10_000, until).items()}
