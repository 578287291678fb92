"""Turns a key's state into JSON text and back, strictly by its schema.

Spark's state for Python functions loses the types of arrays and the case of names, so a key's state is one text. Spark
reads it with ``from_json`` and the same schema.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from json.encoder import encode_basestring
from typing import Any

from pyspark.sql import Row
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DataType,
    DateType,
    DecimalType,
    FractionalType,
    IntegralType,
    MapType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
)

STATE, LAST = "state", "__last"
"""Fields of what Spark keeps of a key: its state as JSON text, and its latest event time in ms since the epoch."""
KEPT = f"{STATE} string, {LAST} bigint"
"""The same as DDL."""

Convert = Callable[[Any], Any]

_WRITE = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode
_READ = json.JSONDecoder().decode
_READ_EXACTLY = json.JSONDecoder(parse_float=Decimal).decode


class StateCodec:
    """Values of a state's fields to text and back; None stays None."""

    def __init__(self, stage: str, fields: StructType) -> None:
        self._stage = stage
        self._out = [(f.name, f"{_WRITE(f.name)}:", _encoder(f.dataType), _writer(f.dataType)) for f in fields.fields]
        self._in = {field.name: _decoder(field.dataType) for field in fields.fields}
        self._exact = "decimal" in fields.simpleString()

    def encode(self, values: Mapping[str, Any]) -> str:
        """The fields as one JSON text. TypeError names the field whose value is not of its type."""
        parts = []
        for name, named, convert, write in self._out:
            value = values[name]
            if value is not None:
                try:
                    parts.append(named + write(convert(value)))
                except (TypeError, ValueError, AttributeError) as error:
                    raise TypeError(
                        f"field '{name}' of the state of stage '{self._stage}' cannot be {value!r}: {error}"
                    ) from None
        return f"{{{','.join(parts)}}}"

    def decode(self, text: str | None) -> dict[str, Any]:
        """Field -> its value, None where the text has none; all None without a text."""
        read = _READ_EXACTLY if self._exact else _READ
        found = {} if text is None else read(text)
        return {name: None if found.get(name) is None else convert(found[name]) for name, convert in self._in.items()}


def _whole(value: Any) -> int:
    if isinstance(value, bool) or int(value) != value:
        raise TypeError("it must be a whole number")
    return int(value)


def _number(value: Any) -> float:
    if isinstance(value, (bool, str)):
        raise TypeError("it must be a number")
    return float(value)


def _truth(value: Any) -> bool:
    if value not in (True, False):
        raise TypeError("it must be true or false")
    return bool(value)


def _string(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("it must be text")
    return value


def _moment(value: Any) -> str:
    if not isinstance(value, datetime):
        raise TypeError("it must be a datetime")
    naive = value if value.tzinfo is None else value.astimezone(UTC).replace(tzinfo=None)
    return naive.isoformat(timespec="microseconds") + "Z"


def _day(value: Any) -> str:
    if not isinstance(value, date):
        raise TypeError("it must be a date")
    return value.isoformat()[:10]


def _bytes(value: Any) -> str:
    return base64.b64encode(bytes(value)).decode()


_OUT: tuple[tuple[type[DataType] | tuple[type[DataType], ...], Convert], ...] = (
    (BooleanType, _truth),
    (IntegralType, _whole),
    (DecimalType, lambda value: str(Decimal(value))),
    (FractionalType, _number),
    (StringType, _string),
    ((TimestampType, TimestampNTZType), _moment),
    (DateType, _day),
    (BinaryType, _bytes),
)
_IN: tuple[tuple[type[DataType] | tuple[type[DataType], ...], Convert], ...] = (
    (DecimalType, lambda value: Decimal(str(value))),
    (FractionalType, float),
    ((TimestampType, TimestampNTZType), lambda text: datetime.fromisoformat(text.removesuffix("Z"))),
    (DateType, date.fromisoformat),
    (BinaryType, base64.b64decode),
)


def _nested(kind: DataType, each: Callable[[DataType], Convert]) -> Convert | None:
    if isinstance(kind, ArrayType):
        item = each(kind.elementType)
        return lambda values: [None if value is None else item(value) for value in values]
    if isinstance(kind, MapType):
        item = each(kind.valueType)
        return lambda pairs: {key: None if value is None else item(value) for key, value in pairs.items()}
    if isinstance(kind, StructType):
        parts = {field.name: each(field.dataType) for field in kind.fields}

        def struct(value: Any) -> dict[str, Any]:
            found = value.asDict() if isinstance(value, Row) else value
            return {name: None if found.get(name) is None else part(found[name]) for name, part in parts.items()}

        return struct
    return None


def _writer(kind: DataType) -> Callable[[Any], str]:
    """What makes JSON of a converted value."""
    if isinstance(kind, IntegralType):
        return str
    if isinstance(kind, (StringType, DecimalType)):
        return encode_basestring
    return _WRITE


def _encoder(kind: DataType) -> Convert:
    nested = _nested(kind, _encoder)
    if nested is not None:
        return nested
    return next((convert for types, convert in _OUT if isinstance(kind, types)), lambda value: value)


def _decoder(kind: DataType) -> Convert:
    if isinstance(kind, StructType):
        inner = _nested(kind, _decoder)
        assert inner is not None
        return lambda value: Row(**inner(value))
    nested = _nested(kind, _decoder)
    if nested is not None:
        return nested
    return next((convert for types, convert in _IN if isinstance(kind, types)), lambda value: value)
