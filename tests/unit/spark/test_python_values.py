"""Arrow's values as Python's, and what is said to Spark of a key's state: as Arrow and Spark do it, only faster."""

import json
from datetime import date, datetime, timedelta

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql.streaming.state import GroupState
from pyspark.sql.types import LongType, StructField, StructType

from pitstop.spark.internals.arrow import python_values
from pitstop.spark.internals.keyed_batches import KeptState, facts_of

KINDS = {
    "bool": (pa.bool_(), st.booleans()),
    "tinyint": (pa.int8(), st.integers(-(2**7), 2**7 - 1)),
    "bigint": (pa.int64(), st.integers(-(2**63), 2**63 - 1)),
    "float": (pa.float32(), st.floats(width=32)),
    "double": (pa.float64(), st.floats()),
    "string": (pa.string(), st.text(st.characters(exclude_categories=["Cs"]), max_size=5)),
    "large string": (pa.large_string(), st.text(st.characters(exclude_categories=["Cs"]), max_size=5)),
    "binary": (pa.binary(), st.binary(max_size=5)),
    "decimal": (pa.decimal128(38, 10), st.decimals(-(10**20), 10**20, places=10)),
    "date": (pa.date32(), st.dates(date(1, 1, 1), date(9999, 12, 31))),
    "timestamp": (pa.timestamp("us"), st.datetimes(datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59, 999999))),
    "array": (pa.list_(pa.int64()), st.lists(st.none() | st.integers(-5, 5), max_size=3)),
}


@pytest.mark.parametrize("name", KINDS)
def test_values_are_those_that_arrow_gives(name):
    kind, values = KINDS[name]

    @given(st.lists(st.none() | values, max_size=6), st.integers(0, 3))
    def check(items, start):
        array = pa.array(items, kind).slice(start)
        found, wanted = python_values(array), array.to_pylist()
        assert repr(found) == repr(wanted)
        assert list(map(type, found)) == list(map(type, wanted))

    check()


@pytest.mark.parametrize("years", [-5, 10_000])
def test_a_time_that_python_cannot_tell_is_an_error_and_no_number(years):
    micros = int((datetime(1970, 1, 1) - datetime(1, 1, 1)) / timedelta(microseconds=1))
    beyond = pa.array([-micros - 1 if years < 0 else 253_402_300_800_000_000], pa.int64()).cast(pa.timestamp("us"))
    with pytest.raises((OverflowError, ValueError)):
        python_values(beyond)


PROPERTIES = {
    "optionalValue": None,
    "batchProcessingTimeMs": 1,
    "eventTimeWatermarkMs": 1_000,
    "timeoutConf": "EventTimeTimeout",
    "hasTimedOut": False,
    "watermarkPresent": True,
    "defined": True,
    "updated": False,
    "removed": False,
    "timeoutTimestamp": 2_000,
}
ACTIONS = st.lists(st.sampled_from(["update", "remove", "timeout"]), max_size=4)


@given(st.booleans(), ACTIONS)
def test_what_is_said_of_a_key_is_what_sparks_own_state_says(exists, actions):
    properties = PROPERTIES | {"defined": exists}
    value = (7,) if exists else None
    schema = StructType([StructField("n", LongType())])
    spark = GroupState(**(properties | {"optionalValue": value}), keyAsUnsafe=b"key", valueSchema=schema)
    ours = KeptState(facts_of(json.dumps(properties)), b"key", value)
    for state in (spark, ours):
        for action in actions:
            if action == "update":
                state.update((8,))
            elif action == "remove":
                state.remove()
            else:
                state.setTimeoutTimestamp(3_000)
    said, key, kept, before = ours.sent()
    assert json.loads(said) == json.loads(spark.json())
    assert (key, kept is not None, before) == (b"key", spark.exists, spark.oldTimeoutTimestamp)
    assert (ours.exists, ours.hasTimedOut, ours.getCurrentWatermarkMs()) == (spark.exists, False, 1_000)
    assert not spark.exists or ours.get == spark.get
