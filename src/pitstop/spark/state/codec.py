"""A key's state as JSON text, encoded and decoded strictly by its schema.

Spark's state for Python functions loses the types of arrays and the case of names, so a key's state is one text. Spark reads and
writes it with the same schema (key_text.py). A value must be one of its declared type, or Spark would have null.
"""

from __future__ import annotations

import base64
import json
import struct
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime
from decimal import ROUND_HALF_UP, Context, Decimal, DecimalException
from functools import partial
from json.encoder import encode_basestring
from typing import Any

from pyspark.sql import Row
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
    FractionalType,
    IntegerType,
    IntegralType,
    MapType,
    ShortType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
)

STATE, LAST = "state", "__last"
"""The fields that Spark keeps of a key: its state as JSON text, and its latest event time in ms since the epoch."""
KEPT = f"{STATE} string, {LAST} bigint"
"""The fields STATE and LAST as DDL."""
KEY, VALUE = "key", "value"
"""The fields of an entry of a map whose keys are no text: JSON names fields by text alone."""

Convert = Callable[[Any], Any]

_WRITE = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode
_READ = json.JSONDecoder().decode
_READ_EXACTLY = json.JSONDecoder(parse_float=Decimal).decode


class StateCodec:
    """A codec between the values of a state's fields and text; None stays None."""

    def __init__(self, stage: str, fields: StructType) -> None:
        self._stage = stage
        self._out = [(f.name, f"{_WRITE(f.name)}:", _encoder(f.dataType), _writer(f.dataType)) for f in fields.fields]
        self._in = {field.name: _decoder(field.dataType) for field in fields.fields}
        self._exact = "decimal" in fields.simpleString()

    def encode(self, values: Mapping[str, Any]) -> str:
        """Return the fields as one JSON text. TypeError names the field whose value is not of its type."""
        parts = []
        for name, named, convert, write in self._out:
            value = values[name]
            if value is not None:
                try:
                    parts.append(named + write(convert(value)))
                except (TypeError, ValueError, AttributeError, OverflowError) as error:
                    raise TypeError(
                        f"field '{name}' of the state of stage '{self._stage}' cannot be {value!r}: {error}"
                    ) from None
        return f"{{{','.join(parts)}}}"

    def decode(self, text: str | None) -> dict[str, Any]:
        """Return field -> its value, None where the text has none; all None without a text.

        ValueError names the field whose text does not have the form of its type.
        """
        read = _READ_EXACTLY if self._exact else _READ
        fields, name = {} if text is None else read(text), ""
        values = {}
        try:
            for name, convert in self._in.items():
                values[name] = None if fields.get(name) is None else convert(fields[name])
        except (TypeError, ValueError, AttributeError, ArithmeticError, LookupError) as error:
            raise ValueError(f"field '{name}' of the state of stage '{self._stage}' cannot be read: {error}") from None
        return values


def _whole(kind: DataType) -> Convert:
    bits = next((bits for narrow, bits in _BITS.items() if isinstance(kind, narrow)), 64)
    highest = 2 ** (bits - 1) - 1

    def whole(value: Any) -> int:
        if isinstance(value, bool) or int(value) != value:
            raise TypeError("it must be a whole number")
        if not -highest - 1 <= value <= highest:
            raise TypeError(f"it must be between {-highest - 1} and {highest}, as the field is {kind.simpleString()}")
        return int(value)

    return whole


_BITS: dict[type[DataType], int] = {ByteType: 8, ShortType: 16, IntegerType: 32}


def _decimal(kind: DecimalType) -> Convert:
    last_digit, context = Decimal(1).scaleb(-kind.scale), Context(prec=kind.precision, rounding=ROUND_HALF_UP)

    def decimal(value: Any) -> str:
        try:
            number = Decimal(value).quantize(last_digit, context=context)
        except DecimalException:
            raise TypeError(f"it has more digits before the point than {kind.simpleString()}") from None
        if not number.is_finite():
            raise TypeError("it must be a number")
        return str(number)

    return decimal


def _number(value: Any) -> float:
    if isinstance(value, (bool, str)):
        raise TypeError("it must be a number")
    return float(value)


def _short_number(value: Any) -> float:
    rounded: float = _SHORT.unpack(_SHORT.pack(_number(value)))[0]
    return rounded


_SHORT = struct.Struct("<f")


def _truth(value: Any) -> bool:
    if value not in (True, False):
        raise TypeError("it must be true or false")
    return bool(value)


