"""Fails when Spark changes how a query keeps its watermarks."""

import pytest
from pyspark.sql import functions as F

from pitstop.spark.internals.jvm import java_query
from pitstop.spark.internals.watermarks import (
    WATERMARK_DELAY,
    no_epoch_begins,
    take_up_watermarks,
    watermark_id,
    watermark_nodes,
)

pytestmark = pytest.mark.spark

NOON_MS = 1_767_268_800_000


def row(key, second):
    return f'{{"key": {key}, "time": "2026-01-01T12:00:{second:02d}Z"}}'


@pytest.fixture
def query(folder_stream, tmp_path):
    """A query with a lag of one second that has done an epoch of two rows, at noon and ten seconds later; and ``add``."""
    stream, add = folder_stream
    add(row(1, 0), row(2, 10))
    windows = stream.withWatermark("time", "1 second").groupBy(F.window("time", "5 seconds")).count()
    found = windows.writeStream.format("noop").option("checkpointLocation", str(tmp_path / "checkpoint")).start()
    found.processAllAvailable()
    yield found, add
    found.stop()


@pytest.mark.parametrize(
    ("name", "methods"),
    [
        ("MicroBatchExecution", {"watermarkTracker", "awaitProgressLock", "lastExecution"}),
        ("IncrementalExecution", {"watermarkPropagator"}),
        ("WatermarkTracker", {"updateWatermark"}),
        ("WatermarkPropagator", {"purge"}),
    ],
)
def test_a_query_still_has_what_we_call(java_class, name, methods):
    has = {method.getName() for method in java_class(f"execution.streaming.runtime.{name}").getMethods()}
    assert methods <= has, f"Spark's {name} no longer has {methods - has}"


def test_the_mark_of_event_time_is_under_its_old_name(spark):
    timed = spark.readStream.format("rate").load().withWatermark("timestamp", "3 seconds")
    marks = timed.schema["timestamp"].metadata
    assert marks.get(WATERMARK_DELAY) == 3000, f"Spark marks event time otherwise: {marks}"


def test_a_watermark_is_known_by_its_id_wherever_its_stage_is_read(spark):
    timed = spark.readStream.format("rate").load().withWatermark("timestamp", "1 second")
    both = timed.union(timed.where("value > 1")).where("value < 3")
    plan = both._jdf.queryExecution().optimizedPlan().toString()
    assert plan.count(f"EventTimeWatermark {watermark_id(timed)}") == 2, f"a watermark operator has no lasting id:\n{plan}"


def test_a_watermark_operator_tells_its_rows_and_its_watermark(query):
    running, add = query
    add(row(3, 20), row(4, 30))
    running.processAllAvailable()
    seen = [(node.rows, node.watermark_ms) for node in watermark_nodes(running)]
    # Its last epoch may be one without rows, which closes windows: then the numbers mean nothing.
    assert len(seen) == 1, f"one withWatermark is {len(seen)} operators of the epoch's plan"
    assert seen[0][0] in (0, 2), f"a watermark operator counts {seen[0][0]} of two rows"
    assert seen[0][0] == 0 or seen[0][1] == NOON_MS + 29_000, f"a watermark operator tells {seen[0][1]}"


def test_the_lock_between_epochs_is_held_by_who_asks(query):
    running, _ = query
    lock = java_query(running).awaitProgressLock()
    with no_epoch_begins(running):
        assert lock.isHeldByCurrentThread(), "the lock between epochs is not held by the thread that took it"
    assert not lock.isHeldByCurrentThread(), "the lock between epochs was not given back"


def test_a_raised_watermark_holds_from_the_next_epoch_on(query):
    running, add = query
    with no_epoch_begins(running):
        epoch = running.lastProgress.batchId
        for node in watermark_nodes(running):
            node.raise_to(NOON_MS + 50_000)
        take_up_watermarks(running, epoch + 1)
    add(row(3, 55))
    running.processAllAvailable()
    told = next(seen for seen in running.recentProgress if seen.numInputRows and seen.batchId > epoch)
    assert told.eventTime["watermark"] == "2026-01-01T12:00:50.000Z", f"the raised watermark was not taken up: {told.eventTime}"
