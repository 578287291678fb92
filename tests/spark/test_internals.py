"""Fails loudly when Spark changes what we use of it without a promise."""

import pytest

from pitstop.spark.base.session import optimizer_settings
from pitstop.spark.internals import forget_rows, source_relations, stateful_nodes, watermark_id

pytestmark = pytest.mark.spark


def test_sparks_state_rewriter_still_has_the_constructor_we_call(spark):
    rewriter = spark._jvm.java.lang.Class.forName("org.apache.spark.sql.execution.streaming.state.StateRewriter")
    constructors = [c.getParameterTypes() for c in rewriter.getConstructors()]
    assert [len(types) for types in constructors] == [8]
    assert [t.getSimpleName() for t in constructors[0]][1:4] == ["long", "long", "String"]


def test_the_raw_read_option_still_exists(spark):
    options = spark._jvm.org.apache.spark.sql.execution.datasources.v2.state.StateSourceOptions
    assert options.INTERNAL_ONLY_READ_ALL_COLUMN_FAMILIES()


def test_stateful_operators_are_seen_in_a_streaming_plan(spark):
    stream = spark.readStream.format("rate").load()
    assert stateful_nodes(stream.where("value > 1").withColumn("x", stream.value + 1)) == []
    assert stateful_nodes(stream.dropDuplicates(["value"])) == ["Deduplicate"]
    assert stateful_nodes(stream.groupBy("value").count()) == ["Aggregate"]


def test_the_reader_of_state_schemas_still_has_the_constructor_we_call(spark):
    state = "org.apache.spark.sql.execution.streaming.state"
    checker = spark._jvm.java.lang.Class.forName(f"{state}.StateSchemaCompatibilityChecker")
    kinds = [[t.getSimpleName() for t in c.getParameterTypes()] for c in checker.getConstructors()]
    assert kinds == [["StateStoreProviderId", "Configuration", "List", "Option", "boolean"]]


def test_rows_that_are_kept_without_their_plan_can_be_freed(spark):
    before = spark._jsc.getPersistentRDDs().size()
    rows = spark.range(10).selectExpr("id * 2 AS v").localCheckpoint(eager=False)
    assert rows.agg({"v": "sum"}).collect()[0][0] == 90
    assert rows._jdf.queryExecution().logical().rdd().isCheckpointed()
    assert spark._jsc.getPersistentRDDs().size() == before + 1
    forget_rows(rows)
    assert spark._jsc.getPersistentRDDs().size() == before


def test_a_limit_is_one_stateful_operator(spark):
    assert stateful_nodes(spark.readStream.format("rate").load().limit(5)) == ["GlobalLimit"]


def test_a_query_still_shows_its_watermarks_and_the_lock_between_epochs(spark):
    names = {
        "MicroBatchExecution": {"watermarkTracker", "awaitProgressLock", "lastExecution"},
        "IncrementalExecution": {"watermarkPropagator"},
        "WatermarkTracker": {"updateWatermark"},
        "WatermarkPropagator": {"purge"},
    }
    for name, methods in names.items():
        found = spark._jvm.java.lang.Class.forName(f"org.apache.spark.sql.execution.streaming.runtime.{name}")
        assert methods <= {method.getName() for method in found.getMethods()}


def test_a_watermark_is_known_by_its_id_wherever_its_stage_is_read(spark):
    timed = spark.readStream.format("rate").load().withWatermark("timestamp", "1 second")
    number = watermark_id(timed)
    both = timed.union(timed.where("value > 1")).where("value < 3")
    assert both._jdf.queryExecution().optimizedPlan().toString().count(f"EventTimeWatermark {number}") == 2


@pytest.mark.parametrize("chained", [False, True])
def test_no_filter_gets_below_the_event_time(spark, chained):
    before = spark.conf.get("spark.sql.optimizer.excludedRules", "")
    for key, value in optimizer_settings(chained).items():
        spark.conf.set(key, value)
    try:
        timed = spark.readStream.format("rate").load().withWatermark("timestamp", "1 second")
        few = timed.where("value < 0").dropDuplicates(["value"])
        plan = few._jdf.queryExecution().optimizedPlan().toString()
    finally:
        spark.conf.set("spark.sql.optimizer.excludedRules", before)
    assert plan.index("Filter") < plan.index("EventTimeWatermark")


def test_equal_readers_are_one_relation(spark):
    one, other = (spark.readStream.format("rate").option("rowsPerSecond", n).load() for n in (1, 2))
    assert source_relations(other.union(one).union(one).union(other)) == [0, 1, 1, 0]
