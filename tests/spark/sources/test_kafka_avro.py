"""Values of Avro on a real broker: what fastavro has written, by schemas that change while the job runs."""

import io
import json
import struct
from datetime import UTC, date, datetime
from decimal import Decimal

import fastavro
import pytest

import pitstop as ps
from pitstop.errors import EngineError, UsageError
from pitstop.spark.base.columns import struct_of
from pitstop.spark.internals.avro_rows import SchemaPlace, avro_rows
from tests.brokers.registry import Registry
from tests.spark.harness import Collected
from tests.spark.sources.test_kafka import KafkaHarness

pytestmark = [pytest.mark.spark, pytest.mark.long]


@pytest.fixture
def harness(spark, tmp_path):
    return KafkaHarness(spark, tmp_path)


def record(*fields, name="shop.Order"):
    return {"type": "record", "name": name, "fields": [{"name": field, "type": kind} for field, kind in fields]}


def plain(schema, value):
    """Return a value as fastavro writes it."""
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(schema), value)
    return out.getvalue()


def framed(number, schema, value):
    return b"\0" + struct.pack(">i", number) + plain(schema, value)


def orders(broker, topic, sink, letters=None, **options):
    p = ps.Pipeline()
    source = ps.sources.kafka(broker.servers, topic, value="avro", **options)
    rows = p.read_from(source, name="orders", dead_letters=ps.sinks.custom(letters) if letters is not None else None)
    rows.write_to(ps.sinks.custom(sink), name="sink")
    return p


def sent(broker, topic, values, make=True):
    if make:
        broker.make(topic, 1)
    broker.send(topic, [(None, value, 0) for value in values])


ITEM = {
    "type": "record",
    "name": "Item",
    "fields": [{"name": "sku", "type": "string"}, {"name": "count", "type": ["null", "int"], "default": None}],
}
EVERYTHING = record(
    ("flag", "boolean"),
    ("small", "int"),
    ("big", "long"),
    ("ratio", "float"),
    ("total", "double"),
    ("name", "string"),
    ("raw", "bytes"),
    ("mark", {"type": "fixed", "name": "Mark", "size": 3}),
    ("maybe", ["null", "long"]),
    ("late_null", ["string", "null"]),
    ("day", {"type": "int", "logicalType": "date"}),
    ("micros", {"type": "long", "logicalType": "timestamp-micros"}),
    ("millis", {"type": "long", "logicalType": "timestamp-millis"}),
    ("local", {"type": "long", "logicalType": "local-timestamp-micros"}),
    ("price", {"type": "bytes", "logicalType": "decimal", "precision": 12, "scale": 3}),
    ("fixed_price", {"type": "fixed", "name": "Price", "size": 6, "logicalType": "decimal", "precision": 10, "scale": 2}),
    ("color", {"type": "enum", "name": "Color", "symbols": ["RED", "GREEN"]}),
    ("id", {"type": "string", "logicalType": "uuid"}),
    ("tags", {"type": "array", "items": "string"}),
    ("counts", {"type": "map", "values": "long"}),
    ("items", {"type": "array", "items": ITEM}),
    ("first", ["null", "shop.Item"]),
)
DDL = (
    "flag boolean, small int, big bigint, ratio float, total double, name string, raw binary, mark binary, maybe bigint, "
    "late_null string, day date, micros timestamp, millis timestamp, local timestamp_ntz, price decimal(12,3), "
    "fixed_price decimal(10,2), color string, id string, tags array<string>, counts map<string,bigint>, "
    "items array<struct<sku string, count int>>, first struct<sku string, count int>"
)
VALUES = [
    {
        "flag": True,
        "small": -7,
        "big": 2**62,
        "ratio": 0.5,
        "total": 1e300,
        "name": "größer",
        "raw": b"\x00\xff",
        "mark": b"abc",
        "maybe": None,
        "late_null": "x",
        "day": date(1969, 12, 30),
        "micros": datetime(1999, 12, 31, 23, 59, 59, 999_999, UTC),
        "millis": datetime(1912, 6, 23, 4, 5, 6, 7000, UTC),
        "local": datetime(2026, 11, 28, 1, 2, 3, 4),
        "price": Decimal("-123456789.012"),
        "fixed_price": Decimal("99999999.99"),
        "color": "GREEN",
        "id": "b1f1b6d6-0000-4000-8000-000000000001",
        "tags": ["a", ""],
        "counts": {"k": 1, "l": -1},
        "items": [{"sku": "s", "count": 2}, {"sku": "t", "count": None}],
        "first": {"sku": "u", "count": None},
    },
    {
        "flag": False,
        "small": 2**31 - 1,
        "big": -(2**63),
        "ratio": -2.0,
        "total": -0.25,
        "name": "",
        "raw": b"",
        "mark": b"\x00\x00\x00",
        "maybe": 5,
        "late_null": None,
        "day": date(9999, 12, 31),
        "micros": datetime(1970, 1, 1, tzinfo=UTC),
        "millis": datetime(2100, 1, 1, tzinfo=UTC),
        "local": datetime(1900, 1, 1, 0, 0, 0, 1),
        "price": Decimal("0.000"),
        "fixed_price": Decimal("-0.01"),
        "color": "RED",
        "id": "b1f1b6d6-0000-4000-8000-000000000002",
        "tags": [],
        "counts": {},
        "items": [],
        "first": None,
    },
]


