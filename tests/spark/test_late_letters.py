"""Rows that windows leave out because they are late, or have no event time, are dead letters if a sink is given for them."""

import itertools
import json
import time
from collections import Counter
from datetime import UTC, datetime

import pytest

import pitstop as ps
from pitstop.kit.waiting import wait_until
from pitstop.model.report import Verdict, Way
from pitstop.plan.diff import compare
from pitstop.spark.lowering.compile import compile_pipeline
from tests.spark.harness import Collected, Harness

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]

SCHEMA = "k string, n bigint, at bigint"


class Feed:
    """A folder with one file of rows (key, n, seconds since 1970); None is an empty field."""

    def __init__(self, folder):
        self.folder, self.rows = folder, 0
        folder.mkdir()

    def stage(self, p, name="rows", **options):
        source = ps.sources.csv_tail(self.folder, schema=SCHEMA)
        return p.read_from(source, name=name).with_columns(ts="timestamp_seconds(at)").with_timestamps("ts", **options)

    def add(self, *rows):
        self.rows += len(rows)
        with (self.folder / "rows.csv").open("a") as file:
            file.write("".join(",".join("" if value is None else str(value) for value in row) + "\n" for row in rows))


def read(job, *feeds):
    assert wait_until(lambda: job.progress.input_rows == sum(feed.rows for feed in feeds), 60)


def is_late_before(job, seconds):
    """Wait for the epoch without rows that closes windows: rows that come before it are judged by the watermark before."""
    assert wait_until(lambda: job.progress.watermark_ms == seconds * 1000, 60)


def texts(letters):
    """(n, its event time or None) of the rows in letters."""
    rows = [json.loads(row["text"]) for row in letters.rows]
    return Counter((row["n"], row["at"]) for row in rows)


def shown(seconds):
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S}"


@pytest.mark.long
def test_each_row_that_windows_leave_out_is_a_letter_and_the_letters_are_as_many_as_are_counted(spark, tmp_path, monkeypatch):
    monkeypatch.setenv("PITSTOP_CHECK_ROWS", "1")
    feed, now, p = Feed(tmp_path / "rows"), int(time.time()) // 60 * 60, ps.Pipeline()
    kinds = {"slid": ps.sliding("1 minute", "10 seconds"), "visits": ps.session("5 seconds")}
    letters, out = {name: Collected() for name in kinds}, {name: Collected() for name in kinds}
    keyed = feed.stage(p).group_by("k")
    for name, window in kinds.items():
        made = keyed.window(window, late=ps.sinks.custom(letters[name])).aggregate(name, n=ps.count())
        made.write_to(ps.sinks.custom(out[name]), name=f"{name}-out")
    job = ps.run(p, spark, data_dir=tmp_path / "data")
    feed.add(*[("a", n, now + n) for n in range(58)], ("d", 1000, None))
    read(job, feed)
    is_late_before(job, now + 57)
    second = [("b", 100 + n, now + n) for n in range(60)] + [(None, 1001, None), (None, 1002, now)]
    feed.add(*second)
    read(job, feed)
    feed.add(("z", 1, now + 300))
    read(job, feed)
    is_late_before(job, now + 300)
    feed.add(("z", 2, now + 200))
    read(job, feed)
    job.stop()
    closed = {"slid": 50, "visits": 57}
    for name, bound in closed.items():
        timed = [(n, at) for _, n, at in second if at is not None]
        late = [(n, at) for n, at in timed if (at + 5 <= now + bound if name == "visits" else at < now + bound)]
        assert texts(letters[name]) == Counter([*late, (2, now + 200), (1000, None), (1001, None)]), name
        stage = job.progress.stages[name]
        assert (stage["late_rows"], stage["untimed_rows"]) == (len(late) + 1, 2), name
        assert sum(letters[name].epochs[epoch] != [] for epoch in letters[name].epochs) == 3
        by_n = {json.loads(row["text"])["n"]: row.asDict() for row in letters[name].rows}
        moment = by_n[100].pop("time")
        assert abs(moment.timestamp() - time.time()) < 300
        spans = "sessions" if name == "visits" else "windows"
        assert by_n[100] == {
            "stage": name,
            "key": '{"k":"b"}',
            "text": f'{{"k":"b","n":100,"at":{now},"ts":"{shown(now).replace(" ", "T")}.000Z"}}',
            "error": f"late: ts is {shown(now)}, and {spans} were closed up to {shown(now + bound)}",
        }
        assert by_n[1001]["error"] == "its event time ts is null"
        assert by_n[1001]["key"] == '{"k":null}'
        closed_later = shown(now + 300)
        assert by_n[2]["error"] == f"late: ts is {shown(now + 200)}, and {spans} were closed up to {closed_later}"
    assert sum(row["n"] for row in out["visits"].rows) == 58 + 60 - 53


