"""What runs in Spark's workers for state by key, fed as Spark feeds it."""

import gc
import json
import pickle
import weakref
from datetime import UTC, datetime
from decimal import Decimal

import pandas as pd
import pyarrow as pa
import pytest
from pyspark.sql import Row
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DecimalType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from pitstop.spark.internals.arrow import arrow_schema
from pitstop.spark.internals.keyed_batches import KeyedBatches
from pitstop.spark.lowering.key_functions import Items, KeyedFunction, NoState
from pitstop.spark.lowering.row_functions import UserFunction, never
from pitstop.spark.state.codec import StateCodec
from pitstop.spark.state.row_shape import RowShape


def struct(**kinds):
    return StructType([StructField(name, kind) for name, kind in kinds.items()])


ROW = struct(key=LongType(), v=LongType())
OUT = struct(key=LongType(), v=LongType(), n=LongType())
KEPT = struct(state=StringType(), __last=LongType())
TOLD = pa.struct(
    [
        ("properties", pa.string()),
        ("keyRowAsUnsafe", pa.binary()),
        ("object", pa.binary()),
        ("startOffset", pa.int32()),
        ("numRows", pa.int32()),
        ("isLastChunk", pa.bool_()),
    ]
)


def count(state, row):
    state.n = (state.n or 0) + 1
    return (row.v, state.n)


def counting(ttl_ms=None, evict=never, function=count):
    each = UserFunction(function, ("v", "n"), "mine").each
    codec = StateCodec("mine", StructType([StructField("n", LongType())]))
    return KeyedFunction(("key",), codec, RowShape(ROW), ("v", "n"), each, evict, ttl_ms, True)


def told(start, rows, last=True, state=None, timed_out=False):
    """What Spark says of a key."""
    properties = {
        "optionalValue": None,
        "batchProcessingTimeMs": 1,
        "eventTimeWatermarkMs": 0,
        "timeoutConf": "EventTimeTimeout",
        "hasTimedOut": timed_out,
        "watermarkPresent": True,
        "defined": state is not None,
        "updated": False,
        "removed": False,
        "timeoutTimestamp": -1,
    }
    return {
        "properties": json.dumps(properties),
        "keyRowAsUnsafe": b"unsafe",
        "object": None if state is None else pickle.dumps(state),
        "startOffset": start,
        "numRows": rows,
        "isLastChunk": last,
    }


def batch(rows, groups):
    """``rows``: (key, v, event time in ms)."""
    keys, values, times = (list(column) for column in zip(*rows, strict=True))
    row = pa.StructArray.from_arrays([pa.array(keys), pa.array(values, pa.int64())], names=["key", "v"])
    at = pa.array([ms * 1000 for ms in times], pa.timestamp("us", "UTC"))
    states = pa.array([*groups, *[None] * (len(rows) - len(groups))], TOLD)
    return pa.RecordBatch.from_arrays([pa.array(keys), row, at, states], names=["key", "__row", "__at", "states"])


def run(function, *batches, output=OUT):
    """(rows, states) that come back, each as Spark reads them: as many as the first column says."""
    rows, states = [], []
    for made in KeyedBatches(function, [0], output)(0, iter(batches)):
        counts, data, kept = (column.to_pylist() for column in made.columns)
        rows += [tuple(row.values()) for row in data[: counts[0]["dataCount"]]]
        states += kept[: counts[0]["stateCount"]]
    return rows, states


def test_state_of_before_1970_is_kept_while_nobody_can_know_that_its_time_is_over():
    """Functions are shown a watermark of 0 for every one before 1970."""
    given = batch([(7, 1, -10_000_000)], [told(0, 1)])
    rows, states = run(counting(ttl_ms=1000, evict=UserFunction(lambda state, key, time: (0, 0), ("v", "n"), "mine").once), given)
    assert rows == [(7, 1, 1)], "nothing is evicted"
    (kept,) = states
    properties = json.loads(kept["properties"])
    assert (properties["defined"], properties["timeoutTimestamp"]) == (True, 1), "it goes once the watermark has passed 1970"


def test_each_key_has_its_rows_and_its_state():
    given = batch([(7, 1, 10), (7, 2, 20), (8, 3, 5)], [told(0, 2, state=('{"n":4}', 9)), told(2, 1)])
    rows, states = run(counting(), given)
    assert rows == [(7, 1, 5), (7, 2, 6), (8, 3, 1)]
    assert [pickle.loads(state["object"]) for state in states] == [('{"n":6}', 20), ('{"n":1}', 5)]
    assert [json.loads(state["properties"])["updated"] for state in states] == [True, True]


def test_the_rows_of_a_key_may_come_in_several_batches_and_are_put_in_order():
    first = batch([(7, 1, 30), (7, 2, 20)], [told(0, 2, last=False)])
    second = batch([(7, 3, 10), (8, 4, 1)], [told(0, 1), told(1, 1)])
    rows, states = run(counting(), first, second)
    assert rows == [(7, 3, 1), (7, 2, 2), (7, 1, 3), (8, 4, 1)]
    assert len(states) == 2