def as_python(row):
    """Return a row as the values that fastavro was given. Spark's times have no zone, and are in that of the session, UTC."""
    values = row.asDict(recursive=True)
    for name in ("micros", "millis"):
        values[name] = values[name].astimezone(UTC)
    return values | {"raw": bytes(values["raw"]), "mark": bytes(values["mark"])}


@pytest.mark.parametrize("schema", [DDL, json.dumps(EVERYTHING)], ids=["by DDL", "by a record of Avro"])
def test_every_type_is_what_fastavro_was_given(broker, harness, registry, schema):
    topic = f"types-{len(schema)}"
    number = registry.register("orders-value", EVERYTHING)
    sent(broker, topic, [framed(number, EVERYTHING, value) for value in VALUES])
    sink, letters = Collected(), Collected()
    harness.run(orders(broker, topic, sink, letters, schema=schema, schema_registry=registry.url), until=2)
    assert [letter.error for letter in letters.rows] == []
    assert [as_python(row) for row in sink.rows] == VALUES
    assert registry.asked_for(number) == 1


def test_what_cannot_be_decoded_is_a_dead_letter_with_its_place_bytes_and_reason(broker, harness, registry):
    schema = record(("n", "long"), ("text", "string"))
    number = registry.register("letters-value", schema)
    other = registry.register("letters-value", record(("n", "string")))
    proto = registry.register("proto-value", 'syntax = "proto3"; message A {}', kind="PROTOBUF")
    good = framed(number, schema, {"n": 1, "text": "abc"})
    frame = good[:5]
    values = [
        good,
        None,
        b"",
        b'{"n": 1}',
        b"\0\0\0",
        good[:-1],
        good + b"\0",
        frame + b"\x02\x01abc",
        frame + b"\x02" + b"\xfe\xff\xff\xff\xff\xff\xff\xff\x7f" + b"abc",
        frame + b"\x02\x04\xff\xfe",
        framed(other, record(("n", "string")), {"n": "x"}),
        b"\0" + struct.pack(">i", proto) + b"\0",
    ]
    sent(broker, "avro-letters", values)
    sink, letters = Collected(), Collected()
    built = orders(broker, "avro-letters", sink, letters, schema="n bigint, text string", schema_registry=registry.url)
    harness.run(built, until=len(values))
    assert [(row.n, row.text) for row in sink.rows] == [(1, "abc")]
    assert {row.place: row.error for row in letters.rows} == {
        "avro-letters:0:1": "The value is null, a tombstone.",
        "avro-letters:0:2": "The value is empty.",
        "avro-letters:0:3": "The value begins with the byte 123, and not with 0 and the id of a schema.",
        "avro-letters:0:4": "The value ends before the id of its schema.",
        "avro-letters:0:5": "The value ends within the record of schema 1.",
        "avro-letters:0:6": "1 byte is left behind the record of schema 1.",
        "avro-letters:0:7": "The value is no record of schema 1: a length is negative.",
        "avro-letters:0:8": "The value ends within the record of schema 1.",
        "avro-letters:0:9": "The value is no record of schema 1: a text is no UTF-8.",
        "avro-letters:0:10": "The value is of schema 2, which does not fit: field n is string, the column bigint.",
        "avro-letters:0:11": "The value is of schema 3, which is PROTOBUF and not Avro.",
    }
    texts = {row.place: row.text for row in letters.rows}
    assert texts["avro-letters:0:1"] is None
    assert texts["avro-letters:0:3"] == "base64:eyJuIjogMX0="
    assert registry.asked_for(number) == 1


