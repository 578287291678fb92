"""What a job says of itself, whatever Spark says in between."""

import re
import time

import pytest

import pitstop as ps
from pitstop.kit.waiting import wait_until
from pitstop.model.job import Progress
from pitstop.model.left_out import LeftOut
from pitstop.model.sample import Sample
from pitstop.plan.cuts import cuts_of
from pitstop.spark.lowering.compile import compile_pipeline
from pitstop.spark.lowering.lowering import Lowering
from pitstop.spark.running.progress import ProgressTracker, waits_for_data
from tests.spark.harness import Harness, check
from tests.spark.tail import Tail

pytestmark = pytest.mark.spark
IDLE = "spark.sql.streaming.noDataProgressEventInterval"


@pytest.mark.long
def test_rows_that_come_after_an_idle_while_are_counted(spark, tmp_path):
    """Spark's word that nothing has happened bears the number of the epoch to come."""
    tail, harness = Tail(tmp_path, "cars"), Harness(spark, tmp_path)
    p = ps.Pipeline()
    tail.stage(p).write_to(ps.sinks.noop(), name="out")
    tracker = ProgressTracker(compile_pipeline(spark, p), Progress(), lambda *_: None)
    tail.feed(("a", 1, 10), ("b", 1, 11))
    spark.conf.set(IDLE, "50")
    try:
        running = harness.start(p, tmp_path / "checkpoint", 2)
        tail.wait_until_read(running)

        def said_to_be_idle():
            check(running)
            tracker.look(running.query)
            seen = running.query.lastProgress
            return seen is not None and "addBatch" not in seen.durationMs and seen.batchId > running.checkpoint.committed()

        assert wait_until(said_to_be_idle, 60)
        assert (tracker.progress.input_rows, tracker.progress.epoch) == (2, running.checkpoint.committed())
        tail.feed(("a", 1, 20), ("b", 1, 21), ("c", 1, 22))
        tail.wait_until_read(running)
        assert wait_until(lambda: tracker.look(running.query) or tracker.progress.input_rows == 5, 60)
        assert tracker.progress.input_rows == 5
        running.stop(60)
    finally:
        spark.conf.unset(IDLE)


@pytest.mark.long
def test_rows_are_counted_where_sources_stages_with_state_and_sinks_take_and_give_them(spark, tmp_path):
    tail, harness = Tail(tmp_path, "cars"), Harness(spark, tmp_path)
    p = ps.Pipeline()
    rows = tail.stage(p)
    windows = rows.filter("n > 0").group_by("key").window(ps.tumbling("10 seconds")).aggregate("windows", n=ps.count())
    windows.filter("key <> 'a'").write_to(ps.sinks.logger(), name="told")
    rows.write_to(ps.sinks.noop(), name="all")
    dropped = {"gone": {"late_rows": 4}}
    before = Progress(
        stages={"cars": {"rows_out": 100, "behind": 7, "behind_in": "bytes"}, "told": {"rows_in": 50}} | dropped,
        left_out_before={LeftOut.LATE: 1, LeftOut.KEYLESS: 2},
    )
    agreements, began = harness.settings.agreements, time.time()
    tracker = ProgressTracker(compile_pipeline(spark, p), before, lambda *_: None, agreements=agreements)
    running = harness.start(p, tmp_path / "checkpoint", 2)
    running.writer.tell_rows(tracker.wrote)
    running.writer.before_epoch(lambda: tracker.look(running.query))
    for second in (1, 40):  # the second feed closes the windows of the first
        tail.feed(*[(key, n, second) for key in "abc" for n in (0, 1, 2)])
        tail.wait_until_read(running)

    def closed():
        tracker.look(running.query)
        return tracker.progress.stages.get("windows", {}).get("rows_out") == 3

    assert wait_until(closed, 60)
    running.stop(60)
    tracker.look(running.query)
    stages = tracker.progress.stages
    assert stages["cars"]["rows_out"] == 100 + 18
    assert (stages["windows"]["rows_in"], stages["windows"]["rows_out"]) == (12, 3)
    assert stages["told"]["rows_in"] == 50 + 2
    assert 0 < stages["windows"]["state_ms"] <= tracker.progress.epoch_ms
    assert "rows_in" not in stages.get("all", {})
    assert {"addBatch", "walCommit", "commitOffsets"} <= set(tracker.progress.parts_ms)
    assert began < tracker.progress.epoch_at < time.time() + 1
    assert (stages["cars"]["behind"], stages["cars"]["behind_in"]) == (0, "bytes")
    assert tracker.progress.left_out_in_all == {LeftOut.LATE: 5, LeftOut.KEYLESS: 2}


