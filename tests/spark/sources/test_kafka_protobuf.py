"""Values of Protobuf on a real broker: what Google's own library for Python has written."""

import struct
from datetime import UTC, datetime
from decimal import Decimal

import pytest

import pitstop as ps
from pitstop.errors import EngineError, UsageError
from tests.brokers.protobuf_files import Files, enum, field, message, pairs
from tests.spark.harness import Collected
from tests.spark.sources.test_kafka import KafkaHarness

pytestmark = [pytest.mark.spark, pytest.mark.long]

SCALARS = (
    "double", "float", "int32", "int64", "uint32", "uint64", "sint32", "sint64", "fixed32", "fixed64", "sfixed32", "sfixed64",
    "bool", "string", "bytes",
)  # fmt: skip
ITEM = message("Item", field("sku", 1, "string"), field("count", 2, "int32", optional=True))
EVERYTHING = message(
    "Everything",
    *(field(f"a_{kind}", number, kind) for number, kind in enumerate(SCALARS, 1)),
    field("maybe", 20, "int64", optional=True),
    field("color", 21, "enum", of="shop.Color"),
    field("color_number", 22, "enum", of="shop.Color"),
    field("at", 23, "message", of="google.protobuf.Timestamp"),
    field("wrapped", 24, "message", of="google.protobuf.Int64Value"),
    field("tags", 25, "string", repeated=True),
    field("numbers", 26, "sint32", repeated=True),
    field("items", 27, "message", repeated=True, of="shop.Item"),
    field("first", 28, "message", of="shop.Item"),
    field("counts", 29, "message", repeated=True, of="shop.Everything.CountsEntry"),
    field("by_number", 30, "message", repeated=True, of="shop.Everything.ByNumberEntry"),
    field("inner", 31, "message", of="shop.Everything.Inner"),
    nested=[
        pairs("CountsEntry", "string", "int64"),
        pairs("ByNumberEntry", "int32", "message", of="shop.Item"),
        message("Inner", field("deep", 1, "bool")),
    ],
)
TYPES = (
    Files()
    .file("shop/colors.proto", enums=[enum("Color", NONE=0, RED=1, GREEN=7)])
    .file("shop/items.proto", ITEM)
    .file(
        "shop/orders.proto",
        EVERYTHING,
        message("Order", field("n", 1, "int64"), field("total", 2, "double"), field("color", 3, "enum", of="shop.Color")),
        message("Later", field("n", 1, "int64"), field("note", 9, "string")),
        message("Wrong", field("n", 1, "string")),
        imports=["shop/colors.proto", "shop/items.proto", "google/protobuf/timestamp.proto", "google/protobuf/wrappers.proto"],
    )
)
DDL = (
    "a_double double, a_float float, a_int32 int, a_int64 bigint, a_uint32 bigint, a_uint64 decimal(20,0), a_sint32 int, "
    "a_sint64 bigint, a_fixed32 bigint, a_fixed64 bigint, a_sfixed32 bigint, a_sfixed64 bigint, a_bool boolean, a_string string, "
    "a_bytes binary, maybe bigint, color string, color_number int, at timestamp, wrapped bigint, tags array<string>, "
    "numbers array<int>, items array<struct<sku string, count int>>, first struct<sku string, count int>, "
    "counts map<string,bigint>, by_number map<int,struct<sku string>>, inner struct<deep boolean>"
)


@pytest.fixture
def harness(spark, tmp_path):
    return KafkaHarness(spark, tmp_path)


def job(broker, topic, sink, letters=None, **options):
    p = ps.Pipeline()
    source = ps.sources.kafka(broker.servers, topic, value="protobuf", **options)
    rows = p.read_from(source, name="orders", dead_letters=ps.sinks.custom(letters) if letters is not None else None)
    rows.write_to(ps.sinks.custom(sink), name="sink")
    return p


def sent(broker, topic, values):
    broker.make(topic, 1)
    broker.send(topic, [(None, value, 0) for value in values])


def as_python(row):
    values = row.asDict(recursive=True)
    at = values["at"]
    return values | {"a_bytes": bytes(values["a_bytes"]), "at": at.astimezone(UTC) if at is not None else None}


