"""Topics of Kafka as mappings: read as a stream, and written by jobs."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping as AnyMapping
from typing import Any, cast

from pitstop.errors import UsageError
from pitstop.pipeline import sinks, sources
from pitstop.pipeline.kafka_security import KafkaSecurity, kafka_security
from pitstop.pipeline.sink import Sink
from pitstop.pipeline.source import Source
from pitstop.sql.mappings import KEY, VALUE, Column, Mapping, text, truth
from pitstop.sql.statements import Writing
from pitstop.sql.types import quoted

_FORMATS = {"json-flat": "json", "varchar": "text", "debezium-json": "debezium"}
"""The names of formats in Pitstop, where they are others."""
_CSV = {
    "quote": '"',
    "escape": '"',
    "ignoreLeadingWhiteSpace": "false",
    "ignoreTrailingWhiteSpace": "false",
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
}
"""The options of Spark's ``to_csv``: RFC 4180, and times as they are. By itself Spark cuts them to milliseconds."""
_OF_ONE_COLUMN = {"quoteAll": "true", "nullValue": '""'}
"""Further ones for a single column, whose null would be an empty message."""
SECURITY: AnyMapping[str, tuple[str, Callable[[str], Any]]] = {
    "security.tls": ("tls", truth),
    "security.ca": ("ca", str),
    "security.checkHost": ("check_host", truth),
    "security.certificate": ("certificate", str),
    "security.key": ("key", str),
    "security.user": ("user", str),
    "security.password": ("password", str),
    "security.mechanism": ("mechanism", str),
}
"""Option of a mapping of TYPE Kafka -> the argument of ``kafka_security``, and the function that reads its text."""
_DECODING = {
    "schema.registry.url": "schema_registry",
    "schemaFolder": "schema_folder",
    "valueAvroSchema": "avro_schema",
    "valueProtobufMessage": "message",
    "descriptorFile": "descriptor_file",
    "numberTimes": "number_times",
}
"""Option of a mapping of TYPE Kafka -> the argument of the source that says how a value is decoded."""
DECODING_OPTIONS: AnyMapping[str, Callable[[str], object]] = dict.fromkeys(_DECODING, str)
OP = "__op"
"""The column of a topic of changes that tells the change."""
_READ_ONLY = ("protobuf", "debezium-json")
_NOT_IN_CSV = ("array", "map", "struct", "binary")


def check_topic(mapping: Mapping) -> None:
    """Raise UsageError unless the columns are those of a topic's values, and the external name is one of a topic."""
    is_text = _format(mapping) == "varchar"
    if is_text == bool(_fields(mapping)) or is_text != mapping.has(VALUE):
        raise UsageError(f"A mapping of TYPE Kafka has the column {VALUE} with valueFormat varchar, and fields with others")
    for column in mapping.columns:
        if column.name in (KEY, VALUE, OP) and (column.type != "string" or column.external is not None):
            raise UsageError(f"Column {column.name} of a mapping of TYPE Kafka is VARCHAR, and has no EXTERNAL NAME")
    if (_format(mapping) == "debezium-json") != mapping.has(OP):
        raise UsageError(f"A mapping of TYPE Kafka has the column {OP} with valueFormat debezium-json, and only then")
    read_topic(mapping)


def read_topic(mapping: Mapping) -> Source:
    """Return the source of a topic."""
    fields = ", ".join(f"{quoted(column.outside)} {column.type}" for column in _fields(mapping))
    value = _format(mapping)
    return sources.kafka(
        mapping.options["bootstrap.servers"],
        mapping.outside,
        value=cast("Any", _FORMATS.get(value, value)),
        schema=fields or None,
        start=mapping.option("auto.offset.reset", "earliest"),
        with_metadata={"key": KEY} if mapping.has(KEY) else {},
        on_loss=cast("Any", mapping.option("onLoss", "fail")),
        security=_security(mapping),
        group=mapping.option("group.id", "") or None,
        op_column=OP if value == "debezium-json" else "op",
        **_decoding(mapping),
    )


def write_topic(mapping: Mapping) -> Sink:
    """Return the sink of a topic. UsageError if its format has no place for a column."""
    key = quoted(KEY) if mapping.has(KEY) else None
    return sinks.kafka(
        mapping.options["bootstrap.servers"],
        mapping.outside,
        key=key,
        value=_value(mapping),
        security=_security(mapping),
        **_encoding(mapping),
    )


def objection(mapping: Mapping, writing: Writing) -> str | None:
    """Return why a topic is not written by a statement; None if it is."""
    if _format(mapping) in _READ_ONLY:
        return f" with valueFormat {_format(mapping)}"
    if "schemaFolder" in mapping.options:
        return " with schemaFolder"
    if writing is Writing.SINK and not mapping.has(KEY):
        return f" without a column {KEY}, use {Writing.INSERT} INTO"
    return None


def _security(mapping: Mapping) -> KafkaSecurity | None:
    """Return what the options ``security.*`` say; None if there are none."""
    pairs = {name: mapping.options[name] for name in SECURITY if name in mapping.options}
    return kafka_security(**{SECURITY[name][0]: SECURITY[name][1](value) for name, value in pairs.items()}) if pairs else None


def _decoding(mapping: Mapping) -> dict[str, Any]:
    return {argument: mapping.options[name] for name, argument in _DECODING.items() if name in mapping.options}


def _encoding(mapping: Mapping) -> dict[str, Any]:
    if _format(mapping) != "avro":
        return {}
    registry, schema = mapping.option("schema.registry.url", ""), mapping.option("valueAvroSchema", "")
    return {"value_format": "avro", "schema_registry": registry or None, "avro_schema": schema or None}


def _format(mapping: Mapping) -> str:
    return mapping.option("valueFormat", "json")


def _fields(mapping: Mapping) -> list[Column]:
    return [column for column in mapping.columns if column.name not in (KEY, VALUE, OP)]


def _value(mapping: Mapping) -> str:
    """Return the expression of a message's value."""
    form, fields = _format(mapping), _fields(mapping)
    if form == "varchar":
        return quoted(VALUE)
    row = f"struct({', '.join(f'{quoted(column.name)} AS {quoted(column.outside)}' for column in fields)})"
    if form != "csv":
        return row
    for column in fields:
        if column.type.startswith(_NOT_IN_CSV):
            raise UsageError(f"Column {column.name} of mapping '{mapping.name}' has no place in CSV: use valueFormat json-flat")
    options = _CSV | (_OF_ONE_COLUMN if len(fields) == 1 else {})
    return f"to_csv({row}, map({', '.join(text(part) for option in options.items() for part in option)}))"
