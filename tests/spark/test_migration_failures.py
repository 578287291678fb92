"""Migrations that fail as Spark runs them: the sentence names the migration, its stage, a key and the cause."""

import errno

import pytest
from pyspark.sql import functions as F

import pitstop as ps
from pitstop.errors import EngineError, IncompatibleError
from pitstop.pipeline.migration import Migration
from pitstop.spark.lowering.compile import compile_pipeline
from pitstop.spark.restoring import failed_migrations
from pitstop.spark.restoring.migrations import try_migrations
from tests.spark.harness import Collected, Harness, numbers

pytestmark = pytest.mark.spark

KEYS, BAD = 4, 3


def job(key="key", state="n bigint"):
    def count_rows(state, row):
        state.n = (state.n or 0) + 1
        return (row.seq, state.n)

    p = ps.Pipeline()
    rows = numbers(p, rows=80, step=40, keys=KEYS).with_columns(region="key % 7")
    counted = rows.group_by(key).map_stateful("counted", count_rows, state, "seq bigint, n bigint")
    counted.write_to(ps.sinks.custom(Collected()), name="out")
    return p


@pytest.fixture(scope="module")
def first(spark, tmp_path_factory):
    folder = tmp_path_factory.mktemp("first")
    Harness(spark, folder).run(job())
    return folder


def raising(value):
    if value == BAD:
        raise ValueError(f"no region for {value}")
    return value


def batches(frames):
    for frame in frames:
        frame["region"] = [raising(key) for key in frame["key"]]
        yield frame.drop(columns="key")


def by_cast(old):
    return old.select(F.expr("CAST(IF(key = 3, 'three', '1') AS bigint) * 100 + key AS region"), "n")


def by_function(old):
    return old.select(F.udf(raising, "bigint")("key").alias("region"), "n")


def by_batches(old):
    return old.select("key", "n").mapInPandas(batches, "n bigint, region bigint")


def by_value(old):
    """Its keys are right, so that only the rows themselves show the error."""
    return old.select((F.col("key") + 1).alias("region"), F.udf(lambda key: raising(key), "bigint")("key").alias("n"))


def by_looking(old):
    old.select(F.expr("CAST(IF(key = 3, 'three', '1') AS bigint)")).collect()
    return old


def by_all(old):
    """No key alone is at fault."""
    total = old.agg(F.sum("n")).first()[0]
    return old.select(F.expr(f"CAST(IF({total} > 50, 'many', '1') AS bigint) + key AS region"), "n")


def by_driver(old):
    return {}["nothing"]


FUNCTION = r"function raising \(test_migration_failures.py, line \d+\): ValueError: no region for 3\.$"
CAST = "the expression 'CAST.* AS bigint\\)': The value '{}' of the type \"STRING\" cannot be cast to \"BIGINT\""
SAID = {
    by_value: " for key 3: " + FUNCTION,
    by_function: " for key 3: " + FUNCTION,
    by_batches: " for key 3: " + FUNCTION,
    by_cast: " for key 3: " + CAST.format("three"),
    by_looking: " for key 3: " + CAST.format("three"),
    by_all: ": " + CAST.format("many"),
    by_driver: ": KeyError: 'nothing'.$",
}


def words_of(function):
    return f"^Migration '{function.__name__}' of stage 'counted' failed{SAID[function]}"


def named(functions, marks=()):
    return [pytest.param(function, id=function.__name__, marks=marks) for function in functions]


@pytest.mark.parametrize("function", [*named([by_value]), *named(list(SAID)[1:], pytest.mark.long)])
def test_a_check_says_which_key_a_migration_cannot_take_and_why(spark, first, tmp_path, function):
    p = job("region")
    p.migrate(Migration("counted", function))
    plan = compile_pipeline(spark, p)
    with pytest.raises(IncompatibleError, match=words_of(function)) as raised:
        try_migrations(spark, p, plan, first / "snapshots" / "saved", {}, tmp_path / "scratch")
    assert "\n" not in raised.value.message


@pytest.mark.long
@pytest.mark.parametrize("function", named([by_value, by_cast]))
def test_a_restore_says_it_too(spark, first, tmp_path, function):
    p = job("region")
    p.migrate(Migration("counted", function))
    with pytest.raises(IncompatibleError, match=words_of(function)) as raised:
        Harness.following(spark, tmp_path, first).restore(p, tmp_path / "checkpoint", None, None, True)
    assert "\n" not in raised.value.message


def test_the_search_for_a_key_ends_in_time(spark, first, tmp_path, monkeypatch):
    monkeypatch.setattr(failed_migrations, "SEARCH_SECONDS", 0.0)
    p = job("region")
    p.migrate(Migration("counted", by_function))
    plan = compile_pipeline(spark, p)
    with pytest.raises(IncompatibleError, match=f"^Migration 'by_function' of stage 'counted' failed: {FUNCTION}"):
        try_migrations(spark, p, plan, first / "snapshots" / "saved", {}, tmp_path / "scratch")


def test_a_migration_that_meets_a_full_disk_may_be_tried_again(spark, first, tmp_path):
    def full(old):
        raise OSError(errno.ENOSPC, "No space left on device")

    p = job("region")
    p.migrate(Migration("counted", full))
    plan = compile_pipeline(spark, p)
    with pytest.raises(EngineError, match=r"^Migration 'full' of stage 'counted' failed: .*No space left") as raised:
        try_migrations(spark, p, plan, first / "snapshots" / "saved", {}, tmp_path / "scratch")
    assert raised.value.details["away"]
