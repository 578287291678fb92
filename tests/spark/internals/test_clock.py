"""Fails when Spark changes how a query keeps the interval of its epochs."""

from datetime import datetime

import pytest

from pitstop.kit.waiting import wait_until
from pitstop.spark.internals.clock import set_interval

pytestmark = pytest.mark.spark


def beginnings(query):
    """Return epoch -> the time at which it began, in seconds."""
    return {
        progress.batchId: datetime.fromisoformat(progress.timestamp.replace("Z", "+00:00")).timestamp()
        for progress in query.recentProgress
    }


def test_epochs_begin_at_the_interval_that_a_running_query_is_given(spark, tmp_path):
    numbers = spark.readStream.format("rate").option("rowsPerSecond", 1_000).load()
    stream = numbers.writeStream.option("checkpointLocation", str(tmp_path / "checkpoint")).trigger(
        processingTime="1 millisecond"
    )
    query = stream.format("noop").start()
    try:
        assert wait_until(lambda: len(beginnings(query)) >= 3, 60, step=0.05)
        set_interval(query, 1_500)
        last = max(beginnings(query))
        assert wait_until(lambda: max(beginnings(query)) >= last + 4, 60, step=0.05)
        times = beginnings(query)
        # Spark counts intervals from 1970.
        assert all(1.4 < times[epoch + 1] - times[epoch] < 4 for epoch in range(last + 2, last + 4)), times
        set_interval(query, 1)
        assert wait_until(lambda: max(beginnings(query)) >= last + 10, 60, step=0.05)
    finally:
        query.stop()
