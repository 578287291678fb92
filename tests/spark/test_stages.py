"""Every stateful stage, over events that plain Python computes too, with a stop and a start from the snapshot between."""

from collections import defaultdict
from collections.abc import Callable, Iterable

import pytest
from pyspark.sql import functions as F

import pitstop as ps
from pitstop.kit.waiting import wait_until
from tests.spark.harness import Collected, Harness, numbers
from tests.spark.kinds import processed
from tests.spark.own_code import Counting
from tests.spark.sequence import SCHEMA, Sequence, events, expected_sessions, expected_windows, millis

pytestmark = [pytest.mark.spark, pytest.mark.rules, pytest.mark.timeout(600)]

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


class Job:
    """A job of several stages, each with a sink of its own."""

    def __init__(self, stages: Iterable[Callable]):
        self.pipeline, self.sinks, self._sources = ps.Pipeline(), {}, {}
        for stage in stages:
            self.sinks[stage] = Collected()
            stage(self).write_to(ps.sinks.custom(self.sinks[stage]), name=f"{stage.__name__}-out")

    def numbers(self, name="numbers", **options):
        if name not in self._sources:
            self._sources[name] = numbers(self.pipeline, name, **options)
        return self._sources[name]

    def bursts(self):
        return self.numbers("bursts", burst=10_000, pause=15_000)


def visits(job):
    return job.bursts().group_by("key").window(ps.session("5 seconds")).aggregate("visits", n=ps.count(), total=ps.sum("v"))


def evicted(job):
    def step(state, row):
        state.n = (state.n or 0) + 1

    def evict(state, key, time):
        return (state.n, time)

    grouped = job.bursts().group_by("key")
    return grouped.map_stateful("evicted", step, "n bigint", "n bigint, at bigint", ttl="5 seconds", on_evict=evict)


def rolling(job):
    by_key, last = job.numbers().group_by("key"), {"top": ps.top_n(2, "seq", "v"), "last": ps.last("seq")}
    return by_key.rolling_aggregate("rolling", n=ps.count(), total=ps.sum("v"), mean=ps.avg("v"), high=ps.max("v"), **last)


def pairs(job):
    def step(state, row):
        before, state.last, state.n = state.last, row.seq, (state.n or 0) + 1
        return None if state.n % 2 else {"seq": row.seq, "n": state.n, "before": before}

    by_key = job.numbers().group_by("key")
    return by_key.map_stateful("pairs", step, "n bigint, last bigint", "seq bigint, n bigint, before bigint")


def seen(job):
    return job.numbers().group_by("key", "v").distinct("seen")


def joined(job, how):
    orders = job.numbers("orders", keys=1000).filter("seq % 100 = 0").select("key", "ts", "seq")
    visits = job.numbers("visits", keys=1000).filter("seq % 100 = 0 and key < 500")
    visits = visits.select("key", "v", F.col("ts").alias("at"), F.col("seq").alias("visit"))
    return orders.join(f"{how} join", visits, on="key", within="3 seconds", how=how)


def inner(job):
    return joined(job, "inner")


def left(job):
    return joined(job, "left")


def together(job):
    right = job.numbers("right", keys=25).with_columns(who="key").group_by("who")
    third = job.numbers("third", keys=10).group_by("key")
    both = ps.co_group(a=job.numbers().group_by("key"), b=right, c=third)
    return both.window(ps.tumbling("10 seconds")).aggregate(
        "together", a={"n": ps.count()}, b={"m": ps.count(), "total": ps.sum("v")}, c={"high": ps.max("seq")}
    )


def enriched(job):
    table = ps.sources.items([(k, f"name {k}") for k in range(25)], "key bigint, name string")
    return job.numbers().hash_join(job.pipeline.read_from(table, name="names"), on="key")


GROUPS = ((visits, evicted), (rolling, pairs, seen, inner, left, together, enriched))
"""The stages of a job have the same event times: its watermark is that of the slowest source."""


