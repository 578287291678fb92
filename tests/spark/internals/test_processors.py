"""Fails when Spark hands a user's processor over otherwise, or asks it for its variables otherwise."""

import pytest
from pyspark.sql.streaming import StatefulProcessor
from pyspark.sql.types import DataType

from pitstop.spark.internals.jvm import analyzed
from pitstop.spark.internals.processors import Declared, UndeclaredError, declared, is_processor

pytestmark = pytest.mark.spark


def processor(declare):
    class Processor(StatefulProcessor):
        def init(self, handle):
            self.held = declare(handle)

        def handleInputRows(self, key, rows, timers):
            yield from ()

        def close(self):
            pass

    return Processor()


def node(folder_stream, declare, pandas=False):
    made, (stream, _) = processor(declare), folder_stream
    grouped = stream.groupBy("key")
    run = grouped.transformWithStateInPandas if pandas else grouped.transformWithState
    return made, analyzed(run(made, "key bigint", "append", "processingTime"))


def every(handle):
    one = handle.getValueState("n", "n bigint", 60_000)
    return one, handle.getListState("marks", DataType.fromDDL("seq bigint")), handle.getMapState("seen", "v string", "n int")


@pytest.mark.parametrize("pandas", [False, True])
def test_variables_are_told_as_init_declares_them_and_the_users_own_processor_stays_as_it_is(folder_stream, pandas):
    made, found = node(folder_stream, every, pandas)
    assert is_processor(found)
    assert declared(found) == [
        Declared("n", "value", DataType.fromDDL("n bigint"), None, 60_000),
        Declared("marks", "list", DataType.fromDDL("seq bigint"), None, None),
        Declared("seen", "map", DataType.fromDDL("n int"), DataType.fromDDL("v string"), None),
    ]
    assert not hasattr(made, "held")


def test_an_init_that_raises_is_told_with_its_reason(folder_stream):
    def fails(handle):
        raise OSError("no such database")

    with pytest.raises(UndeclaredError, match=r"^its init raises OSError: no such database$"):
        declared(node(folder_stream, fails)[1])


def test_another_operator_is_no_processor(folder_stream):
    assert not is_processor(analyzed(folder_stream[0].dropDuplicates(["key"])))
