"""Looks into a run: the tasks of its last epochs, Spark's plan, and the rows of a stage in the next epoch."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

import pitstop as ps
from pitstop.errors import ConflictError, PitstopError, WaitTimeoutError
from pitstop.kit.waiting import wait_until
from pitstop.model.execution import epochs_of
from tests.spark.harness import Collected

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]

SECONDS = 60
SLEEP = 0.4


class Rows:
    """A folder to which a test adds files of rows (key, n)."""

    def __init__(self, folder):
        self.folder, self.files = folder, 0
        folder.mkdir()

    def stage(self, p):
        return p.read_from(ps.sources.files(str(self.folder), "csv", "key string, n bigint", streaming=True), name="rows")

    def add(self, *rows):
        self.files += 1
        (self.folder / ".part").write_text("".join(f"{key},{n}\n" for key, n in rows))
        (self.folder / ".part").rename(self.folder / f"{self.files}.csv")


@pytest.fixture
def rows(tmp_path):
    return Rows(tmp_path / "rows")


@pytest.fixture
def start(spark, tmp_path):
    jobs = []

    def begin(p):
        jobs.append(ps.run(p, spark=spark, data_dir=tmp_path / "data"))
        return jobs[-1]

    yield begin
    for job in jobs:
        job.stop()


def slow_for_one_key(state, row):
    """Take long for one key: the partition of that key is skewed."""
    if row["key"] == "slow":
        time.sleep(SLEEP)
    return {"seen": row["n"]}


def test_the_tasks_of_the_last_epochs_tell_which_partition_keeps_the_others_waiting(start, rows):
    p = ps.Pipeline()
    counted = rows.stage(p).group_by("key").map_stateful("slowly", slow_for_one_key, state="last bigint", output="seen bigint")
    counted.write_to(ps.sinks.noop(), name="out")
    job = start(p)
    for epoch in range(3):
        rows.add(("slow", epoch), *((f"k{number}", epoch) for number in range(20)))
        job.wait_for_epoch(epoch)
    facts = job._run.execution(2)
    epochs = epochs_of(facts["stages"])
    assert [each.epoch for each in epochs] == [2, 1], "the newest first, and no more than asked for"
    with_state = [stage for stage in epochs[0].stages if stage.tasks == 2 and stage.slowest_rows]
    assert len(with_state) == 1, epochs[0]
    (stage,) = with_state
    assert stage.longest_ms >= SLEEP * 1000
    assert stage.running == 0
    assert stage.shortest_ms <= stage.median_ms <= stage.longest_ms
    assert stage.skew == pytest.approx(stage.longest_ms / stage.median_ms, abs=0.06)
    assert "Exchange" in stage.steps
    assert not any("Codegen" in step for step in stage.steps)
    assert 1 <= stage.slowest_rows <= 21
    assert "opId = 0" in facts["plan"]
    assert facts["plan"].startswith("== Physical Plan ==")
    assert facts["peekable"] == ["slowly"]


def test_a_run_without_an_epoch_has_neither_tasks_nor_a_plan(start, rows):
    p = ps.Pipeline()
    rows.stage(p).write_to(ps.sinks.noop(), name="out")
    job = start(p)
    facts = job._run.execution(5)
    assert (facts["stages"], facts["plan"]) == ([], "")


def windows_and_two_sinks(rows):
    p, windows, large = ps.Pipeline(), Collected(), Collected()
    timed = rows.stage(p).with_columns(ts="timestamp_seconds(n)").with_timestamps("ts", allowed_lag="0 seconds")
    counts = timed.group_by("key").window(ps.tumbling("10 seconds")).aggregate("counts", events=ps.count())
    counts.write_to(ps.sinks.custom(windows), name="windows")
    counts.filter("events > 1", name="large").write_to(ps.sinks.custom(large), name="largest")
    return p, windows, large


def peeked(job, *stages, seconds=30.0):
    """Begin to peek at stages; return the futures, once all of them wait for an epoch."""
    pool = ThreadPoolExecutor(len(stages))
    futures = [pool.submit(job.peek, stage, 20, seconds) for stage in stages]
    assert wait_until(lambda: len(job._run._peeks._waiting) == len(stages) or any(f.done() for f in futures), SECONDS)
    return futures


def test_the_rows_of_stages_are_those_that_their_sinks_get_and_sinks_get_each_once(start, rows):
    p, windows, large = windows_and_two_sinks(rows)
    job = start(p)
    counts, over_one = peeked(job, "counts", "large")
    rows.add(("a", 1), ("a", 2), ("b", 3))
    rows.add(("c", 100))  # closes the first window
    shown = [(row["key"], row["events"]) for row in counts.result(SECONDS)]
    assert sorted(shown) == [("a", 2), ("b", 1)]
    assert [(row["key"], row["events"]) for row in over_one.result(SECONDS)] == [("a", 2)]
    assert wait_until(lambda: len(windows.rows) == 2 and len(large.rows) == 1, SECONDS)
    rows.add(("c", 200))
    assert wait_until(lambda: len(windows.rows) == 3, SECONDS)
    assert sorted((row["key"], row["events"]) for row in windows.rows) == [("a", 2), ("b", 1), ("c", 1)]


def test_a_job_with_one_sink_is_peeked_at_too_and_writes_each_row_once(start, rows, tmp_path, spark):
    p = ps.Pipeline()
    rows.stage(p).filter("n > 1", name="more").write_to(ps.sinks.files(str(tmp_path / "out")), name="out")
    job = start(p)
    rows.add(("before", 2))
    job.wait_for_epoch(0)
    (more,) = peeked(job, "more")
    rows.add(*(("during", n) for n in range(40)))
    shown = more.result(SECONDS)
    assert len(shown) == 20
    assert {row["key"] for row in shown} == {"during"}
    assert min(row["n"] for row in shown) > 1
    job.wait_for_epoch(1)
    rows.add(("after", 3))
    job.wait_for_epoch(2)
    written = sorted((row.key, row.n) for row in spark.read.parquet(str(tmp_path / "out")).collect())
    assert written == sorted([("before", 2), ("after", 3), *(("during", n) for n in range(2, 40))])


def test_stages_whose_rows_spark_does_not_keep_are_refused_with_those_that_can_be_peeked_at(start, rows):
    p, _, _ = windows_and_two_sinks(rows)
    job = start(p)
    with pytest.raises(ConflictError, match=r"stage 'rows' stay within Spark's own query.*: counts, large\."):
        job.peek("rows")


def test_a_peek_in_vain_says_so_in_time_and_later_epochs_are_as_before(start, rows):
    p, windows, _ = windows_and_two_sinks(rows)
    job = start(p)
    rows.add(("a", 1))
    began = time.monotonic()
    with pytest.raises(WaitTimeoutError, match="Stage 'counts' has given no row in 1 seconds"):
        job.peek("counts", wait_seconds=1.0)
    assert time.monotonic() - began < 20
    assert not job._run._peeks.any
    rows.add(("c", 100))
    assert wait_until(lambda: len(windows.rows) == 1, SECONDS)


def test_rows_that_cannot_be_shown_harm_the_peek_and_not_the_job(start, rows, monkeypatch):
    p, windows, _ = windows_and_two_sinks(rows)
    job = start(p)
    rows.add(("a", 1))
    job.wait_for_epoch(0)
    failing = threading.Event()

    def fail(*_):
        failing.set()
        raise ValueError("no such thing")

    monkeypatch.setattr("pitstop.spark.running.peeks._first", fail)
    (counts,) = peeked(job, "counts")
    rows.add(("c", 100))
    with pytest.raises(PitstopError, match=r"rows of stage 'counts' cannot be shown.*no such thing"):
        counts.result(SECONDS)
    assert failing.is_set()
    assert wait_until(lambda: len(windows.rows) == 1, SECONDS)
    assert job._run.failure() is None