@pytest.fixture(scope="module")
def rows(spark, tmp_path_factory):
    """Stage -> its rows, of jobs that are stopped after 40,000 events and started again from their snapshot."""
    found = {}
    for group in GROUPS:
        harness, first, second = Harness(spark, tmp_path_factory.mktemp("group")), Job(group), Job(group)
        harness.run(first.pipeline, until=40_000)
        harness.run(second.pipeline)
        found |= {stage: first.sinks[stage].rows + second.sinks[stage].rows for stage in group}
    return found


def test_sessions_end_their_timeout_after_the_last_event_of_their_key(rows):
    got = [(r.key, millis(r.window_start), millis(r.window_end), r.n, r.total) for r in rows[visits]]
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


def test_rolling_aggregates_tell_each_row_what_there_was_so_far(rows):
    state, expected = defaultdict(list), {}
    for n, key, v, _ in events(ROWS, KEYS):
        own = state[key]
        own.append((v, n))
        total = sum(value for value, _ in own) if len(own) < 3 else expected[own[-2][1]][1] + v
        expected[n] = (len(own), total)
    assert len(rows[rolling]) == ROWS
    assert {row.seq: (row.n, row.total) for row in rows[rolling]} == expected
    some = [row for row in rows[rolling] if row.seq % 997 == 0]
    for row in some:
        own = [(v, n) for v, n in state[row.key] if n <= row.seq]
        assert (row.high, row.last) == (max(own)[0], row.seq)
        assert row.mean == pytest.approx(sum(v for v, _ in own) / len(own))
        assert row.top == [n for _, n in sorted(own, reverse=True)[:2]]


def test_state_of_ones_own_goes_on_and_rows_come_in_the_order_of_event_time(rows):
    own, expected = defaultdict(list), set()
    for n, key, _, _ in events(ROWS, KEYS):
        own[key].append(n)
        if len(own[key]) % 2 == 0:
            expected.add((key, n, len(own[key]), own[key][-2]))
    got = [(r.key, r.seq, r.n, r.before) for r in rows[pairs]]
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


def test_state_is_evicted_its_time_to_live_after_the_last_event(rows):
    sessions = expected_sessions(events(ROWS, KEYS, 10_000, 15_000), 5000)
    got = [(row.key, row.at, row.n) for row in rows[evicted]]
    assert sorted(got) == sorted((key, end, n) for key, _, end, n, _ in sessions if end < max(s[2] for s in sessions) - 15_000)


def test_distinct_gives_the_first_row_of_each_key_once(rows):
    got = [(row.key, row.v) for row in rows[seen]]
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


@pytest.mark.parametrize("join", [inner, left])
def test_two_streams_are_joined_within_a_time(rows, join):
    chosen = [(n, key, ms) for n, key, _, ms in events(ROWS, 1000) if n % 100 == 0]
    got = sorted((row.seq, row.visit) for row in rows[join] if row.visit is not None)
    by_key = defaultdict(list)
    for n, key, ms in chosen:
        if key < 500:
            by_key[key].append((n, ms))
    assert got == sorted((n, m) for n, key, ms in chosen for m, at in by_key[key] if abs(at - ms) <= 3000)
    alone = {row.seq for row in rows[join] if row.visit is None}
    expected = {n for n, key, _ in chosen if key >= 500}
    if join is inner:
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
    expected = sorted((n, m) for own in by_key.values() for n, ms in own for m, at in own if abs(at - ms) <= 3000)
    assert sorted((row.seq, row.visit) for row in first.rows + second.rows) == expected
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


def test_streams_are_aggregated_together_by_key(rows):
    until = max(millis(row.window_end) for row in rows[together])
    lefts = expected_windows(ROWS, KEYS, 10_000, 10_000, until)
    rights = expected_windows(ROWS, 25, 10_000, 10_000, until)
    thirds = expected_windows(ROWS, 10, 10_000, 10_000, until)
    got = {(r.key, millis(r.window_start), millis(r.window_end)): (r.n, r.m, r.total, r.high is not None) for r in rows[together]}
    assert len(got) == len(rows[together])
    assert got == {
        window: (n, rights.get(window, (0, None))[0], rights.get(window, (0, None))[1], window in thirds)
        for window, (n, _) in lefts.items()
    }


