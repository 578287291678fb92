"""State of a key as text: what Python writes Spark reads, what Spark writes Python reads, and wrong types are told."""

import json
from datetime import UTC, date, datetime
from decimal import Decimal

import pytest
from pyspark.sql import Row

from pitstop.spark.base.columns import struct_of
from pitstop.spark.state.codec import StateCodec
from pitstop.spark.state.key_text import fields_of, text_of

pytestmark = pytest.mark.spark

SCHEMA = (
    "struct<n:bigint,x:double,s:string,b:boolean,d:decimal(20,6),at:timestamp,day:date,raw:binary,"
    "list:array<bigint>,table:map<string,double>,nested:struct<a:int,t:timestamp>,many:array<struct<by:bigint,value:string>>,"
    "local:timestamp_ntz,small:tinyint,short:float,counts:map<bigint,bigint>,days:map<date,struct<n:int,by:map<int,string>>>,"
    "listed:array<map<int,decimal(5,2)>>,named:map<string,map<int,timestamp_ntz>>,words:array<string>>"
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
    "local": datetime(9999, 12, 31, 23, 59, 59, 999999),
    "small": -128,
    "short": 0.25,
    "counts": {5: 1, -7: None},
    "days": {date(1, 1, 1): Row(n=1, by={2: "two"}), date(2026, 2, 28): None},
    "listed": [{1: Decimal("1.50")}, None, {}],
    "named": {"a": {1: datetime(1, 1, 1, 0, 0, 0, 1)}, "b": None},
    "words": ["one", "", None],
}


@pytest.fixture(scope="module")
def codec(spark):
    return StateCodec("stage", struct_of(SCHEMA))


def test_values_come_back_as_they_were(codec):
    assert codec.decode(codec.encode(VALUES)) == VALUES
    assert codec.decode(None) == dict.fromkeys(VALUES)
    assert codec.decode(codec.encode(dict.fromkeys(VALUES))) == dict.fromkeys(VALUES)


@pytest.mark.long
def test_spark_reads_what_python_wrote_and_python_what_spark_wrote(spark, codec):
    frame = spark.createDataFrame([(codec.encode(VALUES),)], "text string")
    parsed = frame.select(fields_of(frame["text"], struct_of(SCHEMA)).alias("state"))
    assert parsed.schema["state"].dataType.simpleString() == struct_of(SCHEMA).simpleString()
    row = parsed.first().state
    same = [name for name in VALUES if name not in ("at", "nested", "raw")]  # times in this machine's zone; bytes as a bytearray
    assert {name: row[name] for name in same} == {name: VALUES[name] for name in same}
    text = parsed.select(text_of(parsed["state"], struct_of(SCHEMA))).first()[0]
    assert codec.decode(text) == VALUES


def test_spark_raises_for_what_it_cannot_read_and_makes_no_null_of_it(spark):
    frame = spark.createDataFrame([('{"n":1099511627776}',)], "text string")
    with pytest.raises(Exception, match="MALFORMED_RECORD"):
        frame.select(fields_of(frame["text"], struct_of("struct<n:int>"))).collect()


def test_what_older_releases_wrote_is_read_by_python_and_spark(spark):
    schema = struct_of("struct<local:timestamp_ntz,counts:map<bigint,bigint>>")
    codec = StateCodec("stage", schema)
    told = {"local": datetime(2026, 1, 2, 3, 4, 5, 123456)}
    assert codec.decode('{"local":"2026-01-02T03:04:05.123456Z","counts":{"5":1,"6":2}}') == told | {"counts": {5: 1, 6: 2}}
    frame = spark.createDataFrame([('{"local":"2026-01-02T03:04:05.123456Z"}',)], "text string")
    assert frame.select(fields_of(frame["text"], schema).alias("state")).first().state.local == told["local"]


