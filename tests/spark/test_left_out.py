"""Every row that a source gives or a stage takes comes out, is in state, or is counted by the reason why it does not."""

import time
from collections import Counter

import pytest

import pitstop as ps
from pitstop.errors import EngineError
from pitstop.kit.waiting import wait_until
from pitstop.spark.lowering import lowering
from tests.spark.harness import Collected

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


def figures(job, stage):
    wanted = ("rows_in", "rows_out", "ahead_rows", "untimed_rows", "late_rows", "keyless_rows", "unparsed_rows", "repeated_rows")
    return {name: rows for name, rows in job.progress.stages.get(stage, {}).items() if name in wanted}


@pytest.mark.long
def test_rows_that_go_no_further_are_counted_by_reason_for_their_stage(spark, tmp_path, capsys):
    feed, now, p = Feed(tmp_path / "rows"), int(time.time()) // 60 * 60, ps.Pipeline()
    rows = feed.stage(p)
    windows, sessions, firsts = Collected(), Collected(), Collected()
    keyed = rows.group_by("k")
    counts = keyed.window(ps.sliding("1 minute", "10 seconds")).aggregate("counts", n=ps.count())
    counts.write_to(ps.sinks.custom(windows), name="w")
    keyed.window(ps.session("5 seconds")).aggregate("visits", n=ps.count()).write_to(ps.sinks.custom(sessions), name="s")
    rows.group_by("k", "n").distinct("firsts", within="1 hour").write_to(ps.sinks.custom(firsts), name="f")
    rows.select("k", "n").write_to(ps.sinks.map("latest", key="k", value="n"), name="latest")
    job = ps.run(p, spark, data_dir=tmp_path / "data")
    feed.add(*[("a", n, now + n) for n in range(60)], ("a", 0, now), ("b", "?", now), ("c", 1, now + 200_000), ("d", 1, None))
    read(job, feed)
    # By now the watermark is at the 59th second: rows of one key and window are late together, and counted one by one.
    late = [("a", 100 + n, now + n) for n in range(45)]
    feed.add(*late, (None, 7, now + 61), ("e", 1, None), ("e", 2, None))
    read(job, feed)
    feed.add(("z", 1, now + 300))
    read(job, feed)
    assert wait_until(lambda: figures(job, "visits").get("rows_out", 0) > 0, 60)
    job.stop()
    taken = feed.rows - 2
    assert figures(job, "rows") == {"rows_out": feed.rows, "unparsed_rows": 1}
    assert figures(job, "timestamps") == {"ahead_rows": 1}
    assert figures(job, "counts") | {"rows_out": 0} == {"rows_in": taken, "rows_out": 0, "untimed_rows": 3, "late_rows": 45}
    assert figures(job, "visits") | {"rows_out": 0} == {"rows_in": taken, "rows_out": 0, "untimed_rows": 3, "late_rows": 45}
    assert figures(job, "firsts") == {"rows_in": taken, "rows_out": taken - 45 - 1, "late_rows": 45, "repeated_rows": 1}
    assert figures(job, "latest") == {"rows_in": taken - 1, "keyless_rows": 1}
    assert sum(row["n"] for row in sessions.rows) == 62
    assert {row["k"] for row in firsts.rows} == {"a", None, "d", "e", "z"}
    assert job.progress.bad_rows == 2
    told = capsys.readouterr().out
    assert "stage 'counts' has dropped 45 late rows in this run" in told
    assert "stage 'visits' has dropped 3 rows without event time in this run: their event time is null" in told


@pytest.mark.long
def test_a_left_join_keeps_left_rows_without_time_key_or_match(spark, tmp_path):
    left, right, now, p = Feed(tmp_path / "left"), Feed(tmp_path / "right"), int(time.time()), ps.Pipeline()
    pairs = Collected()
    other = right.stage(p, "others").select("k", "n as m", "ts as seen")
    joined = left.stage(p, "rows").join("pairs", other, on="k", within="10 seconds", how="left")
    joined.write_to(ps.sinks.custom(pairs), name="out")
    job = ps.run(p, spark, data_dir=tmp_path / "data")
    untimed = [("a", 100 + n, None) for n in range(30)]
    left.add(("a", 1, now), ("b", 2, now), (None, 3, now), *untimed)
    right.add(("a", 1, now + 1), ("a", 2, None), (None, 3, now), ("c", 4, now))
    read(job, left, right)
    found = lambda: Counter((row["n"], row["m"]) for row in pairs.rows)  # noqa: E731
    assert wait_until(lambda: len(found()) == 31, 60)
    assert found() == Counter([(1, 1), *((n, None) for _, n, _ in untimed)])
    assert job.progress.stages["pairs"]["state_rows"] == 3 + 2
    left.add(("z", 9, now + 100))
    right.add(("z", 9, now + 100))
    assert wait_until(lambda: len(found()) == 34, 60)
    job.stop()
    assert found() == Counter([(1, 1), (2, None), (3, None), (9, 9), *((n, None) for _, n, _ in untimed)])
    left_out = {"untimed_rows": 1, "keyless_rows": 1, "late_rows": 0}
    assert figures(job, "pairs") == {"rows_in": left.rows + right.rows, "rows_out": 34, **left_out}