def counted(folder, out, late, keep=False):
    """A version of a job that counts rows by the hour, keeping its late rows or not."""
    p = ps.Pipeline()
    rows = p.read_from(ps.sources.csv_tail(folder, schema=SCHEMA), name="rows")
    timed = rows.with_columns(ts="timestamp_seconds(at)").with_timestamps("ts", name="timed")
    windows = timed.group_by("k").window(ps.tumbling("1 hour"), late=ps.sinks.custom(late) if keep else None)
    windows.aggregate("counts", n=ps.count()).write_to(ps.sinks.custom(out), name="out")
    return p


@pytest.mark.long
def test_a_version_that_begins_or_ends_to_keep_late_rows_goes_on_with_all_state(spark, tmp_path):
    feed, hour, out, late = Feed(tmp_path / "rows"), int(time.time()) // 3600 * 3600, Collected(), Collected()
    versions, options = [False, True, False], {}
    for number, keep in enumerate(versions):
        job = ps.run(counted(feed.folder, out, late, keep), spark, data_dir=tmp_path / "data", **options)
        feed.add(("a", number, hour + number))
        # Rows are late by the time that an epoch has ended with.
        assert wait_until(lambda job=job, at=hour + number: job.progress.watermark_ms == at * 1000, 60)
        feed.add(("a", 10 + number, hour - 7200), ("b", 20 + number, None), ("c", 30 + number, hour + 7200 * (number == 2)))
        assert wait_until(lambda job=job: job.progress.stages["counts"].get("late_rows"), 60)
        assert number < 2 or wait_until(lambda: len(out.rows) == 2, 60)
        options = {"initial_snapshot": job.cancel_and_export_snapshot(f"s{number}").name}
    assert texts(late) == Counter([(11, hour - 7200), (21, None)])
    assert sorted((row["k"], row["n"]) for row in out.rows) == [("a", 3), ("c", 2)]


@pytest.mark.long
def test_beginning_or_ending_to_keep_late_rows_changes_no_state(spark, tmp_path):
    folder = Feed(tmp_path / "rows").folder
    pipelines = [counted(folder, Collected(), Collected(), keep) for keep in (False, True, False)]
    plans = [compile_pipeline(spark, pipeline).to_dict() for pipeline in pipelines]
    for old, new in itertools.pairwise(plans):
        report = compare(old, new)
        assert report.way is Way.RESUME
        assert {line.stage: line.verdict for line in report.lines}["counts"] is Verdict.RESTORED


class Breaking(Collected):
    """A sink that fails when it first gets rows, once it has looked at them."""

    first = None

    def write(self, rows, info):
        if self.first is None and (first := rows.collect()):
            self.first = info.epoch, first
            raise ValueError("no room")
        super().write(rows, info)