def test_rows_are_not_counted_for_a_job_without_metrics(spark, tmp_path):
    tail, p = Tail(tmp_path, "cars"), ps.Pipeline()
    tail.stage(p).group_by("key").window(ps.tumbling("10 seconds")).aggregate("windows", n=ps.count()).write_to(
        ps.sinks.noop(), name="out"
    )
    names = [_observed(Lowering(spark, count_rows=counts).frame(cuts_of(p.nodes)[0].node)) for counts in (True, False)]
    left_out = ["ahead:timestamps", "source:cars"]
    assert names == [sorted([*left_out, "rows in:0:windows", "rows out:windows"]), left_out]


def _observed(frame):
    """Names of all observations in the plan of a DataFrame."""
    plan = frame._jdf.queryExecution().analyzed().toString()
    return sorted(set(re.findall(r"CollectMetrics ([^,]+),", plan)))


def test_a_job_has_no_watermark_before_its_first_event_so_no_chart_begins_in_1970(spark, tmp_path):
    """Spark itself says 1970 in the first epoch: 56 years behind the clock."""
    tail, harness = Tail(tmp_path, "cars"), Harness(spark, tmp_path)
    p, now = ps.Pipeline(), round(time.time())
    tail.stage(p).write_to(ps.sinks.noop(), name="out")
    tracker = ProgressTracker(compile_pipeline(spark, p), Progress(), lambda *_: None)
    running = harness.start(p, tmp_path / "checkpoint", 2)
    lags = []
    running.writer.before_epoch(lambda: tracker.look(running.query))
    for step in range(3):
        tail.feed(("a", 1, now + step))
        tail.wait_until_read(running)
        assert wait_until(lambda: tracker.look(running.query) or tracker.last_epoch >= running.checkpoint.committed(), 60)
        lags.append(Sample.of(tracker.progress, 1, time.time(), 1).watermark_lag_ms)
    running.stop(60)
    assert lags[0] is None or lags[0] < 600_000, "the first epoch knows no event"
    assert lags[-1] is not None, lags
    assert 0 <= lags[-1] < 600_000, lags


def test_between_two_triggers_a_query_waits_for_data_if_its_last_look_has_found_none(spark, tmp_path):
    (tmp_path / "in").mkdir()
    rows = spark.readStream.schema("n int").json(str(tmp_path / "in"))
    writer = rows.writeStream.format("noop").option("checkpointLocation", str(tmp_path / "checkpoint"))
    query = writer.trigger(processingTime="2 seconds").start()
    try:
        assert wait_until(lambda: waits_for_data(query), 60, step=0.01)
        query.processAllAvailable()  # it has looked at least once more
        assert wait_until(lambda: query.status["message"] == "Waiting for next trigger", 60, step=0.01)
        assert waits_for_data(query)

        (tmp_path / "in" / "1.json").write_text('{"n": 1}')
        assert wait_until(lambda: query.status["isDataAvailable"], 60, step=0.01)
        assert wait_until(lambda: query.status["message"] == "Waiting for next trigger", 60, step=0.01)
        assert not waits_for_data(query)
        assert wait_until(lambda: waits_for_data(query), 60, step=0.01)
    finally:
        query.stop()