@pytest.mark.parametrize("by", ["class", "file"])
def test_every_type_is_what_was_written(broker, harness, tmp_path, by):
    everything = TYPES.type("shop.Everything")
    at = datetime(1969, 12, 31, 23, 59, 58, 123_456, UTC)
    numbers = {
        "a_double": -1e300, "a_float": 0.5, "a_int32": -(2**31), "a_int64": -(2**63), "a_uint32": 2**32 - 1,
        "a_uint64": 2**64 - 1, "a_sint32": 2**31 - 1, "a_sint64": 2**63 - 1, "a_fixed32": 2**31,
        "a_fixed64": 2**63 - 1, "a_sfixed32": -1, "a_sfixed64": -1, "a_bool": True, "a_string": "größer", "a_bytes": b"\x00\xff",
    }  # fmt: skip
    value = everything(**numbers, maybe=0, color=7, color_number=1, tags=["a", ""], numbers=[-1, 2], counts={"k": 1, "": -1})
    value.at.FromDatetime(at)
    value.wrapped.value = 0
    value.items.add(sku="s", count=0)
    value.items.add(sku="t")
    value.first.sku = "u"
    value.by_number[-3].sku = "v"
    value.inner.deep = True
    topic = f"every-type-by-{by}"
    sent(broker, topic, [value.SerializeToString(), b""])
    types = TYPES.write(tmp_path / "orders.desc")
    options = {"message": everything} if by == "class" else {"message": "shop.Everything", "descriptor_file": types}
    sink, letters = Collected(), Collected()
    harness.run(job(broker, topic, sink, letters, schema=DDL, **options), until=2)
    assert [letter.error for letter in letters.rows] == []
    full, empty = [as_python(row) for row in sorted(sink.rows, key=lambda row: row.a_double)]
    assert full == numbers | {
        "a_uint64": Decimal(2**64 - 1), "maybe": 0, "color": "GREEN", "color_number": 1, "at": at, "wrapped": 0,
        "tags": ["a", ""], "numbers": [-1, 2], "items": [{"sku": "s", "count": 0}, {"sku": "t", "count": None}],
        "first": {"sku": "u", "count": None}, "counts": {"k": 1, "": -1}, "by_number": {-3: {"sku": "v"}},
        "inner": {"deep": True},
    }  # fmt: skip
    # What a message leaves out is the default of its type; null where the type knows that a value is not there.
    assert empty == {
        "a_double": 0.0, "a_float": 0.0, **dict.fromkeys([name for name in numbers if "32" in name or "64" in name], 0),
        "a_bool": False, "a_string": "", "a_bytes": b"", "maybe": None, "color": "NONE", "color_number": 0, "at": None,
        "wrapped": None, "tags": [], "numbers": [], "items": [], "first": None, "counts": {}, "by_number": {}, "inner": None,
    }  # fmt: skip


def test_what_cannot_be_decoded_is_a_dead_letter_with_its_place_bytes_and_reason(broker, harness):
    order = TYPES.type("shop.Order")
    good = order(n=1, total=2.5).SerializeToString()
    cut, misread = good[:-1], TYPES.type("shop.Wrong")(n="seven").SerializeToString()
    values = [good, None, cut, misread, b"\0\0\0\0\1\2\6" + good, b"\0\0\0", b"{}"]
    sent(broker, "proto-letters", values)
    sink, letters = Collected(), Collected()
    harness.run(job(broker, "proto-letters", sink, letters, message=order, schema="n bigint, total double"), until=7)
    assert [(row.n, row.total) for row in sink.rows] == [(1, 2.5)]
    errors = {letter.place: letter.error for letter in letters.rows}
    assert sorted(errors) == [f"proto-letters:0:{offset}" for offset in range(1, 7)]
    assert errors.pop("proto-letters:0:1") == "The value is null, a tombstone."
    reasons = {place: error.removeprefix("The value is no message shop.Order: ") for place, error in errors.items()}
    assert reasons["proto-letters:0:3"] == "field n has bytes of another type."
    assert reasons["proto-letters:0:4"] == "it is message [3] of its schema, and shop.Order is [1]."
    assert reasons["proto-letters:0:5"] == "it ends before the id of its schema."
    assert all(reasons[place] != errors[place] for place in errors)
    assert next(letter.text for letter in letters.rows if letter.place.endswith(":2")) == "base64:CAERAAAAAAAABA=="


def test_the_frame_of_a_registry_and_fields_of_later_versions_are_passed_over(broker, harness):
    order = TYPES.type("shop.Order")
    later = TYPES.type("shop.Later")(n=3, note="of a later version").SerializeToString()
    frame = b"\0" + struct.pack(">i", 70_000)
    first = order(n=1).SerializeToString()
    values = [frame + b"\2\2" + first, order(n=2, color=99).SerializeToString(), later]
    sent(broker, "proto-frames", values)
    sink, letters = Collected(), Collected()
    harness.run(job(broker, "proto-frames", sink, letters, message=order, schema="n bigint, color string"), until=3)
    assert [letter.error for letter in letters.rows] == []
    assert sorted((row.n, row.color) for row in sink.rows) == [(1, "NONE"), (2, "99"), (3, "NONE")]


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"schema": "n string"}, "field n is int64, the column string."),
        ({"schema": "n bigint, m int"}, "message shop.Order has no field for column m, it has n, total, color."),
        ({"schema": "n array<bigint>"}, "field n is int64, the column array<bigint>."),
        ({"schema": "n bigint", "message": "shop.No"}, "it has no message shop.No: it has shop.Item, shop.Everything, "),
        ({"schema": "n bigint", "without": ["shop/colors.proto"]}, "it does not have the file shop/colors.proto: make it by"),
    ],
)
def test_a_schema_that_does_not_fit_is_told_before_a_job_runs(broker, harness, tmp_path, options, reason):
    file = TYPES.write(tmp_path / "orders.desc", without=options.pop("without", ()))
    rows = job(broker, "proto-misfits", Collected(), descriptor_file=file, **{"message": "shop.Order"} | options)
    with pytest.raises((UsageError, EngineError), match="does not fit") as problem:
        harness.run(rows, until=1)
    assert str(tmp_path / "orders.desc") in str(problem.value)
    assert reason in str(problem.value)