OLDER_KEYS = {
    "bigint": {"5": 5, "-7": -7},
    "boolean": {"true": True},
    "double": {"1.5": 1.5, "2": 2.0},
    "date": {"2024-01-01": date(2024, 1, 1)},
    "timestamp": {
        "2024-01-01 10:00:00": datetime(2024, 1, 1, 10),
        "2024-01-01T10:00:00.123456Z": datetime(2024, 1, 1, 10, 0, 0, 123456),
        "2024-01-01 12:00:00+01:00": datetime(2024, 1, 1, 11),
    },
    "timestamp_ntz": {"2024-01-01 10:00:00": datetime(2024, 1, 1, 10)},
    "decimal(30,10)": {"12345678901234567890.12": Decimal("12345678901234567890.12")},
    "binary": {"AP8=": b"\x00\xff"},
}
"""Type of a map's keys -> texts that functions of older releases kept as keys, or JSON made of them, and what these are."""


@pytest.mark.parametrize("kind", OLDER_KEYS)
def test_keys_that_were_texts_in_an_older_release_are_values_of_their_type(spark, kind):
    codec = StateCodec("stage", struct_of(f"struct<seen:map<{kind},bigint>>"))
    told = {"seen": dict.fromkeys(OLDER_KEYS[kind].values(), 1)}
    assert codec.decode(json.dumps({"seen": dict.fromkeys(OLDER_KEYS[kind], 1)})) == told
    assert codec.decode(codec.encode(told)) == told


@pytest.mark.parametrize("kind", OLDER_KEYS)
def test_spark_reads_the_maps_of_older_releases_as_python_does(spark, kind):
    schema = struct_of(f"struct<seen:map<{kind},bigint>,nested:array<struct<by:map<{kind},map<int,timestamp_ntz>>>>>")
    codec, times = StateCodec("stage", schema), {"1": "2026-01-02T03:04:05.123456Z", "2": None}
    older = {"seen": dict.fromkeys(OLDER_KEYS[kind], 1), "nested": [{"by": dict.fromkeys(OLDER_KEYS[kind], times)}, None]}
    given = [json.dumps(older, separators=(",", ":")), "{}", '{"seen":{},"nested":[]}']
    frame = spark.createDataFrame([(text,) for text in given], "text string")
    texts = [row[0] for row in frame.select(text_of(fields_of(frame["text"], schema), schema)).collect()]
    read = [codec.decode(text) for text in texts]
    assert read[0] == codec.decode(json.dumps(older))
    assert len(read[0]["seen"]) == len(OLDER_KEYS[kind])
    assert read[1:] == [{"seen": None, "nested": None}, {"seen": {}, "nested": []}]


def test_numbers_within_maps_are_exact_however_often_spark_writes_them(spark):
    kind, text = "decimal(38,18)", "12345678901234567890.123456789012345678"
    schema = struct_of(f"struct<by_number:map<bigint,{kind}>,named:map<string,map<{kind},array<{kind}>>>>")
    held = {"by_number": {1: Decimal(text)}, "named": {"a": {Decimal(text): [Decimal(text), None]}}}
    codec = StateCodec("stage", schema)
    frame = spark.createDataFrame([(codec.encode(held),)], "text string")
    for _ in range(3):
        frame = frame.select(text_of(fields_of(frame["text"], schema), schema).alias("text"))
        assert codec.decode(frame.first()["text"]) == held


def test_spark_raises_for_a_key_of_an_older_release_that_it_cannot_read(spark):
    schema = struct_of("struct<seen:map<date,bigint>>")
    frame = spark.createDataFrame([('{"seen":{"1 May":1}}',)], "text string")
    with pytest.raises(Exception, match=r"CAST_INVALID_INPUT.*'1 May'"):
        frame.select(fields_of(frame["text"], schema)).collect()