@pytest.mark.long
def test_an_epoch_that_runs_again_gives_the_same_letters(spark, tmp_path):
    feed, hour, out, late = Feed(tmp_path / "rows"), int(time.time()) // 3600 * 3600, Collected(), Breaking()
    harness, built = Harness(spark, tmp_path), counted(feed.folder, out, late, keep=True)
    running = harness.start(built, tmp_path / "checkpoint", 2)
    feed.add(("a", 1, hour))
    assert wait_until(lambda: running.checkpoint.committed() >= 0, 60)
    harness.settle(running)
    feed.add(*[("a", n, hour - n) for n in range(100)], ("b", 1, None), ("a", 1, hour + 7200))
    assert wait_until(lambda: not running.active, 60)
    assert "no room" in str(running.failure())
    again = harness.start(built, tmp_path / "checkpoint", 2)
    assert wait_until(lambda: len(late.rows) == 100, 60)
    harness.settle(again)
    feed.add(("a", 1, hour))
    assert wait_until(lambda: len(late.rows) == 101, 60)
    again.stop(60)
    epoch, first = late.first
    assert sorted(late.epochs[epoch]) == sorted(first)
    assert len(first) == 100
    assert [json.loads(row["text"])["n"] for row in late.rows].count(1) == 3


@pytest.mark.long
def test_of_several_inputs_without_a_key_and_in_a_job_without_metrics(spark, tmp_path):
    left, right, hour, p = Feed(tmp_path / "left"), Feed(tmp_path / "right"), int(time.time()) // 3600 * 3600, ps.Pipeline()
    out, late = Collected(), Collected()
    seen = right.stage(p, "visits").select("n as m", "ts as seen", "k")
    orders = left.stage(p, "orders")
    orders = orders.filter("k = 'a'").merge(orders.filter("k = 'b'"))
    both = ps.co_group(orders=orders.group_by(), visits=seen.group_by())
    windows = both.window(ps.tumbling("1 hour"), late=ps.sinks.custom(late)).early_results("1 second")
    windows.aggregate("both", orders={"n": ps.count()}, visits={"seen": ps.count()}).write_to(ps.sinks.custom(out), name="out")
    job = ps.run(p, spark, data_dir=tmp_path / "data", metrics_enabled=False)
    for feed, n in ((left, 1), (right, 2)):
        feed.add(("a", n, hour))
    assert wait_until(lambda: job.progress.watermark_ms == hour * 1000, 60)
    for feed, n in ((left, 3), (right, 4)):
        feed.add(("a", n, hour - 7200), ("a", n, hour), ("b", 10 + n, None))
    assert wait_until(lambda: len(late.rows) == 4, 60)
    job.stop()
    told = {json.loads(row["text"]).get("n") or json.loads(row["text"])["m"]: row for row in late.rows}
    assert sorted(told) == [3, 4, 13, 14]
    assert {(row["stage"], row["key"]) for row in late.rows} == {("both", "{}")}
    assert told[4]["error"] == f"late: seen is {shown(hour - 7200)}, and windows were closed up to {shown(hour)}"
    assert told[14]["error"] == "its event time seen is null"


def test_in_a_batch_no_row_is_late_but_those_without_time_are_letters(spark, tmp_path):
    p, out, late = ps.Pipeline(), Collected(), Collected()
    items = [("a", 1, 7200), ("a", 2, None), ("b", 3, 0)]
    rows = p.read_from(ps.sources.items(items, SCHEMA), name="rows").with_columns(ts="timestamp_seconds(at)")
    windows = rows.with_timestamps("ts").group_by("k").window(ps.tumbling("1 hour"), late=ps.sinks.custom(late))
    windows.aggregate("counts", n=ps.count()).write_to(ps.sinks.custom(out), name="out")
    ps.run(p, spark, data_dir=tmp_path / "data")
    assert sorted((row["k"], row["n"]) for row in out.rows) == [("a", 1), ("b", 1)]
    assert [(row["stage"], row["key"], row["error"]) for row in late.rows] == [
        ("counts", '{"k":"a"}', "its event time ts is null")
    ]
