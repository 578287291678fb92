"""Fails when Spark changes how a query hands its watermark to its operators."""

import pytest
from pyspark.sql import functions as F

from pitstop.spark.internals.early_watermarks import LOWEST_MS, allow_early_watermarks
from pitstop.spark.internals.jvm import java_query, session_of

pytestmark = pytest.mark.spark


def row(key, time):
    return f'{{"key": {key}, "time": "{time}"}}'


@pytest.fixture
def windows(spark, folder_stream, tmp_path):
    """A query of windows of a minute, which gathers its results in a table, and ``add``."""
    allow_early_watermarks(spark)
    stream, add = folder_stream
    counts = stream.withWatermark("time", "1 second").groupBy(F.window("time", "1 minute")).count()
    writer = counts.writeStream.format("memory").queryName("early").option("checkpointLocation", str(tmp_path / "checkpoint"))
    found = writer.start()
    yield found, add
    found.stop()


def test_it_is_set_up_once_a_session(spark):
    for _ in range(2):
        allow_early_watermarks(spark)
    names = [listener.getClass().getName() for listener in session_of(spark).streams().listListeners()]
    assert names.count("EarlyWatermarks") == 1


@pytest.mark.long
def test_windows_before_1970_close_when_the_watermark_has_passed_them(spark, windows):
    query, add = windows
    add(row(1, "1960-01-01T12:00:10Z"))
    query.processAllAvailable()
    add(row(2, "1960-01-01T12:00:20Z"), row(3, "1960-01-01T12:01:10Z"))
    query.processAllAvailable()
    assert java_query(query).watermarkTracker().currentWatermark() == -315_575_931_000, "the watermark stays at 0"
    found = spark.sql("SELECT CAST(window.end AS string) AS end, count FROM early").collect()
    assert [(each["end"], each["count"]) for each in found] == [("1960-01-01 12:01:00", 2)], "a window before 1970 is late"


def test_a_source_without_rows_holds_the_watermark_at_the_lowest(spark, folder_stream, tmp_path):
    allow_early_watermarks(spark)
    stream, add = folder_stream
    (tmp_path / "silent").mkdir()
    silent = spark.readStream.schema("key bigint, time timestamp").json(str(tmp_path / "silent"))
    both = stream.withWatermark("time", "1 second").union(silent.withWatermark("time", "1 second"))
    counts = both.groupBy(F.window("time", "1 minute")).count()
    query = counts.writeStream.format("noop").option("checkpointLocation", str(tmp_path / "checkpoint")).start()
    add(row(1, "1960-01-01T12:00:10Z"))
    query.processAllAvailable()
    watermark = java_query(query).watermarkTracker().currentWatermark()
    query.stop()
    assert watermark == LOWEST_MS
