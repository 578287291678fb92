"""Values of Avro that a job writes, on a real broker: fastavro reads what was in the rows."""

import dataclasses
import io
import json
import struct
from datetime import UTC, date, datetime
from decimal import Decimal

import fastavro
import pytest
from pyspark.sql import functions as F

import pitstop as ps
from pitstop.errors import EngineError
from pitstop.maps.ports import Fence
from pitstop.model.config import ProcessingGuarantee
from pitstop.spark.base.environment import Environment
from pitstop.spark.sinks import EpochContext
from pitstop.spark.sinks.kafka import TASKS, by_tasks, check_columns, write_kafka
from tests.spark.sources.test_kafka import KafkaHarness

pytestmark = [pytest.mark.spark, pytest.mark.long]

COLUMNS = (
    "flag boolean, tiny tinyint, small int, big bigint, ratio float, total double, name string, raw binary, price decimal(12,3), "
    "day date, at timestamp, local timestamp_ntz, tags array<string>, counts map<string,bigint>, "
    "item struct<sku string, at timestamp, days array<date>>, moments map<string,timestamp_ntz>"
)
AT = datetime(1969, 12, 31, 23, 59, 58, 123_457, UTC)
LOCAL = datetime(1900, 1, 1, 0, 0, 0, 1)
FULL = (
    True, -7, 2**31 - 1, -(2**63), 0.5, 1e300, "größer", b"\x00\xff", Decimal("-123456789.012"),
    date(1582, 10, 15), AT, LOCAL, ["a", None], {"k": 1, "l": None},
    ("s", AT, [date(1, 1, 1), date(9999, 12, 31)]), {"m": LOCAL},
)  # fmt: skip


@pytest.fixture
def write(broker, tmp_path):
    """Write rows as an epoch of a run, as the engine does."""

    def written(topic, rows, epoch=0, **sink):
        run = Environment("job-1", "job", "l", ProcessingGuarantee.EXACTLY_ONCE, tmp_path, lambda *_: None)
        run = dataclasses.replace(run, fence=Fence("job-1", 1))
        context = EpochContext("job", "sink", "l", epoch, "exactly_once", run, "d")
        return write_kafka(ps.sinks.kafka(broker.servers, topic, value_format="avro", **sink), rows, context)

    return written


def read(value, schema):
    return fastavro.schemaless_reader(io.BytesIO(value), fastavro.parse_schema(schema))


def record(*fields):
    return {"type": "record", "name": "shop.Order", "fields": [{"name": name, **facts} for name, facts in fields]}


def test_every_type_is_read_by_fastavro_by_the_schema_that_the_registry_got(broker, spark, write, registry):
    broker.make("every-type", 1)
    rows = spark.createDataFrame([FULL, (None,) * len(FULL)], COLUMNS)
    assert write("every-type", rows, schema_registry=registry.url) == 2
    number = registry.subjects["every-type-value"][0]
    schema = json.loads(registry.schemas[number]["schema"])
    values = [value for _, value, _ in broker.messages("every-type")]
    assert [value[:5] for value in values] == [b"\0" + struct.pack(">i", number)] * 2
    full, empty = sorted((read(value[5:], schema) for value in values), key=lambda row: row["flag"] is None)
    names = [field["name"] for field in schema["fields"]]
    item = {"sku": "s", "at": AT, "days": [date(1, 1, 1), date(9999, 12, 31)]}
    assert full == dict(zip(names, FULL, strict=True)) | {"item": item}
    assert empty == dict.fromkeys(names)


def test_a_given_schema_decides_on_types_units_and_defaults(broker, spark, write):
    price = {"type": "fixed", "name": "P", "size": 6, "logicalType": "decimal", "precision": 10, "scale": 3}
    schema = record(
        ("color", {"type": {"type": "enum", "name": "Color", "symbols": ["RED", "GREEN"]}}),
        ("currency", {"type": "string", "default": "EUR"}),
        ("at", {"type": {"type": "long", "logicalType": "timestamp-millis"}}),
        ("price", {"type": ["string", price]}),
        ("n", {"type": ["long", "null"]}),
    )
    broker.make("given", 1)
    rows = spark.createDataFrame([("RED", AT, Decimal("-1.25"), 1), ("GREEN", AT, Decimal("7.00"), None)],
                                 "color string, at timestamp, price decimal(6,2), n int")  # fmt: skip
    write("given", rows, avro_schema=json.dumps(schema))
    at = AT.replace(microsecond=123_000)
    assert sorted((read(value, schema) for _, value, _ in broker.messages("given")), key=lambda row: row["color"]) == [
        {"color": "GREEN", "currency": "EUR", "at": at, "price": Decimal("7.000"), "n": None},
        {"color": "RED", "currency": "EUR", "at": at, "price": Decimal("-1.250"), "n": 1},
    ]


