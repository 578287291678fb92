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
    return rows.select("timestamp", F.coalesce("value", F.lit(0)).alias("a.b"), odd.alias("odd"), F.lit(5).alias("five"))


def test_columns_that_are_never_null_are_told_with_the_fields_in_them(strict):
    assert strict_columns(strict.schema) == ("a.b", "odd", "odd.s", "odd.in", "odd.in.x", "five")


def test_each_column_may_be_null_and_keeps_its_name_type_and_event_time(strict):
    found = with_nulls(strict)
    assert strict_columns(found.schema) == ()
    assert [(f.name, f.dataType.simpleString(), f.metadata) for f in found.schema.fields] == [
        (f.name, f.dataType.simpleString(), f.metadata) for f in strict.schema.fields
    ]


def test_a_frame_whose_columns_may_be_null_is_left_alone(spark):
    rows = spark.readStream.format("rate").load()
    assert with_nulls(rows) is rows


def test_the_schema_of_state_has_no_column_that_is_never_null(spark, strict, tmp_path):
    counted = with_nulls(strict).groupBy(F.window("timestamp", "1 second"), "`a.b`", "odd", "five").count()
    query = counted.writeStream.outputMode("append").trigger(availableNow=True).format("noop")
    query = query.option("checkpointLocation", str(tmp_path)).start()
    assert query.awaitTermination(60)
    plan = query._jsq.streamingQuery().lastExecution().executedPlan()
    keys = _saved(plan).keyExpressions()
    fields = [keys.apply(place) for place in range(keys.size())]
    assert [field.nullable() for field in fields] == [True] * 4
    assert strict_columns(StructType.fromJson(json.loads(fields[2].dataType().json()))) == ()


def _saved(plan):
    if plan.nodeName().startswith("StateStoreSave"):
        return plan
    below = plan.children()
    return next((found for place in range(below.size()) if (found := _saved(below.apply(place)))), None)
