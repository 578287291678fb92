"""Fails when Spark changes how state is kept in a checkpoint, or the tools that read and write it."""

import pytest

from pitstop.snapshots.checkpoint import Checkpoint
from pitstop.spark.internals.raw_state import raw_state, rewrite_state, store_forms

pytestmark = pytest.mark.spark


@pytest.fixture
def checkpoint(folder_stream, tmp_path):
    """A checkpoint whose one operator has seen the keys 1, 2, 3 in epoch 0."""
    stream, add = folder_stream
    add('{"key": 1}', '{"key": 2}', '{"key": 3}')
    folder = tmp_path / "checkpoint"
    query = stream.select("key").dropDuplicates(["key"]).writeStream.format("noop")
    started = query.option("checkpointLocation", str(folder)).trigger(availableNow=True).start()
    assert started.awaitTermination(60)
    return folder


def keys(spark, checkpoint, epoch):
    rows = spark.read.format("statestore").option("batchId", epoch).load(str(checkpoint))
    return sorted(row.key.key for row in rows.collect())


def test_sparks_state_rewriter_still_has_the_constructor_we_call(java_class):
    constructors = [c.getParameterTypes() for c in java_class("execution.streaming.state.StateRewriter").getConstructors()]
    assert [len(types) for types in constructors] == [8], "StateRewriter takes other arguments"
    assert [t.getSimpleName() for t in constructors[0]][1:4] == ["long", "long", "String"], "StateRewriter takes other arguments"


def test_the_reader_of_state_schemas_still_has_the_constructor_we_call(java_class):
    checker = java_class("execution.streaming.state.StateSchemaCompatibilityChecker")
    kinds = [[t.getSimpleName() for t in c.getParameterTypes()] for c in checker.getConstructors()]
    assert kinds == [["StateStoreProviderId", "Configuration", "List", "Option", "boolean"]], (
        f"StateSchemaCompatibilityChecker takes other arguments: {kinds}"
    )


def test_the_raw_read_option_still_exists(spark):
    options = spark._jvm.org.apache.spark.sql.execution.datasources.v2.state.StateSourceOptions
    assert options.INTERNAL_ONLY_READ_ALL_COLUMN_FAMILIES(), "state can no longer be read with all its column families"


def test_raw_state_has_bytes_and_the_columns_by_which_spark_distributes_it(spark, checkpoint):
    rows = raw_state(spark, checkpoint, 0, 0, "default")
    kinds = dict(rows.dtypes)
    assert kinds.get("partition_key") == "struct<key:bigint>", f"raw state has another form: {kinds}"
    assert sorted(row.partition_key.key for row in rows.collect()) == [1, 2, 3], "raw state is not the operator's rows"


def test_state_is_rewritten_as_a_python_function_gives_it(spark, checkpoint):
    assert keys(spark, checkpoint, 0) == [1, 2, 3]
    log = Checkpoint(checkpoint)
    log.write_offsets(1, log.offsets(0))
    asked = []

    def without_two(operator, store, rows):
        asked.append((operator, store))
        return rows.where("partition_key.key <> 2")

    rewrite_state(spark, checkpoint, 0, 1, without_two)
    assert asked == [(0, "default")], f"the rewriter asks for other stores: {asked}"
    log.write_commit(1, 0)
    assert keys(spark, checkpoint, 1) == [1, 3], "the rewriter does not write what the function returned"


def test_the_types_of_a_store_are_told(spark, checkpoint):
    found = store_forms(spark, checkpoint, 0, "default", Checkpoint(checkpoint).schema_files(0).get("default", []))
    assert list(found) == ["default"], f"a plain operator has other column families: {found}"
    assert found["default"].startswith("bigint -> "), f"the key of the store is told as {found['default']}"