def test_a_value_is_a_struct_and_a_null_one_a_tombstone(broker, spark, write, registry):
    broker.make("structs", 1)
    rows = spark.createDataFrame([("a", 1), ("b", None)], "k string, n bigint")
    value = "CASE WHEN n IS NOT NULL THEN struct(n AS total) END"
    write("structs", rows, key="k", value=value, schema_registry=registry.url, subject="shop.Total")
    messages = {key: value for key, value, _ in broker.messages("structs")}
    schema = json.loads(registry.schemas[registry.subjects["shop.Total"][0]]["schema"])
    assert (read(messages[b"a"][5:], schema), messages[b"b"]) == ({"total": 1}, None)


def test_a_schema_is_registered_once_and_each_epoch_has_its_id(broker, spark, write, registry):
    broker.make("once", 1)
    rows = spark.createDataFrame([(1,)], "n bigint")
    for epoch in range(3):
        write("once", rows, epoch=epoch, schema_registry=registry.url)
    assert registry.requests == ["POST /subjects/once-value/versions"]
    assert {value[:5] for _, value, _ in broker.messages("once")} == {b"\0\0\0\0\1"}


def test_a_row_comes_to_the_same_task_when_its_schema_has_another_id(spark):
    sink = ps.sinks.kafka("h:1", "t", value_format="avro", schema_registry="http://h:1")
    rows = spark.createDataFrame([(n,) for n in range(40)], "n bigint")

    def tasks(number):
        messages = by_tasks(sink, rows, number).withColumn("task", F.spark_partition_id()).collect()
        return {bytes(message.value[5:]): message.task for message in messages}

    assert len(set(tasks(1).values())) == TASKS
    assert tasks(1) == tasks(70_000)


def test_a_registry_that_refuses_is_told_and_one_that_is_away_is_tried_again(broker, spark, write, registry):
    broker.make("refused", 1)
    rows = spark.createDataFrame([(1,)], "n bigint")
    registry.closed.add("refused-value")
    with pytest.raises(
        EngineError, match=r"^Sink 'sink': .* does not take .* 'refused-value': Schema .* incompatible"
    ) as problem:
        write("refused", rows, schema_registry=registry.url)
    assert not problem.value.details.get("passing")
    for outage in ("503", "down"):
        registry.status = 503
        if outage == "down":
            registry.stop()
        with pytest.raises(EngineError, match=r"^Sink 'sink': The schema registry .* is away") as problem:
            write("refused", rows, schema_registry=registry.url, subject="other")
        assert problem.value.details["passing"]
    registry.start()
    registry.status = None
    assert write("refused", rows, schema_registry=registry.url, subject="other") == 1
    assert len(broker.messages("refused")) == 1


def test_a_null_that_the_schema_does_not_take_fails_the_job_and_names_sink_and_field(broker, spark, tmp_path):
    broker.make("nulls", 1)
    broker.make("with-nulls", 1)
    broker.send("with-nulls", [(None, b'{"n": null}', 0)])
    p = ps.Pipeline()
    rows = p.read_from(ps.sources.kafka(broker.servers, "with-nulls", schema="n bigint"), name="numbers")
    schema = json.dumps(record(("n", {"type": "long"})))
    rows.write_to(ps.sinks.kafka(broker.servers, "nulls", value_format="avro", avro_schema=schema), name="topic")
    message = r"^An epoch failed as sink 'topic' .*: A null has no place in the schema of Avro: field n takes none\.$"
    with pytest.raises(EngineError, match=message):
        KafkaHarness(spark, tmp_path).run(p, until=1)
    assert broker.messages("nulls") == []


@pytest.mark.parametrize(
    ("columns", "sink", "reason"),
    [
        (
            "n string",
            {"avro_schema": json.dumps(record(("n", {"type": "long"})))},
            "the schema of Avro does not fit the columns: field n is long, the column string.",
        ),
        ("n bigint, m int", {"avro_schema": json.dumps(record(("n", {"type": "long"})))}, "it has no field for column m."),
        (
            "n bigint",
            {"avro_schema": json.dumps(record(("n", {"type": "long"}), ("m", {"type": "long"})))},
            "field m has no default, and there is no column for it.",
        ),
        ("`a-b` bigint", {"schema_registry": "http://h:1"}, "Column a-b has a name that no field of Avro has: use letters"),
        ("n map<int,int>", {"schema_registry": "http://h:1"}, "Avro has no type for map<int,int>."),
        (
            "n bigint",
            {"schema_registry": "http://h:1", "value": "n"},
            "A value of Avro is a struct, and not bigint: write struct",
        ),
    ],
)
def test_columns_that_have_no_place_are_told_before_a_job_runs(spark, columns, sink, reason):
    rows = spark.createDataFrame([], columns)
    assert reason in check_columns(ps.sinks.kafka("h:1", "t", value_format="avro", **sink), rows)