@pytest.mark.long
def test_an_inner_join_counts_rows_without_time_or_key_of_both_sides(spark, tmp_path):
    left, right, now, p = Feed(tmp_path / "left"), Feed(tmp_path / "right"), int(time.time()), ps.Pipeline()
    other = right.stage(p, "others").select("k", "n as m", "ts as seen")
    joined = left.stage(p, "rows").join("pairs", other, on="k", within="10 seconds")
    joined.write_to(ps.sinks.noop(), name="out")
    job = ps.run(p, spark, data_dir=tmp_path / "data")
    left.add(("a", 1, now), ("a", 2, None), (None, 3, None), (None, 4, now))
    right.add(("a", 1, now), ("b", 2, None))
    read(job, left, right)
    job.stop()
    assert figures(job, "pairs") == {"rows_in": 6, "rows_out": 1, "untimed_rows": 3, "keyless_rows": 1, "late_rows": 0}
    assert job.progress.stages["pairs"]["state_rows"] == 2


@pytest.mark.long
@pytest.mark.parametrize("columns", ["select", "with_columns"])
def test_rows_that_a_column_makes_several_of_are_counted_where_it_does(spark, tmp_path, monkeypatch, columns):
    monkeypatch.setenv("PITSTOP_CHECK_ROWS", "1")
    feed, p, firsts = Feed(tmp_path / "rows"), ps.Pipeline(), Collected()
    rows = feed.stage(p)
    if columns == "select":
        twins = rows.select("k", "ts", "explode(sequence(1, n)) as twin", name="twins")
    else:
        twins = rows.with_columns("twins", twin="explode(sequence(1, n))")
    twins.select("k", "twin").group_by("k", "twin").distinct("firsts").write_to(ps.sinks.custom(firsts), name="out")
    feed.add(("a", 2, 1), ("a", 3, 1), ("b", 1, 1))
    job = ps.run(p, spark, data_dir=tmp_path / "data")
    read(job, feed)
    job.stop()
    assert sorted((row["k"], row["twin"]) for row in firsts.rows) == [("a", 1), ("a", 2), ("a", 3), ("b", 1)]
    assert figures(job, "twins") == {"rows_out": 6}
    assert figures(job, "firsts") == {"rows_in": 6, "rows_out": 4, "late_rows": 0, "repeated_rows": 2}


@pytest.mark.long
def test_a_job_whose_rows_do_not_add_up_ends_with_the_stage_and_the_numbers(spark, tmp_path, monkeypatch):
    monkeypatch.setenv("PITSTOP_CHECK_ROWS", "1")
    monkeypatch.setattr(lowering, "left_out", lambda *_: [])  # as if nobody counted rows without event time
    feed, p = Feed(tmp_path / "rows"), ps.Pipeline()
    keyed = feed.stage(p).group_by("k")
    keyed.window(ps.tumbling("1 minute")).aggregate("counts", n=ps.count()).write_to(ps.sinks.noop(), name="out")
    feed.add(("a", 1, None), ("a", 2, None))
    job = ps.run(p, spark, data_dir=tmp_path / "data")
    with pytest.raises(EngineError) as raised:
        job.wait_for_epoch(1000)
    assert str(raised.value) == (
        "Rows of epoch 0 are not accounted for: stage 'counts' takes 2 rows, and 0 of its windows have changed "
        "(PITSTOP_CHECK_ROWS=1)."
    )
    assert not job.active
    with pytest.raises(EngineError, match="not accounted for"):
        job.stop()


def test_state_that_two_branches_read_is_counted_once(spark, tmp_path):
    feed, now, p = Feed(tmp_path / "rows"), int(time.time()), ps.Pipeline()
    once = feed.stage(p, "rows").group_by("k").distinct("once", within="1 minute")
    for name in ("one", "other"):
        once.group_by("k").rolling_aggregate(name, seen=ps.count()).write_to(ps.sinks.noop(), name=f"{name}-out")
    job = ps.run(p, spark, data_dir=tmp_path / "data")
    feed.add(("a", 1, now), ("b", 2, now), ("a", 3, now), ("c", 4, now))
    read(job, feed)
    job.stop()
    assert [job.progress.stages[name]["state_rows"] for name in ("once", "one", "other")] == [3, 3, 3]
