"""Fails when Spark changes how a function of the JVM keeps state by key, or what it gives that function."""

import pytest
from pyspark.sql import functions as F
from pyspark.sql.types import LongType, StructField, StructType

from pitstop.spark.internals.rolling import ROLLED, Fold, rolled

pytestmark = pytest.mark.spark

STATE = StructType([StructField("sum", LongType()), StructField("last", LongType())])


def sums(frame):
    """Each row of a frame of (key, time) with the sum of the times of its key so far."""
    rows = frame.select("key", F.unix_millis("time").alias("v"), F.unix_millis("time").alias("at"))
    before = rows.select(F.lit(None).cast("bigint").alias("so_far"), "*")
    fold = Fold(before.select((F.coalesce("so_far", F.lit(0)) + F.col("v")).alias("sum")), rows.schema, STATE, ordered=True)
    return rolled(rows.select("key", F.struct("key", "v", "at").alias("row")), 1, fold).select(f"{ROLLED}.*")


def test_each_row_comes_with_the_accumulators_after_it_and_the_state_is_a_row_of_them(spark, folder_stream, tmp_path):
    stream, add = folder_stream
    writer = (
        sums(stream).writeStream.format("memory").queryName("sums").option("checkpointLocation", str(tmp_path / "checkpoint"))
    )
    query = writer.start()
    try:
        add('{"key": 1, "time": "1970-01-01T00:00:00.005Z"}', '{"key": 1, "time": "1970-01-01T00:00:00.002Z"}')
        query.processAllAvailable()
        add('{"key": 1, "time": "1970-01-01T00:00:00.003Z"}', '{"key": 2, "time": "1970-01-01T00:00:00.001Z"}')
        query.processAllAvailable()
    finally:
        query.stop()
    found = spark.table("sums").collect()
    assert [tuple(row) for row in found if row["key"] == 1] == [(1, 2, 2, 2), (1, 5, 5, 7), (1, 3, 3, 10)]
    assert [tuple(row) for row in found if row["key"] == 2] == [(2, 1, 1, 1)]
    state = spark.read.format("statestore").load(str(tmp_path / "checkpoint"))
    kept = state.selectExpr("key.key", "value.groupState.*").orderBy("key").collect()
    assert [row.asDict() for row in kept] == [{"key": 1, "sum": 10, "last": 5}, {"key": 2, "sum": 1, "last": 1}]


def test_rows_that_do_not_end_need_no_state(spark):
    frame = spark.createDataFrame([(1, 5), (2, 7), (1, 2)], "key bigint, v bigint")
    found = sums(frame.select("key", F.timestamp_millis("v").alias("time"))).collect()
    assert sorted((row["key"], row["v"], row["sum"]) for row in found) == [(1, 2, 2), (1, 5, 7), (2, 7, 7)]
