"""Rows as values of Avro: their schema, and the expression of their bytes."""

from __future__ import annotations

import json
import re
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    ByteType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    ShortType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from pitstop.errors import UsageError
from pitstop.pipeline.kafka_values import AvroForm
from pitstop.spark.base.nested import changed_within
from pitstop.spark.base.schema_registry import registered, registry_at
from pitstop.spark.internals.avro_rows import avro_bytes

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PLAIN: dict[type[DataType], Any] = {
    BooleanType: "boolean",
    ByteType: "int",
    ShortType: "int",
    IntegerType: "int",
    LongType: "long",
    FloatType: "float",
    DoubleType: "double",
    StringType: "string",
    BinaryType: "bytes",
    DateType: {"type": "int", "logicalType": "date"},
    TimestampType: {"type": "long", "logicalType": "timestamp-micros"},
    TimestampNTZType: {"type": "long", "logicalType": "local-timestamp-micros"},
}
_TIMES = (DateType, TimestampType, TimestampNTZType)


def schema_of(form: AvroForm, columns: StructType, topic: str) -> str:
    """Return the schema of a topic's values: that of the user, or one in which each column may be null.

    UsageError if a column has no place in one.
    """
    if form.schema is not None:
        return form.schema
    return json.dumps(_record(columns, re.sub(r"\W", "_", f"_{topic}" if topic[0].isdigit() else topic)))


def schema_id(form: AvroForm, schema: str, topic: str) -> int | None:
    """Return the id of a schema in the registry, in which it is registered unless it is there; None if there is no registry."""
    if form.registry is None:
        return None
    return registered(registry_at(form.registry), form.subject or f"{topic}-value", schema)


def avro_value(rows: DataFrame, row: Column, columns: StructType, schema: str, number: int | None) -> Column:
    """Return the bytes of a struct of ``columns``. UsageError if the schema has no place for one of them."""
    return avro_bytes(rows.sparkSession, changed_within(row, columns, _TIMES, _number), columns, schema, number)


def _record(columns: StructType, name: str) -> dict[str, Any]:
    fields = []
    for column in columns.fields:
        if not _NAME.fullmatch(column.name):
            raise UsageError(f"Column {column.name} has a name that no field of Avro has: use letters, digits and _.")
        fields.append({"name": column.name, "type": _nullable(column.dataType, f"{name}_{column.name}"), "default": None})
    return {"type": "record", "name": name, "fields": fields}


def _nullable(kind: DataType, name: str) -> list[Any]:
    return ["null", _type(kind, name)]


def _type(kind: DataType, name: str) -> Any:
    if isinstance(kind, DecimalType):
        return {"type": "bytes", "logicalType": "decimal", "precision": kind.precision, "scale": kind.scale}
    if isinstance(kind, ArrayType):
        return {"type": "array", "items": _nullable(kind.elementType, name)}
    if isinstance(kind, MapType) and isinstance(kind.keyType, StringType):
        return {"type": "map", "values": _nullable(kind.valueType, name)}
    if isinstance(kind, StructType):
        return _record(kind, name)
    if type(kind) not in _PLAIN:
        raise UsageError(f"Avro has no type for {kind.simpleString()}.")
    return _PLAIN[type(kind)]


def _number(value: Column, kind: DataType) -> Column:
    """Return a time as a number: days, or microseconds from 1970 on."""
    if isinstance(kind, DateType):
        return F.unix_date(value)
    if isinstance(kind, TimestampType):
        return F.unix_micros(value)
    # A cast to a timestamp would take the zone of the session into account.
    seconds = (value - F.lit("1970-01-01").cast("timestamp_ntz")).cast("interval second").cast("decimal(18,6)")
    return (seconds * 1_000_000).cast("bigint")
