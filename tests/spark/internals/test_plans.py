"""Fails when Spark changes what its plans say."""

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import functions as F

from pitstop.spark.base.session import optimizer_settings
from pitstop.spark.internals.jvm import analyzed
from pitstop.spark.internals.plans import check_streamable, expressions, own_operators, source_relations, stateful_nodes

pytestmark = pytest.mark.spark


@pytest.fixture
def stream(spark):
    return spark.readStream.format("rate").load()


@pytest.mark.parametrize(
    ("stateful", "name"),
    [
        (lambda rows: rows.dropDuplicates(["value"]), "Deduplicate"),
        (lambda rows: rows.dropDuplicatesWithinWatermark(["value"]), "DeduplicateWithinWatermark"),
        (lambda rows: rows.groupBy("value").count(), "Aggregate"),
        (lambda rows: rows.limit(5), "GlobalLimit"),
        (lambda rows: rows.join(rows.selectExpr("value AS other"), rows.value == rows.value + 1), "Join"),
    ],
)
def test_an_operator_with_state_is_one_node_of_a_known_name(stream, stateful, name):
    found = stateful_nodes(stateful(stream.withWatermark("timestamp", "1 second")))
    assert found == [name], f"Spark's plan shows {found} where it showed one {name}"


def test_an_operator_without_state_is_not_counted(stream):
    found = stateful_nodes(stream.where("value > 1").withColumn("x", stream.value + 1))
    assert found == [], f"Spark's plan of a filter and a column shows stateful nodes: {found}"


def test_what_an_input_brings_along_is_told_apart_from_what_is_added(stream):
    given = stream.dropDuplicates(["value"])
    found = own_operators(given.groupBy("value").count(), [given])
    assert [item if isinstance(item, int) else item.name for item in found] == ["Aggregate", 0], (
        f"an input is no longer found in the plan that is made of it: {found}"
    )


def test_equal_code_has_an_equal_form(stream):
    one, other = (own_operators(stream.where("value > 1").groupBy("value").count(), []) for _ in range(2))
    assert one == other, f"Spark's text of a node has numbers that differ from plan to plan: {one}, {other}"


def test_the_form_tells_every_column_and_is_spark_s_own_text_where_that_is_whole(stream):
    def forms(types):
        columns = [F.lit(None).cast(kind).alias(f"c{number}") for number, kind in enumerate(types)]
        (found,) = own_operators(stream.select("value", *columns).dropDuplicates(["value"]), [])
        return found.form

    names = [f"c{number}:int" for number in range(39)]
    assert forms(["int"] * 39).endswith(f" over struct<value:bigint,{','.join(names)}>")
    assert forms(["int"] * 39) != forms(["int"] * 38 + ["string"])
    nested = "struct<a:array<struct<b:decimal(10,2)>>,c:map<string,timestamp_ntz>>"
    few = stream.select(*[F.lit(None).cast(nested).alias(f"c{number}") for number in range(24)], "value")
    (found,) = own_operators(few.dropDuplicates(["value"]), [])
    assert found.form.endswith(f" over {analyzed(few).schema().simpleString()}"), "saved plans have Spark's short text"


def test_equal_constants_of_an_aggregate_have_a_buffer_each(stream):
    lifted = stream.select("value", *[F.lit(1).cast("bigint").alias(name) for name in ("a", "b")])
    plan = lifted.groupBy("value").agg(F.sum("a"), F.sum("b"))._jdf.queryExecution().optimizedPlan().toString()
    assert "sum(1)" not in plan, f"two counts in one stage would share a buffer, while the layout of their state has two:\n{plan}"


def test_equal_readers_are_one_relation(spark):
    one, other = (spark.readStream.format("rate").option("rowsPerSecond", n).load() for n in (1, 2))
    found = source_relations(other.union(one).union(one).union(other))
    assert found == [0, 1, 1, 0], f"Spark's readers in the plan, or which of them are equal, are others: {found}"


def test_what_cannot_run_as_a_stream_is_refused(stream):
    with pytest.raises(AnalysisException, match=r"(?i)sort"):
        check_streamable(stream.orderBy("value"))


def test_what_can_run_as_a_stream_is_not(stream):
    check_streamable(stream.dropDuplicates(["value"]))