def test_a_table_in_memory_enriches_rows_and_is_no_state(rows):
    assert len(rows[enriched]) == ROWS
    assert all(row.name == (f"name {row.key}" if row.key < 25 else None) for row in rows[enriched])


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


def test_rows_after_a_pause_are_joined_with_the_table_that_is_there_then(spark, tmp_path):
    table, sink = tmp_path / "table.csv", Collected()
    table.write_text("1,before\n")
    p = ps.Pipeline()
    side = p.read_from(ps.sources.files(table, format="csv", schema="one bigint, name string"), name="side")
    (tmp_path / "in").mkdir()
    rows = p.read_from(ps.sources.files(tmp_path / "in", "json", schema="one bigint", streaming=True), name="rows")
    rows.hash_join(side, on="one", refresh="1 second").write_to(ps.sinks.custom(sink), name="out")
    job = ps.run(p, spark, data_dir=tmp_path / "data")
    (tmp_path / "in" / "first").write_text('{"one": 1}\n')
    assert wait_until(lambda: sink.rows, 60)
    assert wait_until(lambda: job._run._refresh._is_due, 60)
    table.write_text("1,after\n")
    (tmp_path / "in" / "second").write_text('{"one": 1}\n')
    assert wait_until(lambda: len(sink.rows) == 2, 60)
    assert [row.name for row in sink.rows] == ["before", "after"]
    assert (job.stop(), job.progress.input_rows) == (1, 2)


def test_a_table_that_is_away_for_a_while_stays_as_it_was_until_it_is_back(spark, tmp_path):
    table, sink = tmp_path / "names.csv", Collected()
    table.write_text("1,before\n")
    p = ps.Pipeline()
    side = p.read_from(ps.sources.files(table, format="csv", schema="one bigint, name string"), name="side")
    ticks = p.read_from(ps.sources.rate(20), name="ticks").with_columns(one="cast(1 as bigint)")
    ticks.hash_join(side, on="one", refresh="1 second").write_to(ps.sinks.custom(sink), name="out")
    job = ps.run(p, spark, data_dir=tmp_path / "data")
    assert wait_until(lambda: sink.rows, 120)
    away = table.rename(tmp_path / "away.csv")
    before = len(sink.rows)
    assert wait_until(lambda: len(sink.rows) > before + 100, 120), "five seconds, and more readings that fail"
    away.write_text("1,after\n")
    away.rename(table)
    assert wait_until(lambda: any(row.name == "after" for row in sink.rows), 120)
    job.stop()
    rows = sorted(sink.rows, key=lambda row: row.sequence)
    assert [row.sequence for row in rows] == list(range(len(rows)))


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


YEARS = [
    ("a", 2, "2300-01-01T00:00:01"),
    ("a", 1, "1500-01-01T00:00:00"),
    ("a", 3, "2300-01-01T00:00:10"),
    ("a", 4, "2300-01-01T00:00:11"),
    ("a", 5, None),
    ("b", 6, None),
    ("b", 7, None),
    ("c", 8, "9999-12-31T23:59:59.999999"),
]


@pytest.mark.parametrize(("within", "expected"), [(None, {1, 8}), ("10 seconds", {1, 2, 4, 8})])
def test_distinct_in_a_batch_goes_by_event_times_of_every_year(spark, tmp_path, within, expected):
    p, out = ps.Pipeline(), Collected()
    rows = p.read_from(ps.sources.items(YEARS, "key string, n int, at timestamp"), name="rows").with_timestamps("at")
    rows.group_by("key").distinct("seen", within=within).write_to(ps.sinks.custom(out), name="out")
    ps.run(p, spark, data_dir=tmp_path)
    found = [row.n for row in out.rows]
    assert len(found) == len(set(found))
    assert set(found) - {6, 7} == expected
    assert len({6, 7}.intersection(found)) == 1, "one of those without a time"
