"""A time far ahead of the clock does not make all others late, unless the job says that times may be as far ahead as they are."""

import itertools
import json
import time

import pytest

import pitstop as ps
from pitstop.kit.clock import iso
from pitstop.kit.waiting import wait_until
from pitstop.model.report import Verdict, Way
from pitstop.plan.diff import compare
from pitstop.snapshots import manifest
from pitstop.spark.lowering.compile import compile_pipeline
from tests.spark.harness import Collected

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]

YEAR_9999 = 253_402_300_000


@pytest.mark.long
def test_rows_too_far_ahead_are_dead_letters_and_move_no_watermark(spark, tmp_path, capsys):
    folder, now = tmp_path / "rows", int(time.time()) // 10 * 10
    folder.mkdir()
    windows, ahead, p = Collected(), Collected(), ps.Pipeline()
    rows = p.read_from(ps.sources.csv_tail(folder, schema="n bigint, at bigint"), name="rows")
    timed = rows.with_columns(ts="timestamp_seconds(at)").with_timestamps(
        "ts", max_ahead="1 hour", dead_letters=ps.sinks.custom(ahead)
    )
    timed.group_by().window(ps.tumbling("10 seconds")).aggregate("counts", n=ps.count()).write_to(
        ps.sinks.custom(windows), name="out"
    )
    job = ps.run(p, spark, data_dir=tmp_path / "data")

    def feed(*pairs):
        with (folder / "rows.csv").open("a") as file:
            file.write("".join(f"{n},{at}\n" for n, at in pairs))

    feed((1, now), (2, YEAR_9999), (3, now + 7200), (4, now + 1800))
    assert wait_until(lambda: job.progress.input_rows == 4, 60)
    feed((5, now + 1801), (6, now + 1900))
    assert wait_until(lambda: len(windows.rows) == 2, 60)
    assert job.progress.bad_rows == 2
    job.stop()
    assert [row["n"] for row in windows.rows] == [1, 2]
    assert sorted(json.loads(row["text"])["n"] for row in ahead.rows) == [2, 3]
    assert all(row["error"].endswith(", more than 1 hour ahead of the clock") for row in ahead.rows)
    told = capsys.readouterr().out
    assert "2 rows are too far ahead of the clock" in told
    assert "9999-12-31" in told


@pytest.mark.long
def test_a_time_in_milliseconds_that_is_read_as_seconds_is_left_out_though_nobody_asked_for_it(spark, tmp_path, capsys):
    folder, now = tmp_path / "rows", int(time.time()) // 10 * 10
    folder.mkdir()
    windows, p = Collected(), ps.Pipeline()
    rows = p.read_from(ps.sources.csv_tail(folder, schema="k string, at bigint"), name="rows")
    timed = rows.with_columns(ts="timestamp_seconds(at)").with_timestamps("ts")
    timed.select("k", "at").write_to(ps.sinks.map("latest", key="k", value="at"), name="latest")
    timed.group_by().window(ps.tumbling("10 seconds")).aggregate("counts", n=ps.count()).write_to(
        ps.sinks.custom(windows), name="out"
    )
    job = ps.run(p, spark, data_dir=tmp_path / "data")
    (folder / "rows.csv").write_text(f"a,{now}\na,{now * 1000}\nb,{now + 3600}\n")
    assert wait_until(lambda: job.progress.input_rows == 3, 60)
    with (folder / "rows.csv").open("a") as file:
        file.write(f"a,{now + 3601}\n")
    assert wait_until(lambda: {entry.key: entry.value for entry in job.maps.entries("latest")}.get("a") == str(now + 3601), 60)
    job.stop()
    assert [row["n"] for row in windows.rows] == [1]
    assert {entry.key: entry.value for entry in job.maps.entries("latest")} == {"a": str(now + 3601), "b": str(now + 3600)}
    assert (job.progress.bad_rows, job.progress.late_rows) == (1, 0)
    assert job.progress.watermark_ms <= (now + 3601) * 1000
    told = capsys.readouterr().out
    assert f"1 row is too far ahead of the clock for 'timestamps', up to +{iso(now * 1000)[2:7]}-" in told