def test_a_schema_that_is_new_while_the_job_runs_is_looked_up_once_and_its_rows_are_resolved(broker, harness, registry):
    old = record(("n", "int"), ("name", "string"))
    new = record(("n", "long"), ("title", "string"), ("extra", "double"))
    reader = {
        "type": "record",
        "name": "shop.Order",
        "fields": [
            {"name": "n", "type": "double"},
            {"name": "label", "type": "string", "aliases": ["name", "title"]},
            {"name": "extra", "type": "double", "default": 7.5},
        ],
    }
    first = registry.register("evolving-value", old)
    sent(broker, "evolving", [framed(first, old, {"n": n, "name": f"a{n}"}) for n in range(20)])
    sink, letters = Collected(), Collected()
    built = orders(broker, "evolving", sink, letters, schema=json.dumps(reader), schema_registry=registry.url)
    running = harness.start(built, harness.folder / "checkpoint", 2)
    harness.wait_for(running, 20)
    second = registry.register("evolving-value", new)
    late = [framed(second, new, {"n": n, "title": f"b{n}", "extra": n / 2}) for n in range(20, 40)]
    sent(broker, "evolving", [*late, framed(first, old, {"n": 40, "name": "a40"})], make=False)
    harness.wait_for(running, 41)
    running.stop(60)
    expected = [(float(n), f"a{n}", 7.5) for n in range(20)] + [(float(n), f"b{n}", n / 2) for n in range(20, 40)]
    assert [tuple(row) for row in sink.rows] == [*expected, (40.0, "a40", 7.5)]
    assert letters.rows == []
    assert (registry.asked_for(first), registry.asked_for(second)) == (1, 1)


def test_a_field_that_a_schema_does_not_have_is_null_and_one_that_is_no_column_is_skipped(broker, harness, registry):
    old, new = record(("n", "int")), record(("before", ITEM), ("n", "int"), ("extra", ["null", "string"]))
    first, second = registry.register("v", old), registry.register("v", new)
    values = [framed(first, old, {"n": 1}), framed(second, new, {"before": {"sku": "s"}, "n": 2, "extra": "x"})]
    sent(broker, "fields", values)
    sink = Collected()
    harness.run(orders(broker, "fields", sink, schema="n bigint, extra string", schema_registry=registry.url), until=2)
    assert [tuple(row) for row in sink.rows] == [(1, None), (2, "x")]


def test_a_union_of_several_types_gives_those_that_fit_and_schemas_that_refer_to_others_are_looked_up(broker, harness, registry):
    item = registry.register("item-value", ITEM | {"namespace": "shop"})
    assert item == 1
    outer = record(("n", ["null", "string", "int", "long"]), ("item", "shop.Item"))
    references = [{"name": "shop.Item", "subject": "item-value", "version": 1}]
    number = registry.register("outer-value", outer, references=references)
    named = {}
    fastavro.parse_schema(ITEM | {"namespace": "shop"}, named_schemas=named)
    parsed = fastavro.parse_schema(outer, named_schemas=named)

    def value(n):
        out = io.BytesIO()
        fastavro.schemaless_writer(out, parsed, {"n": n, "item": {"sku": "s", "count": 3}})
        return b"\0" + struct.pack(">i", number) + out.getvalue()

    sent(broker, "unions", [value(5), value("five"), value(None), value(2**40)])
    sink, letters = Collected(), Collected()
    schema = "n bigint, item struct<sku string, count int>"
    harness.run(orders(broker, "unions", sink, letters, schema=schema, schema_registry=registry.url), until=4)
    assert [(row.n, tuple(row.item)) for row in sink.rows] == [(n, ("s", 3)) for n in (5, None, 2**40)]
    why = f"The value is no record of schema {number}: field n is string, the column bigint."
    assert [letter.error for letter in letters.rows] == [why]


