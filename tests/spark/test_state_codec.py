"""State of a key as text: what Python writes Spark reads, what Spark writes Python reads, and wrong types are told."""

from datetime import UTC, date, datetime
from decimal import Decimal

import pytest
from pyspark.sql import Row
from pyspark.sql import functions as F

from pitstop.maps.json_form import TIMESTAMP_FORMAT
from pitstop.spark.base.columns import struct_of
from pitstop.spark.state.codec import StateCodec

pytestmark = pytest.mark.spark

SCHEMA = (
    "struct<n:bigint,x:double,s:string,b:boolean,d:decimal(20,6),at:timestamp,day:date,raw:binary,"
    "list:array<bigint>,table:map<string,double>,nested:struct<a:int,t:timestamp>,many:array<struct<by:bigint,value:string>>>"
)
VALUES = {
    "n": 2**62 + 1,
    "x": 0.1,
    "s": 'käse \n "',
    "b": False,
    "d": Decimal("12345678901234.567891"),
    "at": datetime(2026, 11, 21, 7, 30, 1, 123456),
    "day": date(2026, 2, 28),
    "raw": b"\x00\xff",
    "list": [1, None, 3],
    "table": {"a": 1.5},
    "nested": Row(a=1, t=datetime(1969, 12, 31, 23, 59, 59, 999999)),
    "many": [Row(by=1, value="x"), Row(by=2, value=None)],
}


@pytest.fixture(scope="module")
def codec(spark):
    return StateCodec("stage", struct_of(SCHEMA))


def test_values_come_back_as_they_were(codec):
    assert codec.decode(codec.encode(VALUES)) == VALUES
    assert codec.decode(None) == dict.fromkeys(VALUES)
    assert codec.decode(codec.encode(dict.fromkeys(VALUES))) == dict.fromkeys(VALUES)


def test_spark_reads_what_python_wrote_and_python_what_spark_wrote(spark, codec):
    frame = spark.createDataFrame([(codec.encode(VALUES),)], "text string")
    parsed = frame.select(F.from_json("text", struct_of(SCHEMA)).alias("state"))
    row = parsed.first().state
    assert (row.n, row.x, row.s, row.d, row.day, row.list) == tuple(VALUES[name] for name in ("n", "x", "s", "d", "day", "list"))
    text = parsed.select(F.to_json("state", {"timestampFormat": TIMESTAMP_FORMAT})).first()[0]
    assert codec.decode(text) == VALUES


def test_times_are_utc_however_they_are_given(codec):
    aware = datetime(2026, 1, 1, 12, tzinfo=UTC)
    assert codec.decode(codec.encode(dict.fromkeys(VALUES) | {"at": aware}))["at"] == datetime(2026, 1, 1, 12)


@pytest.mark.parametrize(
    ("field", "value"), [("n", "7"), ("n", 1.5), ("n", True), ("x", "1"), ("s", 7), ("b", 2), ("at", "now"), ("list", ["a"])]
)
def test_a_value_of_another_type_is_told_with_its_field(codec, field, value):
    with pytest.raises(TypeError, match=rf"field '{field}' of the state of stage 'stage' cannot be"):
        codec.encode(dict.fromkeys(VALUES) | {field: value})
