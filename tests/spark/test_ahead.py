"""A time far ahead of the clock does not make all others late, if the job says how far ahead one may be."""

import json
import time

import pytest

import pitstop as ps
from pitstop.kit.waiting import wait_until
from tests.spark.harness import Collected

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]

YEAR_9999 = 253_402_300_000


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
    told = capsys.readouterr().out
    assert "2 rows are too far ahead of the clock" in told
    assert "9999-12-31" in told


def test_without_a_bound_the_log_says_that_the_watermark_has_left_the_clock_behind(spark, tmp_path, capsys):
    folder, windows, p = tmp_path / "rows", Collected(), ps.Pipeline()
    folder.mkdir()
    (folder / "rows.csv").write_text(f"1,{int(time.time())}\n2,{YEAR_9999}\n")
    rows = p.read_from(ps.sources.csv_tail(folder, schema="n bigint, at bigint"), name="rows")
    counts = rows.with_columns(ts="timestamp_seconds(at)").with_timestamps("ts").group_by().window(ps.tumbling("10 seconds"))
    counts.aggregate("counts", n=ps.count()).write_to(ps.sinks.custom(windows), name="out")
    job = ps.run(p, spark, data_dir=tmp_path / "data")
    assert wait_until(lambda: len(windows.rows) == 1, 60)
    with (folder / "rows.csv").open("a") as file:
        file.write(f"3,{int(time.time())}\n")
    assert wait_until(lambda: job.progress.stages["counts"].get("late_rows") == 1, 60)
    job.stop()
    told = capsys.readouterr().out
    assert "the watermark is at 9999-12-31T" in told
    assert "stage 'counts' has dropped 1 late rows in this run" in told