@pytest.mark.long
def test_what_a_function_leaves_in_cycles_is_freed_on_the_way():
    class Cycle:
        def __init__(self):
            self.itself = self

    made = []

    def leave_a_cycle(state, row):
        made.append(weakref.ref(Cycle()))
        return (row.v, 1)

    keys = 30_000
    given = (batch([(key, 1, 1)], [told(0, 1)]) for key in range(keys))
    batches = KeyedBatches(counting(function=leave_a_cycle), [0], OUT)(0, given)
    next(batches)
    next(batches)
    assert sum(one() is not None for one in made) < keys / 2
    batches.close()
    assert gc.isenabled()


def test_more_keys_come_back_than_rows_and_more_rows_than_keys():
    silent = counting(function=lambda state, row: None)
    assert run(silent, batch([(7, 1, 1), (8, 1, 1)], [told(0, 1), told(1, 1)]))[0] == []
    twice = counting(function=lambda state, row: [(row.v, 1), {"n": 2}])
    rows, states = run(twice, batch([(7, 1, 1)], [told(0, 1)]))
    assert rows == [(7, 1, 1), (7, None, 2)]
    assert len(states) == 1


def test_a_key_that_has_timed_out_is_evicted_and_forgotten():
    function = counting(1000, UserFunction(lambda state, key, time: (time, state.n), ("v", "n"), "mine").once)
    rows, states = run(function, batch([(7, None, 0)], [told(0, 1, state=('{"n":4}', 500), timed_out=True)]))
    assert rows == [(7, 1500, 4)]
    assert json.loads(states[0]["properties"])["removed"]
    assert states[0]["object"] is None


def test_state_dies_by_the_time_of_rows_wherever_epochs_end():
    def evict(state, key, time):
        return (time, -state.n)

    function = counting(10, UserFunction(evict, ("v", "n"), "mine").once)
    items = Items([Row(key=1, v=v) for v in range(5)], [1, 5, 15, 16, 40])
    assert function.of_key((1,), items, NoState()) == [
        (1, 0, 1), (1, 1, 2), (1, 15, -2), (1, 2, 1), (1, 3, 2), (1, 26, -2), (1, 4, 1)
    ]  # fmt: skip


AT = struct(at=TimestampType())
TYPES = struct(
    n=LongType(),
    at=TimestampType(),
    raw=BinaryType(),
    d=DecimalType(20, 2),
    list=ArrayType(TimestampType()),
    map=MapType(StringType(), AT),
    inner=struct(b=IntegerType(), many=ArrayType(struct(x=IntegerType()))),
    count=IntegerType(),
)


def test_rows_hold_plain_values_in_every_year():
    moment = datetime(9999, 12, 31, 23, 59, 59, 999999)
    aware = moment.replace(tzinfo=UTC)
    shape = RowShape(TYPES)
    given = {
        "n": 1, "at": aware, "raw": b"\x00", "d": Decimal("1.50"), "list": [aware, None], "map": [("k", {"at": aware})],
        "inner": {"b": 1, "many": [{"x": 2}, None]}, "count": 3,
    }  # fmt: skip
    arrow = pa.struct(list(arrow_schema(TYPES)))
    row, none, empty = shape.rows(pa.array([given, None, dict.fromkeys(given)], arrow))
    assert none is None
    assert row == (1, moment, b"\x00", Decimal("1.50"), [moment, None], {"k": Row(at=moment)}, (1, [(2,), None]), 3)
    assert (row.at, row["count"], row.inner.many[0].x, row.map["k"].at) == (moment, 3, 2, moment)
    assert callable(row.count), "a field that is called like a method of Row is found by its name in brackets, as in Spark's"
    assert row.asDict(recursive=True)["inner"] == {"b": 1, "many": [{"x": 2}, None]}
    assert pickle.loads(pickle.dumps(row)) == row
    assert empty == Row(**dict.fromkeys(given))
    with pytest.raises(AttributeError):
        _ = row.missing


def test_spark_s_own_way_gives_the_same_rows():
    """In a session that was not made by Pitstop rows come as pandas objects, key by key."""
    rows = [(7, 1, 30), (7, 2, 10), (7, 3, 20)]
    frames = iter(
        [pd.DataFrame({"__row": [{"key": key, "v": v}], "__at": pd.to_datetime([at], unit="ms")}) for key, v, at in rows]
    )
    made = list(counting()((7,), frames, NoState()))
    assert [tuple(row) for frame in made for row in frame.itertuples(index=False)] == [(7, 2, 1), (7, 3, 2), (7, 1, 3)]
    assert run(counting(), batch(rows, [told(0, 3)]))[0] == [(7, 2, 1), (7, 3, 2), (7, 1, 3)]
