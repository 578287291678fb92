"""Values of JSON as values of a schema's types, and back: the form in which fixed rows travel to the workers as text."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    DateType,
    DecimalType,
    MapType,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from pitstop.errors import UsageError
from pitstop.spark.internals.arrow import arrow_schema


def rows_text(rows: Sequence[Any]) -> str:
    """Return the rows (lists, or objects by column name) as the JSON text that :func:`record_batch` reads.

    Times become ISO text, decimals text, bytes base64.
    """
    return json.dumps(list(rows), default=_text, ensure_ascii=False)


def record_batch(rows: Sequence[Any], schema: StructType, stage: str, first: int = 0) -> pa.RecordBatch:
    """Return rows of JSON values as one Arrow batch of the schema. UsageError names the row and column that do not fit.

    A timestamp is ISO text (without offset: UTC) or seconds since the epoch. A struct is an object, or a list in its order. A map
    is an object. Bytes are base64.
    """
    arrow = arrow_schema(schema)
    listed = [_listed(row, schema, stage, first + number) for number, row in enumerate(rows)]
    columns = []
    for index, field in enumerate(schema.fields):
        try:
            values = [_value(row[index], field.dataType) for row in listed]
            columns.append(pa.array(values, arrow.field(index).type))
        except (ValueError, TypeError, ArithmeticError, pa.ArrowException) as error:
            raise UsageError(
                f"Source '{stage}': a value of column '{field.name}' ({field.dataType.simpleString()}) in rows {first} to "
                f"{first + len(listed) - 1} does not fit: {error}."
            ) from error
    return pa.RecordBatch.from_arrays(columns, schema=arrow)


def _listed(row: Any, schema: StructType, stage: str, number: int) -> list[Any]:
    names = schema.fieldNames()
    if isinstance(row, dict):
        if unknown := sorted(row.keys() - set(names)):
            raise UsageError(
                f"Source '{stage}': row {number} has '{unknown[0]}', which is not in its schema ({', '.join(names)})."
            )
        return [row.get(name) for name in names]
    if not isinstance(row, list) or len(row) != len(names):
        raise UsageError(f"Source '{stage}': row {number} is {row!r}; it needs a value for each of {', '.join(names)}.")
    return row


def _value(value: Any, kind: DataType) -> Any:
    if value is None:
        return None
    for types, convert in _CONVERSIONS:
        if isinstance(kind, types):
            return convert(value, kind)
    return value


def _timestamp(value: Any, kind: Any) -> datetime:
    if isinstance(value, (int, float)):
        return datetime.fromtimestamp(value, UTC)
    moment = datetime.fromisoformat(value)
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


def _local_timestamp(value: Any, kind: Any) -> datetime:
    return datetime.fromisoformat(value)


def _struct(value: Any, kind: Any) -> dict[str, Any]:
    if isinstance(value, list):
        value = dict(zip(kind.fieldNames(), value, strict=True))
    return {field.name: _value(value.get(field.name), field.dataType) for field in kind.fields}


def _array(value: Any, kind: Any) -> list[Any]:
    return [_value(item, kind.elementType) for item in value]


def _map(value: Any, kind: Any) -> list[tuple[Any, Any]]:
    # Keys of a JSON object are text; those of a map need not be.
    as_key: Callable[[str], Any] = _KEYS.get(kind.keyType.typeName(), lambda text: _value(text, kind.keyType))
    return [(as_key(key), _value(item, kind.valueType)) for key, item in value.items()]


_KEYS: dict[str, Callable[[str], Any]] = dict.fromkeys(("byte", "short", "integer", "long"), int) | {
    "float": float,
    "double": float,
}

_CONVERSIONS: tuple[tuple[Any, Callable[[Any, Any], Any]], ...] = (
    (TimestampType, _timestamp),
    (TimestampNTZType, _local_timestamp),
    (DateType, lambda value, kind: date.fromisoformat(value)),
    (DecimalType, lambda value, kind: Decimal(str(value))),
    (BinaryType, lambda value, kind: base64.b64decode(value, validate=True)),
    (StructType, _struct),
    (ArrayType, _array),
    (MapType, _map),
)


def _text(value: Any) -> Any:
    if isinstance(value, (bytes, bytearray)):
        return base64.b64encode(value).decode()
    if isinstance(value, (set, frozenset)):
        return sorted(value)
    return value.isoformat() if isinstance(value, (date, datetime)) else str(value)