@pytest.mark.parametrize("chained", [False, True])
def test_no_filter_gets_below_the_event_time(spark, stream, chained):
    before = spark.conf.get("spark.sql.optimizer.excludedRules", "")
    for key, value in optimizer_settings(chained).items():
        spark.conf.set(key, value)
    try:
        few = stream.withWatermark("timestamp", "1 second").where("value < 0").dropDuplicates(["value"])
        plan = few._jdf.queryExecution().optimizedPlan().toString()
    finally:
        spark.conf.set("spark.sql.optimizer.excludedRules", before)
    assert plan.index("Filter") < plan.index("EventTimeWatermark"), f"a rule that is not switched off moves filters:\n{plan}"


def test_the_analysed_plan_keeps_what_the_optimizer_would_drop(stream):
    assert analyzed(stream.where("true")).nodeName() == "Filter", "the plan we read is no longer the one before the optimizer"


@pytest.mark.parametrize(
    ("made", "strict"),
    [
        (lambda rows: rows.dropDuplicates(["value"]), ("value",)),
        (lambda rows: rows.dropDuplicates(["timestamp"]), ()),
        (lambda rows: rows.dropDuplicatesWithinWatermark(["timestamp"]), ()),
        (lambda rows: rows.limit(5), ()),
        (lambda rows: rows.groupBy("timestamp").count(), ("value", "price")),
    ],
)
def test_columns_that_an_operator_does_not_keep_are_not_told(stream, made, strict):
    rows = stream.select("timestamp", *[F.coalesce("value", F.lit(0)).alias(name) for name in ("value", "price")])
    (found,) = own_operators(made(rows.withWatermark("timestamp", "1 second")), [])
    assert found.never_null == strict


def test_a_column_has_one_text_however_it_is_written(spark):
    frame = spark.range(1).selectExpr("id", "cast(id as string) AS name", "array(id) AS many")
    spaced, made = F.expr("cast( id as int )*2"), F.col("id").cast("int") * 2
    assert expressions(frame, [spaced, F.expr("`id`"), F.expr("name = 'A  b'")]) == expressions(
        frame, [made, F.col("id"), F.col("name") == "A  b"]
    )
    assert expressions(frame, [F.expr("name = 'a  b'")]) != expressions(frame, [F.expr("name = 'A  b'")])
    assert expressions(frame, [F.col("id").alias("other")]) == ["id"]
    assert expressions(frame.alias("rows"), [F.expr("id + 1"), F.col("rows.name")]) == expressions(
        frame, [F.expr("id + 1"), F.col("name")]
    )


@pytest.mark.parametrize(
    ("text", "without"),
    [
        ("case when n <= v then 3 else v end + n", "(CASE WHEN (n <= v) THEN 3 ELSE v END + n)"),
        ("if(n > 0, n, v) * 2L", "((IF((n > 0), n, v)) * 2L)"),
        ("coalesce(n, v) > 2L", "CAST((coalesce(n, v) > 2L) AS DOUBLE)"),
        ("nullif(n, v) * v", None),
        ("array(n, v)[0] * 2L", None),
        ("greatest(n, v, 1.5) * 2L", None),
        ("map(n, v, v, v)[n] * 2", None),
    ],
)
def test_an_expression_of_several_types_has_a_text_without_what_widens(spark, text, without):
    frame = spark.sql("select 1 as n, 2.5D as v")
    (found,) = expressions(frame, [F.expr(f"cast({text} as double)")])
    assert without in (None, found)


def test_a_cast_that_loses_nothing_is_not_in_the_text_of_a_column(spark):
    numbers = ("cast(id as int) AS small", "cast(id as double) AS far", "cast(id as decimal(10,2)) AS exact")
    frame = spark.range(1).selectExpr("id", *numbers)
    wide = ["cast(small as double) + far", "cast(cast(small as bigint) as decimal(20,0))"]
    assert expressions(frame, [F.expr(text) for text in wide]) == ["(small + far)", "small"]
    assert expressions(frame, [F.expr("sum(cast(small as bigint))")]) == ["sum(small)"]
    narrow = ["cast(far as int)", "cast(cast(id as int) as double)", "cast(small as string)", "cast(exact as double)"]
    assert expressions(frame, [F.expr(text) for text in narrow]) == [
        "CAST(far AS INT)",
        "CAST(id AS INT)",
        "CAST(small AS STRING)",
        "CAST(exact AS DOUBLE)",
    ]


def test_a_function_of_the_users_with_a_variable_has_one_text(spark):
    frame = spark.range(1).selectExpr("array(id) AS many")
    first, second = (expressions(frame, [F.transform("many", lambda x: x + 1)]) for _ in range(2))
    assert first == second == expressions(frame, [F.expr("transform(many, other -> other + 1)")])
