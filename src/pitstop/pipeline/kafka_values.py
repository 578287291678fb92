"""The values of messages of Kafka: their format, and the facts by which it is read."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Literal

from pitstop.errors import UsageError
from pitstop.machine.local_paths import local_path
from pitstop.machine.named_secrets import is_reference
from pitstop.pipeline.avro_schemas import ddl_of, record_of
from pitstop.pipeline.protobuf_values import protobuf_options

Format = Literal["json", "csv", "avro", "protobuf", "debezium", "text", "bytes"]
FORMATS = ("json", "csv", "avro", "protobuf", "debezium", "text", "bytes")
PARSED_FORMATS = ("json", "csv", "avro", "protobuf", "debezium")
DECODED_FORMATS = ("avro", "protobuf", "debezium")
"""The formats whose rows the reader makes by itself, with the reason for each that is none."""
OPTIONS = (
    "schemaRegistry", "schemaFolder", "avroSchema", "readerSchema", "message", "descriptorFile", "descriptorSet", "opColumn",
    "numberTimes",
)  # fmt: skip
"""The options of a source that say how a value is read."""

_SECRET = re.compile(r"\$\{secret:[^}]*\}")
_TOKENS = re.compile(r"`(?:[^`]|``)*`|'[^']*'|\"[^\"]*\"|[<>(),]|[^\s<>(),:`'\"]+")
_WEB_ADDRESS = re.compile(r"https?://(?:(?P<user>[^@/]*)@)?[^@/?#]+(?:/[^?#]*)?")


@dataclass(frozen=True)
class Values:
    """The way in which values are read."""

    schema: str | None
    """The DDL of the columns that come of a value."""
    parse: str | None
    """The format, if values are parsed."""
    options: dict[str, str] = field(default_factory=dict)
    parse_options: dict[str, str] = field(default_factory=dict)


def values_of(
    value: str,
    schema: str | None,
    schema_registry: str | None,
    schema_folder: str | None,
    avro_schema: str | None,
    message: Any,
    descriptor_file: str | None,
    op_column: str,
    number_times: str | None,
) -> Values:
    """Return the way in which the values of a topic are read. UsageError if what is given does not go together."""
    if value not in FORMATS:
        raise UsageError(f"kafka reads values of {', '.join(FORMATS[:-1])} or {FORMATS[-1]}, not {value!r}.")
    if (schema is None) == (value in PARSED_FORMATS):
        raise UsageError(f"Values of {value} need a schema." if schema is None else f"Values of {value} have no schema.")
    places = {"schema_registry": schema_registry, "schema_folder": schema_folder, "avro_schema": avro_schema}
    if value != "avro" and any(place is not None for place in places.values()):
        raise UsageError(f"{', '.join(places)} are for values of avro, not of {value}.")
    if value != "protobuf" and (message is not None or descriptor_file is not None):
        raise UsageError(f"message and descriptor_file are for values of protobuf, not of {value}.")
    if value != "debezium" and (op_column != "op" or number_times is not None):
        raise UsageError(f"op_column and number_times are for values of debezium, not of {value}.")
    if value == "avro":
        return _avro(schema or "", schema_registry, schema_folder, avro_schema)
    if value == "protobuf":
        return Values(schema, "protobuf", protobuf_options(message, descriptor_file))
    if value == "debezium":
        return _debezium(schema or "", op_column, number_times)
    parsed = value if value in PARSED_FORMATS else None
    return Values(schema, parsed, {}, {"escape": '"'} if value == "csv" else {})


@dataclass(frozen=True)
class AvroForm:
    """The way in which a sink writes values of Avro."""

    schema: str | None
    """The record of Avro, as JSON; None: one that follows from the columns."""
    registry: str | None = field(repr=False)
    """The URL of the registry that has the schema; None: values begin without an id."""
    subject: str | None
    """The name of the schema in the registry; None: that of the topic's values."""


