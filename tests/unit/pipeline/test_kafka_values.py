"""Formats of messages: what goes together is read, the rest is a sentence."""

import json

import pytest

import pitstop as ps
from pitstop.errors import UsageError
from pitstop.pipeline.avro_schemas import ddl_of

AVRO = {"value": "avro", "schema": "n bigint"}
ONE = json.dumps({"type": "record", "name": "A", "fields": [{"name": "n", "type": "long"}]})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (AVRO, r"need the schemas of their writers: give schema_registry \(a URL\), schema_folder"),
        (AVRO | {"schema_folder": "/s", "avro_schema": ONE}, "need the schemas of their writers"),
        ({"value": "avro", "avro_schema": ONE}, "Values of avro need a schema"),
        (
            {"schema": "n int", "schema_folder": "/s"},
            "schema_registry, schema_folder, avro_schema are for values of avro, not of json",
        ),
        ({"schema": "n int", "op_column": "o"}, "op_column and number_times are for values of debezium, not of json"),
        (AVRO | {"schema_registry": "host:8081"}, "schema_registry is a URL"),
        (AVRO | {"schema_registry": "ftp://host:8081"}, "schema_registry is a URL"),
        (AVRO | {"schema_registry": "http://u:open@host:8081"}, "must be the name of a secret"),
        (AVRO | {"schema_registry": "http://${secret:A}@host:8081"}, "must be the name of a secret"),
        (AVRO | {"schema_folder": "s3://bucket/s"}, "The schema folder must lie in a folder of the machine"),
        (AVRO | {"avro_schema": "{"}, "The schema of Avro is not JSON"),
        (AVRO | {"avro_schema": '"long"'}, "A schema of Avro is a record"),
        ({"value": "debezium"}, "Values of debezium need a schema"),
        ({"value": "debezium", "schema": "n int", "number_times": "nanos"}, "number_times is millis or micros, not 'nanos'"),
        ({"value": "debezium", "schema": "n int", "op_column": ""}, "op_column is empty"),
        (
            {"value": "debezium", "schema": "n int, a array<timestamp>"},
            "Column a has a timestamp within .* bigint if .* or as string",
        ),
        (
            {"value": "debezium", "schema": "n decimal(9,2), `m` map<string, struct<at: bigint, `x` Timestamp>>"},
            "Column m has a timestamp within an array, a map or a struct",
        ),
    ],
)
def test_what_does_not_go_together_is_told_when_it_is_written(options, message):
    with pytest.raises(UsageError, match=message):
        ps.sources.kafka("h:1", "a", **options)


@pytest.mark.parametrize(
    "url", ["http://h:1", "https://u:${secret:P}@h/path", "https://${secret:U}:${secret:P}@h:1", "secret:URL"]
)
def test_the_address_of_a_registry_may_have_the_names_of_secrets(url):
    assert ps.sources.kafka("h:1", "a", **AVRO, schema_registry=url).options["schemaRegistry"] == url


def test_a_timestamp_of_a_change_is_a_column_itself():
    schema = "at timestamp, s struct<timestamp bigint, t string comment 'a timestamp'>, a array<date>, z timestamp"
    assert ps.sources.kafka("h:1", "a", value="debezium", schema=schema).parse == "debezium"


def test_a_change_has_the_column_of_its_operation():
    source = ps.sources.kafka("h:1", "a", value="debezium", schema="n int", op_column="what")
    assert (source.schema, source.parse) == ("n int, `what` string", "debezium")


def ddl(*fields):
    return ddl_of(
        json.dumps({"type": "record", "name": "a.b.Row", "fields": [dict(zip(("name", "type"), f, strict=True)) for f in fields]})
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"value_format": "orc"}, "kafka writes values of json or avro, not 'orc'"),
        ({"value_format": "avro"}, r"need a schema that their readers know: give schema_registry \(a URL\), avro_schema"),
        ({"avro_schema": ONE}, "avro_schema, schema_registry and subject are for value_format='avro'"),
        ({"value_format": "avro", "avro_schema": ONE, "subject": "a"}, "subject is the name of the schema in a registry"),
        ({"value_format": "avro", "avro_schema": "{"}, "The schema of Avro is not JSON"),
        ({"value_format": "avro", "schema_registry": "http://u:open@h:1"}, "must be the name of a secret"),
    ],
)
def test_what_of_a_written_format_does_not_go_together_is_a_sentence(options, message):
    with pytest.raises(UsageError, match=message):
        ps.sinks.kafka("h:1", "t", **options)


def test_a_record_of_avro_is_columns_with_names_that_it_defines_in_its_namespace():
    item = {"type": "record", "name": "Item", "fields": [{"name": "sku", "type": "string"}]}
    decimal = {"type": "fixed", "name": "Price", "size": 8, "logicalType": "decimal", "precision": 9, "scale": 2}
    assert ddl(
        ("one", ["null", item]),
        ("many", {"type": "array", "items": "a.b.Item"}),
        ("more", {"type": "map", "values": "Item"}),
        ("price", decimal),
        ("again", "Price"),
        ("time", {"type": "long", "logicalType": "time-micros"}),
        ("at", [{"type": "long", "logicalType": "timestamp-millis"}, "null"]),
        ("local", {"type": "long", "logicalType": "local-timestamp-micros"}),
        ("nested", {"type": {"type": "enum", "name": "E", "symbols": ["A"]}}),
        ("odd`name", "bytes"),
    ) == (
        "`one` struct<`sku` string>, `many` array<struct<`sku` string>>, `more` map<string,struct<`sku` string>>, "
        "`price` decimal(9,2), `again` decimal(9,2), `time` bigint, `at` timestamp, `local` timestamp_ntz, `nested` string, "
        "`odd``name` binary"
    )


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (["null", "int", "string"], r"Field x of the schema of Avro has several types, but a column has one"),
        ("Other", "has the type 'Other', which the schema does not define"),
        (["null", "Row"], "Field x of the schema of Avro contains itself"),
        ({"type": "bytes", "logicalType": "decimal", "precision": 40}, "a decimal of 40 digits: columns have 1 to 38"),
        (
            {"type": "record", "name": "Node", "fields": [{"name": "next", "type": ["null", "Node"]}]},
            "Field x.next .* contains itself",
        ),
    ],
)
def test_a_field_that_is_no_column_is_told(kind, message):
    with pytest.raises(UsageError, match=message):
        ddl(("x", kind))
