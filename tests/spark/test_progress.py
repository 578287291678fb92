"""What a job says of itself, whatever Spark says in between."""

import pytest

import pitstop as ps
from pitstop.kit.waiting import wait_until
from pitstop.model.job import Progress
from pitstop.spark.lowering.compile import compile_pipeline
from pitstop.spark.running.progress import ProgressTracker
from tests.spark.harness import Harness, check
from tests.spark.tail import Tail

pytestmark = pytest.mark.spark
IDLE = "spark.sql.streaming.noDataProgressEventInterval"


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
