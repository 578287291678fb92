"""Fails when Spark finds out by itself again what a column was told to be."""

import json

import pytest
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from pitstop.spark.internals.nulls import strict_columns, with_nulls

pytestmark = pytest.mark.spark


@pytest.fixture
def strict(spark):
    rows = spark.readStream.format("rate").load().withWatermark("timestamp", "1 second")
    odd = F.struct(F.lit("a").alias("s"), F.struct(F.lit(1).alias("x")).alias("in"))
    many = {"list": F.array("five"), "structs": F.array(odd), "map": F.create_map("value", F.coalesce("value", F.lit(0)))}
    rows = rows.withColumn("five", F.lit(5))
    return rows.select(
        "timestamp",
        F.coalesce("value", F.lit(0)).alias("a.b"),
        odd.alias("odd"),
        "five",
        *[column.alias(name) for name, column in many.items()],
    )


def test_columns_that_are_never_null_are_told_with_the_fields_in_them(strict):
    in_odd = ("s", "in", "in.x")
    assert strict_columns(strict.schema) == (
        *("a.b", "odd", *(f"odd.{name}" for name in in_odd), "five"),
        *("list", "list[]", "structs", "structs[]", *(f"structs[].{name}" for name in in_odd), "map", "map[]"),
    )


def test_each_column_may_be_null_and_keeps_its_name_type_and_event_time(strict):
    found = with_nulls(strict)
    assert strict_columns(found.schema) == ()
    assert [(f.name, f.dataType.simpleString(), f.metadata) for f in found.schema.fields] == [
        (f.name, f.dataType.simpleString(), f.metadata) for f in strict.schema.fields
    ]


def test_a_frame_whose_columns_may_be_null_is_left_alone(spark):
    rows = spark.readStream.format("rate").load()
    assert with_nulls(rows) is rows


def constants(rows):
    return rows.select(F.lit("eu").alias("region"), F.lit(None).cast("int").alias("none"), "five", "timestamp", "`a.b`")


def known(rows):
    return rows.sparkSession.readStream.format("rate").load().withWatermark("timestamp", "1 second").filter("value > 3")


def joined_with_time(rows):
    other = rows.sparkSession.readStream.format("rate").load().withWatermark("timestamp", "1 second")
    return rows.join(other.select(F.col("timestamp").alias("at"), "value"), F.expr("timestamp = at"))


@pytest.mark.parametrize("made", [constants, known])
def test_a_join_keeps_what_may_be_null_also_of_constants_and_of_what_a_filter_has_let_through(spark, strict, tmp_path, made):
    rows = with_nulls(made(strict), filtered=True).withColumnRenamed("value", "left")
    query = joined_with_time(rows).writeStream.outputMode("append").trigger(availableNow=True).format("noop")
    query = query.option("checkpointLocation", str(tmp_path)).start()
    assert query.awaitTermination(60)
    found = _node(query._jsq.streamingQuery().lastExecution().executedPlan(), "StreamingSymmetricHashJoin")
    saved = StructType.fromJson(json.loads(found.children().apply(0).schema().json()))
    assert len(saved) == len(rows.columns)
    assert [name for name in strict_columns(saved) if name != "timestamp"] == []


def counted(rows):
    kept = rows.select("timestamp", "`a.b`", F.struct("odd", "list", "structs", "map").alias("all"), "five")
    return kept.groupBy(F.window("timestamp", "1 second"), "`a.b`", "five").agg(F.count("*"), F.first("all"))


def joined(rows):
    other = rows.sparkSession.readStream.format("rate").load().withWatermark("timestamp", "1 second")
    return rows.join(other.select(F.col("timestamp").alias("at"), "value"), F.expr("`a.b` = value AND timestamp = at"))


@pytest.mark.parametrize(("stage", "node"), [(counted, "StateStoreSave"), (joined, "StreamingSymmetricHashJoin")])
def test_the_schema_of_state_has_no_column_that_is_never_null(spark, strict, tmp_path, stage, node):
    query = stage(with_nulls(strict)).writeStream.outputMode("append").trigger(availableNow=True).format("noop")
    query = query.option("checkpointLocation", str(tmp_path)).start()
    assert query.awaitTermination(60)
    found = _node(query._jsq.streamingQuery().lastExecution().executedPlan(), node)
    saved = StructType.fromJson(json.loads(found.children().apply(0).schema().json()))
    assert len(saved) > 4
    # What the stage itself makes is never null; so are the key and the time of rows that match.
    own = ("window", "count", "a.b", "timestamp") if stage is joined else ("window", "count")
    assert [name for name in strict_columns(saved) if not name.startswith(own)] == []


def _node(plan, name):
    if plan.nodeName().startswith(name):
        return plan
    below = plan.children()
    return next((found for place in range(below.size()) if (found := _node(below.apply(place), name))), None)