@pytest.mark.parametrize(
    ("kind", "key"),
    [("bigint", "five"), ("bigint", "1.5"), ("tinyint", "128"), ("boolean", "7"), ("double", "x"), ("date", "1 May"),
     ("timestamp", "noon"), ("decimal(5,2)", "1000"), ("decimal(5,2)", "x"), ("binary", "ÿ"), ("binary", "00f"),
     ("array<int>", "x"), ("struct<a:int>", "1")],
)  # fmt: skip
def test_a_key_that_cannot_be_read_is_told_with_stage_field_and_text(spark, kind, key):
    codec = StateCodec("mine", struct_of(f"struct<n:int,seen:map<{kind},bigint>>"))
    with pytest.raises(ValueError, match=r"^field 'seen' of the state of stage 'mine' cannot be read: the key ") as told:
        codec.decode(json.dumps({"n": 1, "seen": {key: 1}}))
    assert str(told.value).endswith(f"the key {key!r} is no {kind}")


def test_a_map_whose_keys_are_numbers_counts_on(spark):
    codec = StateCodec("stage", struct_of("struct<counts:map<bigint,bigint>>"))
    state = {"counts": {}}
    for _ in range(3):
        counts = state["counts"]
        counts[5] = counts.get(5, 0) + 1
        state = codec.decode(codec.encode(state))
    assert state == {"counts": {5: 3}}


def test_numbers_are_kept_as_their_fields_can_hold_them(spark):
    codec = StateCodec("stage", struct_of("struct<price:decimal(5,2),share:float>"))
    assert codec.decode(codec.encode({"price": Decimal(2) / 3, "share": 0.1})) == {
        "price": Decimal("0.67"),
        "share": 0.10000000149011612,
    }


def test_times_are_utc_however_they_are_given(codec):
    aware = datetime(2026, 1, 1, 12, tzinfo=UTC)
    assert codec.decode(codec.encode(dict.fromkeys(VALUES) | {"at": aware}))["at"] == datetime(2026, 1, 1, 12)


@pytest.mark.parametrize(
    ("field", "value"), [("n", "7"), ("n", 1.5), ("n", True), ("x", "1"), ("s", 7), ("b", 2), ("at", "now"), ("list", ["a"]),
     ("n", 2**63), ("small", 128), ("d", Decimal(10) ** 14), ("d", Decimal("NaN")), ("short", 1e39), ("counts", {"a": 1}),
     ("table", {7: 1.0}), ("table", {None: 1.0}), ("named", {date(2026, 1, 1): {}}), ("nested", {"a": 1, "T": None}),
     ("nested", Row(a=1, at=None)), ("nested", Row(1, None)), ("many", [{"by": 1, "val": "x"}]),
     ("days", {date(1, 1, 1): {"m": 1}}),
     ("words", "one"), ("words", {"one": 1}), ("words", [b"one"]), ("list", b"123"), ("raw", 5), ("raw", [1, 2]),
     ("raw", "text")],
)  # fmt: skip
def test_a_value_of_another_type_is_told_with_its_field(codec, field, value):
    with pytest.raises(TypeError, match=rf"field '{field}' of the state of stage 'stage' cannot be"):
        codec.encode(dict.fromkeys(VALUES) | {field: value})


def test_a_map_by_text_refuses_a_key_that_json_would_make_one_with_a_text(spark):
    codec = StateCodec("stage", struct_of("struct<counts:map<string,bigint>>"))
    with pytest.raises(TypeError, match=r"field 'counts' of the state of stage 'stage' cannot be .*: it must be text"):
        codec.encode({"counts": {"7": 1, 7: 1}})


def test_a_struct_may_lack_fields_and_bytes_come_in_any_form(codec):
    given = dict.fromkeys(VALUES) | {"nested": {"a": 1}, "raw": bytearray(b"ab"), "words": ("one", "two")}
    expected = given | {"nested": Row(a=1, t=None), "raw": b"ab", "words": ["one", "two"]}
    assert codec.decode(codec.encode(given)) == expected
    assert codec.decode(codec.encode(given | {"raw": memoryview(b"ab")})) == expected
