"""Schemas of Avro as columns: the DDL of a record, without Spark and without a library."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pitstop.errors import UsageError

_PLAIN = {
    "boolean": "boolean",
    "int": "int",
    "long": "bigint",
    "float": "float",
    "double": "double",
    "bytes": "binary",
    "string": "string",
    "fixed": "binary",
    "enum": "string",
}
_LOGICAL = {
    ("int", "date"): "date",
    ("long", "timestamp-millis"): "timestamp",
    ("long", "timestamp-micros"): "timestamp",
    ("long", "local-timestamp-millis"): "timestamp_ntz",
    ("long", "local-timestamp-micros"): "timestamp_ntz",
}
_MOST_DIGITS = 38


def record_of(text: str) -> dict[str, Any]:
    """Return a schema of Avro that is a record. UsageError if it is none."""
    try:
        schema = json.loads(text)
    except ValueError as error:
        raise UsageError(f"The schema of Avro is not JSON: {error}.") from None
    if not isinstance(schema, dict) or schema.get("type") != "record" or not isinstance(schema.get("fields"), list):
        raise UsageError('A schema of Avro is a record: {"type": "record", "name": "Order", "fields": [...]}.')
    return schema


def ddl_of(text: str) -> str:
    """Return the columns into which a record of Avro is read, as DDL. UsageError if one has no type of a column."""
    schema = record_of(text)
    space, name = _space(schema, ""), str(schema.get("name", "")).rpartition(".")[2]
    return _fields(schema, space, {f"{space}.{name}" if space else name: None}, "")


def _fields(record: Mapping[str, Any], space: str, names: dict[str, Any], path: str) -> str:
    columns = []
    for field in record["fields"]:
        where = f"{path}{field['name']}"
        name = str(field["name"]).replace("`", "``")
        columns.append(f"`{name}` {_type(field['type'], space, names, where)}")
    return ", ".join(columns)


def _type(schema: Any, space: str, names: dict[str, Any], path: str) -> str:
    if isinstance(schema, list):
        return _union(schema, space, names, path)
    if isinstance(schema, str):
        if schema in _PLAIN and schema not in ("fixed", "enum"):
            return _PLAIN[schema]
        full = schema if "." in schema or not space else f"{space}.{schema}"
        if full not in names and schema not in names:
            raise UsageError(f"Field {path} of the schema of Avro has the type {schema!r}, which the schema does not define.")
        columns = names[full] if full in names else names[schema]
        if columns is None:
            raise UsageError(f"Field {path} of the schema of Avro contains itself, which a column cannot: leave it out.")
        return str(columns)
    if not isinstance(schema, dict) or "type" not in schema:
        raise UsageError(f"Field {path} of the schema of Avro has no type: {json.dumps(schema)}.")
    kind = schema["type"]
    if isinstance(kind, (dict, list)):
        return _type(kind, space, names, path)
    if kind == "array":
        return f"array<{_type(schema['items'], space, names, f'{path}[]')}>"
    if kind == "map":
        return f"map<string,{_type(schema['values'], space, names, f'{path}{{}}')}>"
    if kind in ("record", "enum", "fixed"):
        return _named(schema, space, names, path)
    if kind not in _PLAIN:
        return _type(kind, space, names, path)
    return _logical(schema, path)


def _named(schema: Mapping[str, Any], space: str, names: dict[str, Any], path: str) -> str:
    """Return the type of a schema with a name, by which others may refer to it."""
    inner = _space(schema, space)
    name = str(schema["name"])
    full = name if "." in name or not inner else f"{inner}.{name}"
    names[full] = None
    if schema["type"] == "record":
        fields = _fields(schema, inner, names, f"{path}.")
        names[full] = f"struct<{fields}>"
    else:
        names[full] = _logical(schema, path)
    return str(names[full])


def _union(branches: list[Any], space: str, names: dict[str, Any], path: str) -> str:
    others = [branch for branch in branches if branch != "null"]
    if len(others) != 1:
        types = json.dumps(branches)
        raise UsageError(f"Field {path} of the schema of Avro has several types, but a column has one: {types}.")
    return _type(others[0], space, names, path)


def _logical(schema: Mapping[str, Any], path: str) -> str:
    kind, logical = str(schema["type"]), schema.get("logicalType")
    if logical == "decimal" and kind in ("bytes", "fixed"):
        precision, scale = int(schema.get("precision", 0)), int(schema.get("scale", 0))
        if not 0 < precision <= _MOST_DIGITS:
            raise UsageError(f"Field {path} of the schema of Avro is a decimal of {precision} digits: columns have 1 to 38.")
        return f"decimal({precision},{scale})"
    return _LOGICAL.get((kind, str(logical)), _PLAIN[kind])


def _space(schema: Mapping[str, Any], outer: str) -> str:
    name = str(schema.get("name", ""))
    return name.rpartition(".")[0] if "." in name else str(schema.get("namespace", outer))