@pytest.mark.long
def test_rows_that_are_left_out_of_a_job_without_state_are_counted_and_told_too(spark, tmp_path, capsys):
    folder, now = tmp_path / "rows", int(time.time())
    folder.mkdir()
    odd, kept, p = Collected(), Collected(), ps.Pipeline()
    source = ps.sources.csv_tail(folder, schema="k string, at bigint")
    rows = p.read_from(source, name="rows", dead_letters=ps.sinks.custom(odd))
    timed = rows.with_columns(ts="timestamp_seconds(at)").with_timestamps("ts", name="timed")
    timed.select("k", "at").write_to(ps.sinks.map("latest", key="k", value="at"), name="latest")
    timed.write_to(ps.sinks.custom(kept), name="kept")
    assert len(compile_pipeline(spark, p).source_slots) == 1
    job = ps.run(p, spark, data_dir=tmp_path / "data")
    (folder / "rows.csv").write_text(f"a,{now}\na,{now * 1000}\na,{now + 86_000}\nb,{now + 90_000}\na,no time\n")
    assert wait_until(lambda: job.progress.bad_rows == 3, 60)
    job.stop()
    assert {entry.key: entry.value for entry in job.maps.entries("latest")} == {"a": str(now + 86_000)}
    assert sorted(row["at"] for row in kept.rows) == [now, now + 86_000]
    assert [row["text"] for row in odd.rows] == ["a,no time"]
    assert "2 rows are too far ahead of the clock for 'timed'" in capsys.readouterr().out


def test_in_a_batch_no_row_can_be_late_so_only_who_asks_for_it_has_rows_left_out(spark, tmp_path, capsys):
    items = [("a", 1), ("b", YEAR_9999), ("c", int(time.time()) * 1000)]
    usual, asked, ahead, p = Collected(), Collected(), Collected(), ps.Pipeline()
    rows = p.read_from(ps.sources.items(items, "k string, at bigint"), name="rows").with_columns(ts="timestamp_seconds(at)")
    rows.with_timestamps("ts").select("k").write_to(ps.sinks.custom(usual), name="usual")
    bound = rows.with_timestamps("ts", dead_letters=ps.sinks.custom(ahead))
    bound.select("k").write_to(ps.sinks.custom(asked), name="asked")
    ps.run(p, spark, data_dir=tmp_path / "data", max_ahead="1 hour")
    assert [sorted(row["k"] for row in sink.rows) for sink in (usual, asked)] == [["a", "b", "c"], ["a"]]
    times = [f"+{iso(items[2][1])[2:22].replace('T', ' ')}", "9999-12-31 23:46:40"]
    assert sorted(row["error"] for row in ahead.rows) == [f"ts is {time}, more than 1 hour ahead of the clock" for time in times]
    assert "2 rows are too far ahead of the clock" in capsys.readouterr().out


@pytest.mark.long
def test_a_watermark_beyond_the_year_9999_is_told_as_it_is(spark, tmp_path, capsys):
    folder, p = tmp_path / "rows", ps.Pipeline()
    folder.mkdir()
    far = 1_767_225_780_000
    (folder / "rows.csv").write_text(f"1,{int(time.time())}\n2,{far}\n")
    rows = p.read_from(ps.sources.csv_tail(folder, schema="n bigint, at bigint"), name="rows")
    timed = rows.with_columns(ts="timestamp_seconds(at)").with_timestamps("ts")
    timed.group_by().window(ps.tumbling("10 seconds")).aggregate("counts", n=ps.count()).write_to(ps.sinks.noop(), name="out")
    job = ps.run(p, spark, data_dir=tmp_path / "data", max_ahead="unlimited")
    assert wait_until(lambda: job.progress.watermark_ms == far * 1000, 60)
    with (folder / "rows.csv").open("a") as file:
        file.write(f"3,{int(time.time())}\n")
    assert wait_until(lambda: job.progress.stages["counts"].get("late_rows") == 1, 60)
    job.cancel_and_export_snapshot("saved")
    told = capsys.readouterr().out
    assert "the watermark is at +057971-02-27T02:00:00.000, 20" in told
    assert "they are behind the watermark (+057971-02-27T02:00:00.000)" in told
    assert manifest.read(tmp_path / "data" / "snapshots" / "saved").watermark_ms == far * 1000


