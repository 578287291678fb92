"""Fails when Spark calls its stateful operators, or the parts of what they keep, by other names."""

import pandas as pd
import pytest
from pyspark.sql import Row
from pyspark.sql import functions as F
from pyspark.sql.streaming import StatefulProcessor
from pyspark.sql.streaming.state import GroupStateTimeout

from pitstop.spark.internals.operators import group_state_field, has_variables, joins_streams, variables
from pitstop.spark.state.saved import operator_frame, operator_names

pytestmark = pytest.mark.spark


def counter():
    """A processor with one variable, ``seen``. A class made in a function goes to the workers by value."""

    class Counter(StatefulProcessor):
        def init(self, handle):
            self.seen = handle.getValueState("seen", "n bigint")

        def handleInputRows(self, key, rows, timers):
            self.seen.update((len(list(rows)),))
            yield Row(key=key[0], n=self.seen.get()[0])

        def close(self):
            pass

    return Counter()


def run(frame, tmp_path):
    """The checkpoint of a streaming DataFrame that has read all there is."""
    folder = tmp_path / "checkpoint"
    query = frame.writeStream.format("noop").option("checkpointLocation", str(folder)).trigger(availableNow=True).start()
    assert query.awaitTermination(120)
    return folder


def rows(folder_stream):
    stream, add = folder_stream
    add('{"key": 1, "time": "2026-01-01T12:00:00Z"}')
    return stream.withWatermark("time", "1 second")


def test_a_join_of_streams_is_known_by_its_operators_name(spark, folder_stream, tmp_path):
    left = rows(folder_stream)
    names = operator_names(spark, run(left.join(left.selectExpr("key AS k"), F.expr("key = k")), tmp_path))
    assert [joins_streams(name) for name in names.values()] == [True], f"Spark calls a join of streams {names}"


def test_other_operators_are_neither_joins_nor_users_processors(spark, folder_stream, tmp_path):
    names = operator_names(spark, run(rows(folder_stream).dropDuplicates(["key"]), tmp_path))
    assert not any(joins_streams(name) or has_variables(name) for name in names.values()), f"Spark calls distinct rows {names}"


@pytest.mark.long
def test_variables_of_a_users_processor_are_told_by_name(spark, folder_stream, tmp_path):
    counted = rows(folder_stream).groupBy("key").transformWithState(counter(), "key bigint, n bigint", "append", "none")
    folder = run(counted, tmp_path)
    names = operator_names(spark, folder)
    assert [has_variables(name) for name in names.values()] == [True], f"Spark calls a user's processor {names}"
    told = spark.read.format("state-metadata").load(str(folder)).select("operatorProperties").first()[0]
    assert variables(told) == ["seen"], f"Spark tells the variables otherwise: {told}"


@pytest.mark.long
def test_state_of_a_pandas_function_is_in_the_field_that_we_read(spark, folder_stream, tmp_path):
    def keep(key, frames, state):
        state.update(("kept",))
        yield pd.DataFrame({"key": [key[0]]})

    grouped = rows(folder_stream).groupBy("key")
    kept = grouped.applyInPandasWithState(keep, "key bigint", "text string", "append", GroupStateTimeout.NoTimeout)
    value = operator_frame(spark, run(kept, tmp_path), 0, 0).schema["value"].dataType
    field = group_state_field(value.fieldNames())
    assert value[field].dataType.simpleString() == "struct<text:string>", f"Spark keeps group state as {value.simpleString()}"