def test_a_registry_that_is_away_ends_the_epoch_and_no_row_is_lost_or_a_dead_letter(broker, harness, registry):
    schema = record(("n", "long"))
    number = registry.register("away-value", schema)
    sent(broker, "avro-away", [framed(number, schema, {"n": n}) for n in range(10)])
    registry.stop()
    sink, letters = Collected(), Collected()
    built = orders(broker, "avro-away", sink, letters, schema="n bigint", schema_registry=registry.url)
    away = rf"could not be read: The schema registry {registry.url} is away \(Connection refused\)\."
    try:
        with pytest.raises(EngineError, match=away) as refused:
            harness.wait_for(harness.start(built, harness.folder / "checkpoint", 2), 10)
        assert refused.value.details["away"] is True
    finally:
        registry.start()
    registry.status = 503
    with pytest.raises(EngineError, match=r"is away \(it answers 503\)\."):
        harness.wait_for(harness.start(built, harness.folder / "checkpoint", 2), 10)
    registry.status = None
    running = harness.start(built, harness.folder / "checkpoint", 2)
    harness.wait_for(running, 10)
    running.stop(60)
    assert [row.n for row in sink.rows] == list(range(10))
    assert letters.rows == []


def test_the_password_of_a_registry_is_a_secret_that_no_error_and_no_plan_shows(broker, harness, spark, monkeypatch):
    monkeypatch.setenv("PITSTOP_SECRET_REGISTRY", "pa:ss@wo/rd")
    registry = Registry("jobs", "pa:ss@wo/rd")
    try:
        schema = record(("n", "long"))
        number = registry.register("secret-value", schema)
        sent(broker, "avro-secret", [framed(number, schema, {"n": n}) for n in range(3)])
        url = registry.url.replace("http://", "http://jobs:${secret:REGISTRY}@")
        sink = Collected()
        running = harness.start(
            orders(broker, "avro-secret", sink, schema="n bigint", schema_registry=url), harness.folder / "checkpoint", 2
        )
        harness.wait_for(running, 3)
        plan = running.query._jsq.explainInternal(True)
        running.stop(60)
        assert [row.n for row in sink.rows] == [0, 1, 2]
        assert "UDF(value" in plan
        assert "pa:ss" not in plan
        registry.authorization = "Basic other"
        refused = harness.start(
            orders(broker, "avro-secret", sink, schema="n bigint", schema_registry=url), harness.folder / "b", 2
        )
        with pytest.raises(EngineError, match=rf"The schema registry {registry.url} answers 401") as error:
            harness.wait_for(refused, 3)
        assert "pa:ss" not in str(error.value.details)
    finally:
        registry.stop()


def test_schemas_come_from_a_folder_too_or_are_one_for_all(broker, harness, tmp_path):
    schema = record(("n", "long"))
    folder = tmp_path / "schemas"
    folder.mkdir()
    (folder / "12.avsc").write_text(json.dumps(schema))
    sent(broker, "folder", [framed(12, schema, {"n": 1})])
    sink, letters = Collected(), Collected()
    harness.run(orders(broker, "folder", sink, letters, schema="n int, n2 int", schema_folder=str(folder)), until=1)
    assert [letter.error for letter in letters.rows] == [
        "The value is of schema 12, which does not fit: field n is long, the column int.",
    ]
    two = record(("n", "long"), ("m", "long"))
    sent(broker, "plain", [plain(schema, {"n": 1}), plain(two, {"n": 2, "m": 3}), plain(schema, {"n": 300})])
    sink, letters = Collected(), Collected()
    harness.run(orders(broker, "plain", sink, letters, schema="n bigint", avro_schema=json.dumps(schema)), until=3, fresh=True)
    assert [row.n for row in sink.rows] == [1, 300]
    assert [letter.error for letter in letters.rows] == ["1 byte is left behind the record of the given schema."]