def written_form(value_format: str, schema: str | None, registry: str | None, subject: str | None) -> AvroForm | None:
    """Return the way in which a sink writes values of Avro; None: it writes JSON. UsageError if it cannot."""
    if value_format not in ("json", "avro"):
        raise UsageError(f"kafka writes values of json or avro, not {value_format!r}.")
    if value_format == "json":
        if any(part is not None for part in (schema, registry, subject)):
            raise UsageError("avro_schema, schema_registry and subject are for value_format='avro'.")
        return None
    if schema is None and registry is None:
        raise UsageError(
            "Values of avro need a schema that their readers know: give schema_registry (a URL), avro_schema (a record of Avro), "
            "or both."
        )
    if subject is not None and registry is None:
        raise UsageError("subject is the name of the schema in a registry: give schema_registry.")
    if schema is not None:
        record_of(schema)
    return AvroForm(schema, _checked_address(registry) if registry is not None else None, subject)


def _avro(schema: str, registry: str | None, folder: str | None, writer: str | None) -> Values:
    if sum(place is not None for place in (registry, folder, writer)) != 1:
        raise UsageError(
            "Values of avro need the schemas of their writers: give schema_registry (a URL), schema_folder (a folder of files "
            "ID.avsc), or avro_schema (the one schema of values without an id)."
        )
    options = {}
    if registry is not None:
        options["schemaRegistry"] = _checked_address(registry)
    if folder is not None:
        local_path(str(folder), "The schema folder")
        options["schemaFolder"] = str(folder)
    if writer is not None:
        record_of(writer)
        options["avroSchema"] = writer
    if schema.lstrip().startswith("{"):
        options["readerSchema"] = schema
        return Values(ddl_of(schema), "avro", options)
    return Values(schema, "avro", options)


def _checked_address(registry: str) -> str:
    address = _WEB_ADDRESS.fullmatch(registry)
    if is_reference(registry):
        return registry
    if address is None:
        raise UsageError("schema_registry is a URL: https://${secret:REGISTRY_USER}:${secret:REGISTRY_PASSWORD}@host:8081.")
    _, colon, password = _SECRET.sub("$", address["user"] or "").partition(":")
    if (colon and password != "$") or (address["user"] and not colon):
        raise UsageError(
            "The password in schema_registry must be the name of a secret: https://user:${secret:REGISTRY_PASSWORD}@host."
        )
    return registry.rstrip("/")


def _debezium(schema: str, op_column: str, number_times: str | None) -> Values:
    if number_times not in (None, "millis", "micros"):
        raise UsageError(f"number_times is millis or micros, not {number_times!r}.")
    if not op_column:
        raise UsageError("op_column is empty: name a column.")
    nested = _column_with_nested_time(schema)
    if nested is not None:
        raise UsageError(
            f"Column {nested} has a timestamp within an array, a map or a struct, where values of debezium have no unit: "
            "declare it as bigint if it is a number, or as string."
        )
    options = {"opColumn": op_column} | ({"numberTimes": number_times} if number_times is not None else {})
    return Values(f"{schema}, `{op_column.replace('`', '``')}` string", "debezium", options)


def _column_with_nested_time(ddl: str) -> str | None:
    """Return the first column of a DDL with a timestamp that is not the column itself; None if there is none.

    Only Spark parses a DDL in full, and no Spark is there yet when a pipeline is written: this looks for types alone.
    """
    outer: list[str] = []
    """The words before the brackets that are open: array, map or struct."""
    column, word, is_name, brackets = "", "", True, 0
    for token in _TOKENS.findall(ddl):
        if token in "()":
            brackets += 1 if token == "(" else -1
        elif brackets:
            continue
        elif token == "<":
            outer.append(word)
            word, is_name = "", word == "struct"
        elif token == ">":
            outer, word = outer[:-1], token
        elif token == ",":
            word, is_name = "", not outer or outer[-1] == "struct"
        elif is_name:
            column, word, is_name = column if outer else token.strip("`"), "", False
        elif not word:
            word = token.casefold()
            if outer and word in ("timestamp", "timestamp_ltz"):
                return column
    return None