def _string(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("it must be text")
    return value


def _local(value: Any) -> str:
    if not isinstance(value, datetime):
        raise TypeError("it must be a datetime")
    naive = value if value.tzinfo is None else value.astimezone(UTC).replace(tzinfo=None)
    return naive.isoformat(timespec="microseconds")


def _moment(value: Any) -> str:
    return _local(value) + "Z"


def _time_of(text: str) -> datetime:
    moment = datetime.fromisoformat(text.removesuffix("Z"))
    return moment if moment.tzinfo is None else moment.astimezone(UTC).replace(tzinfo=None)


def _day(value: Any) -> str:
    if not isinstance(value, date):
        raise TypeError("it must be a date")
    return value.isoformat()[:10]


def _bytes(value: Any) -> str:
    if not isinstance(value, (bytes, bytearray, memoryview)):  # of a number bytes() would make so many zeros
        raise TypeError("it must be bytes")
    return base64.b64encode(bytes(value)).decode()


_OUT: dict[type[DataType], Convert] = {
    BooleanType: _truth,
    FloatType: _short_number,
    FractionalType: _number,
    StringType: _string,
    TimestampType: _moment,
    TimestampNTZType: _local,
    DateType: _day,
    BinaryType: _bytes,
}
_IN: dict[type[DataType], Convert] = {
    DecimalType: lambda value: Decimal(str(value)),
    FractionalType: float,
    TimestampType: _time_of,
    TimestampNTZType: _time_of,
    DateType: date.fromisoformat,
    BinaryType: partial(base64.b64decode, validate=True),
}


def named_by_text(kind: MapType) -> bool:
    """Return True if a map of that type is a JSON object; otherwise it is an array of its entries."""
    return isinstance(kind.keyType, StringType)


def _nested(kind: DataType, each: Callable[[DataType], Convert]) -> Convert | None:
    if isinstance(kind, ArrayType):
        item = each(kind.elementType)
        return lambda values: [None if value is None else item(value) for value in values]
    if isinstance(kind, MapType):
        of_key, item = each(kind.keyType), each(kind.valueType)
        return lambda pairs: {of_key(key): None if value is None else item(value) for key, value in pairs.items()}
    if isinstance(kind, StructType):
        parts = {field.name: each(field.dataType) for field in kind.fields}

        def of_struct(value: Any) -> dict[str, Any]:
            fields = value.asDict() if isinstance(value, Row) else value
            return {name: None if fields.get(name) is None else part(fields[name]) for name, part in parts.items()}

        return of_struct
    return None


def _writer(kind: DataType) -> Callable[[Any], str]:
    """Return the function that makes JSON of a converted value."""
    if isinstance(kind, IntegralType):
        return str
    if isinstance(kind, (StringType, DecimalType)):
        return encode_basestring
    return _WRITE


def _encoder(kind: DataType) -> Convert:
    if isinstance(kind, MapType) and not named_by_text(kind):
        of_key, of_value = _encoder(kind.keyType), _encoder(kind.valueType)
        return lambda pairs: [
            {KEY: of_key(key), VALUE: None if value is None else of_value(value)} for key, value in pairs.items()
        ]
    nested = _nested(kind, _encoder)
    if nested is not None:
        return _checked(kind, nested)
    if isinstance(kind, IntegralType):
        return _whole(kind)
    return _decimal(kind) if isinstance(kind, DecimalType) else _converter(_OUT, kind)


def _checked(kind: DataType, convert: Convert) -> Convert:
    """Return ``convert`` with a check that users' values have the nested type: others would be lost silently."""

    def of_list(values: Any) -> Any:
        if isinstance(values, (str, bytes, bytearray, memoryview, Mapping)):
            raise TypeError("it must be a list")
        return convert(values)

    def of_fields(value: Any) -> Any:
        odd = [name for name in (value.__fields__ if isinstance(value, Row) else value) if name not in names]
        if odd:
            raise TypeError(f"there is no field {odd[0]!r} in {kind.simpleString()}")
        return convert(value)

    names = frozenset(kind.fieldNames()) if isinstance(kind, StructType) else frozenset()
    return of_list if isinstance(kind, ArrayType) else of_fields if isinstance(kind, StructType) else convert


def _decoder(kind: DataType) -> Convert:
    if isinstance(kind, StructType):
        inner = _nested(kind, _decoder)
        assert inner is not None
        return lambda value: Row(**inner(value))
    if isinstance(kind, MapType) and not named_by_text(kind):
        of_key, of_older, of_value = _decoder(kind.keyType), _older_key(kind.keyType), _decoder(kind.valueType)

        def of_entries(entries: Any) -> dict[Any, Any]:
            if isinstance(entries, dict):  # as older releases wrote it
                pairs = ((of_older(key), value) for key, value in entries.items())
            else:
                pairs = ((of_key(entry[KEY]), entry.get(VALUE)) for entry in entries)
            return {
                (tuple(key) if isinstance(key, list) else key): None if value is None else of_value(value) for key, value in pairs
            }

        return of_entries
    return _nested(kind, _decoder) or _converter(_IN, kind)


def _older_key(kind: DataType) -> Convert:
    """Return a function that reads a key an older release kept as text.

    Numbers and booleans had become text by JSON. All other keys had been text to the functions, too.
    """
    of_json = isinstance(kind, (BooleanType, IntegralType, FloatType, DoubleType, ArrayType, StructType))
    convert, check = _decoder(kind), _encoder(kind)

    def older_key(text: str) -> Any:
        try:
            key = convert(json.loads(text) if of_json else text)
            check(key)
        except (TypeError, ValueError, AttributeError, ArithmeticError):
            raise ValueError(f"the key {text!r} is no {kind.simpleString()}") from None
        return key

    return older_key


def _converter(table: Mapping[type[DataType], Convert], kind: DataType) -> Convert:
    return next((convert for types, convert in table.items() if isinstance(kind, types)), lambda value: value)