def test_an_id_without_a_schema_is_tried_again_until_the_schema_is_there(broker, harness, registry):
    schema = record(("n", "long"))
    sent(broker, "unknown", [framed(1, schema, {"n": 7})])
    sink, letters = Collected(), Collected()
    built = orders(broker, "unknown", sink, letters, schema="n bigint", schema_registry=registry.url)
    why = r"knows no schema 1, for a message of topic unknown: register the schema, or lead the job past the message by --seek\."
    with pytest.raises(EngineError, match=why) as refused:
        harness.wait_for(harness.start(built, harness.folder / "checkpoint", 2), 1)
    assert refused.value.details["passing"] is True
    registry.register("unknown-value", schema)
    running = harness.start(built, harness.folder / "checkpoint", 2)
    harness.wait_for(running, 1)
    running.stop(60)
    assert ([row.n for row in sink.rows], letters.rows) == ([7], [])


def decoded(spark, value, columns, **place):
    frame = spark.createDataFrame([(bytearray(value),)], "value binary")
    function = avro_rows(spark, frame["value"], struct_of(columns), SchemaPlace(**place), f"{columns}{place}")
    return frame.select(function.alias("decoded")).first().decoded


MILLIS, MICROS = ({"type": "long", "logicalType": f"timestamp-{unit}"} for unit in ("millis", "micros"))


def price(precision, scale):
    return {"type": "bytes", "logicalType": "decimal", "precision": precision, "scale": scale}


@pytest.mark.parametrize(
    ("written", "read", "value", "column"),
    [
        (MILLIS, MICROS, datetime(2026, 11, 28, 1, 2, 3, 4000, UTC), "timestamp"),
        (["null", MICROS], ["null", MILLIS], datetime(2026, 11, 28, 1, 2, 3, 4, UTC), "timestamp"),
        (price(9, 2), price(11, 4), Decimal("12.34"), "decimal(11,4)"),
        (price(9, 2), price(9, 4), Decimal("12.34"), None),
        ({"type": "int", "logicalType": "date"}, MICROS, date(2026, 11, 28), None),
        ("long", MILLIS, 5, None),
        (["null", MILLIS, "int"], MICROS, 5, None),
    ],
)
def test_the_unit_of_a_value_is_that_of_its_writer(spark, written, read, value, column):
    writer, reader = record(("x", written)), record(("x", read))
    kind = column or ("decimal(9,4)" if read == price(9, 4) else "timestamp")
    row, reason = decoded(spark, plain(writer, {"x": value}), f"x {kind}", writer=json.dumps(writer), reader=json.dumps(reader))
    if column is None:
        assert row is None
        assert "does not fit: field x is " in reason
    else:
        assert reason is None
        assert (row.x.astimezone(UTC) if column == "timestamp" else row.x) == value


def test_a_record_without_any_field_that_is_a_column_is_no_row(spark):
    schema = record(("n", "long"))
    row, reason = decoded(spark, plain(schema, {"n": 1}), "m bigint", writer=json.dumps(schema))
    assert (row, reason) == (None, "The value is of the given schema, which does not fit: none of its fields is a column.")


def test_an_address_that_is_no_registry_is_an_error_of_the_address(broker, harness, registry, monkeypatch):
    sent(broker, "no-registry", [framed(1, record(("n", "long")), {"n": 7})])
    monkeypatch.setattr(registry, "answer", lambda path, authorization: (200, ["<html>"]))
    built = orders(broker, "no-registry", Collected(), schema="n bigint", schema_registry=registry.url)
    with pytest.raises(EngineError, match=r"what is no JSON object, as another server does: see its address") as refused:
        harness.wait_for(harness.start(built, harness.folder / "checkpoint", 2), 1)
    assert not refused.value.details.get("away")
    monkeypatch.setenv("PITSTOP_SECRET_ADDRESS", "hidden:8081")
    built = orders(broker, "no-registry", Collected(), schema="n bigint", schema_registry="secret:ADDRESS")
    with pytest.raises(UsageError, match=r"what secret ADDRESS holds is not one\.") as wrong:
        harness.start(built, harness.folder / "b", 2)
    assert "hidden" not in str(wrong.value)
