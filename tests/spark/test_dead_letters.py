"""Rows that a function with state cannot take are dead letters: the job goes on, and the state of their keys is as it was."""

import json

import pytest

import pitstop as ps
from pitstop.errors import EngineError
from pitstop.kit.waiting import wait_until
from tests.spark.harness import Collected

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]

MILLISECONDS_READ_AS_SECONDS = 1_767_225_600_000


def total(state, row):
    state.n = (state.n or 0) + row.n
    if row.n == 13:
        raise ValueError("thirteen")
    return (row.n, state.n)


def totals(p, folder, **options):
    rows = p.read_from(ps.sources.csv_tail(folder, schema="k string, n bigint, at bigint"), name="rows")
    timed = rows.with_columns(ts="timestamp_seconds(at)")
    return timed.group_by("k").map_stateful("totals", total, state="n bigint", output="n bigint, total bigint", **options)


def feed(folder, *rows):
    with (folder / "rows.csv").open("a") as file:
        file.write("".join(f"{k},{n},{at}\n" for k, n, at in rows))


@pytest.mark.long
def test_rows_for_which_the_function_fails_are_dead_letters(spark, tmp_path, capsys):
    folder, out, letters, p = tmp_path / "rows", Collected(), Collected(), ps.Pipeline()
    folder.mkdir()
    feed(folder, ("a", 1, 0), ("a", 13, 0), ("b", 5, MILLISECONDS_READ_AS_SECONDS), ("a", 2, 0), ("c", 13, 0))
    totals(p, folder, dead_letters=ps.sinks.custom(letters)).write_to(ps.sinks.custom(out), name="out")
    job = ps.run(p, spark, data_dir=tmp_path / "data")
    assert wait_until(lambda: job.progress.input_rows == 5, 180)
    feed(folder, ("a", 4, 0), ("c", 6, 0))
    assert wait_until(lambda: job.progress.input_rows == 7, 180)
    assert job.progress.bad_rows == 3
    assert job.progress.stages["totals"]["state_rows"] == 2
    job.stop()
    assert sorted(tuple(row) for row in out.rows) == [("a", 1, 1), ("a", 2, 3), ("a", 4, 7), ("c", 6, 6)]
    told = {(json.loads(row["key"])["k"], json.loads(row["text"])["n"]): row for row in letters.rows}
    assert sorted(told) == [("a", 13), ("b", 5), ("c", 13)]
    assert {row["stage"] for row in letters.rows} == {"totals"}
    assert told["a", 13]["error"] == "ValueError: thirteen"
    assert told["b", 5]["error"].startswith("Python has no such value")
    assert str(MILLISECONDS_READ_AS_SECONDS) in told["b", 5]["text"]
    assert "3 rows of 'totals' went to dead letters, such as: " in capsys.readouterr().out


@pytest.mark.long
def test_without_dead_letters_only_what_python_cannot_hold_is_left_out(spark, tmp_path, capsys):
    folder, out, p = tmp_path / "rows", Collected(), ps.Pipeline()
    folder.mkdir()
    feed(folder, ("a", 1, 0), ("b", 5, MILLISECONDS_READ_AS_SECONDS), ("a", 2, 0))
    totals(p, folder).write_to(ps.sinks.custom(out), name="out")
    job = ps.run(p, spark, data_dir=tmp_path / "data")
    assert wait_until(lambda: job.progress.input_rows == 3, 180)
    assert job.progress.bad_rows == 1
    feed(folder, ("a", 13, 0))
    with pytest.raises(EngineError, match=r"stage 'totals' fails for the row .*n=13.*: ValueError: thirteen\. Mend its function"):
        job.wait_for_epoch(1, 180)
    assert sorted(tuple(row) for row in out.rows) == [("a", 1, 1), ("a", 2, 3)]
    assert "1 row of 'totals' went to dead letters, such as: Python has no such value" in capsys.readouterr().out


@pytest.mark.long
def test_in_a_bounded_job_too(spark, tmp_path):
    p, out, letters = ps.Pipeline(), Collected(), Collected()
    rows = p.read_from(ps.sources.items([("a", 1), ("a", 13), ("a", 2)], "k string, n bigint"), name="rows")
    made = rows.group_by("k").map_stateful(
        "totals", total, "n bigint", "n bigint, total bigint", dead_letters=ps.sinks.custom(letters)
    )
    made.write_to(ps.sinks.custom(out), name="out")
    ps.run(p, spark, data_dir=tmp_path)
    assert sorted(tuple(row) for row in out.rows) == [("a", 1, 1), ("a", 2, 3)]
    assert [row["error"] for row in letters.rows] == ["ValueError: thirteen"]