@pytest.mark.long
def test_without_a_bound_the_log_says_that_the_watermark_has_left_the_clock_behind(spark, tmp_path, capsys):
    folder, windows, p = tmp_path / "rows", Collected(), ps.Pipeline()
    folder.mkdir()
    (folder / "rows.csv").write_text(f"1,{int(time.time())}\n2,{YEAR_9999}\n")
    rows = p.read_from(ps.sources.csv_tail(folder, schema="n bigint, at bigint"), name="rows")
    counts = (
        rows.with_columns(ts="timestamp_seconds(at)")
        .with_timestamps("ts", max_ahead=None)
        .group_by()
        .window(ps.tumbling("10 seconds"))
    )
    counts.aggregate("counts", n=ps.count()).write_to(ps.sinks.custom(windows), name="out")
    job = ps.run(p, spark, data_dir=tmp_path / "data")
    assert wait_until(lambda: len(windows.rows) == 1, 60)
    with (folder / "rows.csv").open("a") as file:
        file.write(f"3,{int(time.time())}\n")
    assert wait_until(lambda: job.progress.stages["counts"].get("late_rows") == 1, 60)
    job.stop()
    told = capsys.readouterr().out
    assert "the watermark is at 9999-12-31T" in told
    assert "stage 'counts' has dropped 1 late row in this run" in told


def joined(folder, out, **options):
    """A left join, whose state Spark keeps by the schema of the rows as they come."""
    p = ps.Pipeline()
    rows = p.read_from(ps.sources.csv_tail(folder, schema="k string, at bigint"), name="rows")
    timed = rows.with_columns(ts="timestamp_seconds(at)").with_timestamps("ts", name="timed", **options)
    others = timed.filter("k like 'b%'").select("at", "k as other", "ts as seen")
    pairs = timed.filter("k like 'a%'").join("pairs", others, on="at", within="10 seconds", how="left")
    pairs.select("k", "at", "other").write_to(ps.sinks.custom(out), name="out")
    return p


@pytest.mark.long
def test_state_goes_on_whatever_bound_a_version_has(spark, tmp_path):
    folder, now, out = tmp_path / "rows", int(time.time()), Collected()
    folder.mkdir()
    versions = [{"max_ahead": None}, {}, {"max_ahead": "1 hour"}, {}]
    plans = [compile_pipeline(spark, joined(folder, out, **options)).to_dict() for options in versions]
    for old, new in itertools.pairwise(plans):
        report = compare(old, new)
        assert report.way is Way.RESUME
        assert {line.stage: line.verdict for line in report.lines}["pairs"] is Verdict.RESTORED
    far, from_snapshot = now + 90_000, {}
    for number, options in enumerate(versions[:3]):
        with (folder / "rows.csv").open("a") as file:
            # A pair whose sides are of two versions, and a row that is late if the one far ahead counts.
            file.write(f"b,{now + number}\na{number},{now + number + 1}\n" + (f"a,{far}\nb,{far}\n" if number else ""))
        job = ps.run(joined(folder, out, **options), spark, data_dir=tmp_path / "data", **from_snapshot)
        assert wait_until(lambda job=job, rows=4 if number else 2: job.progress.input_rows >= rows, 60)
        from_snapshot = {"initial_snapshot": job.cancel_and_export_snapshot(f"s{number}").name}
        assert job.progress.bad_rows == (2 if number else 0)
        assert job.progress.late_rows == 0
    assert sorted(tuple(row) for row in out.rows) == [("a0", now + 1, "b"), ("a1", now + 2, "b")]
