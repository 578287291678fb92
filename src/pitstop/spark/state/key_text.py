"""A key's state as text (codec.py), read and written by Spark."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from operator import or_

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, BinaryType, DataType, MapType, StringType, StructField, StructType

from pitstop.maps.json_form import LOCAL_FORMAT, TIMESTAMP_FORMAT
from pitstop.spark.state.codec import KEY, VALUE, named_by_text

TEXT = "__text"
"""The column of a key's whole state as text, where it is taken over as it is."""
FIELDS = "__fields"
"""The column of a key's state as a struct of its fields, which may bear the name of a key."""

# What cannot be read must not become null: state would be lost without a word. Older releases wrote a Z behind local times.
_READ = {"mode": "FAILFAST", "timestampNTZFormat": f"{LOCAL_FORMAT}['Z']"}
_WRITE = {"timestampFormat": TIMESTAMP_FORMAT, "timestampNTZFormat": LOCAL_FORMAT}


def fields_of(text: Column, schema: StructType) -> Column:
    """Return the fields of a text, as a struct. Spark raises for a text that has a value of another type."""
    fields = _turned(_read(text, _written(schema, _entries)), schema, _map_of_entries)
    if not _has_entries(schema):
        return fields
    # Only these are read so: Spark rounds the numbers of what it takes as it stands to doubles.
    loose = _read(text, _written(schema, _as_it_stands))
    return F.when(_is_older(loose, schema), _turned(loose, schema, _map_of_text)).otherwise(fields)


def text_of(fields: Column, schema: StructType) -> Column:
    """Return the text of a struct of fields, as the codec writes it."""
    return F.to_json(_turned(fields, schema, _entries_of_map), _WRITE)


def _read(text: Column, kind: DataType) -> Column:
    assert isinstance(kind, (ArrayType, MapType, StructType))
    return F.from_json(text, kind, _READ)


OfMap = Callable[[Column, MapType], Column]
"""A function that turns a map whose keys are no text into its form in a text, or the reverse."""


def _written(kind: DataType, of_map: Callable[[MapType], DataType]) -> DataType:
    """Return the type that Spark reads in a text for a state of type ``kind``.

    ``of_map`` gives it for maps whose keys are no text.
    """
    if isinstance(kind, StructType):
        return StructType([StructField(field.name, _written(field.dataType, of_map)) for field in kind.fields])
    if isinstance(kind, ArrayType):
        return ArrayType(_written(kind.elementType, of_map))
    if isinstance(kind, MapType):
        return MapType(kind.keyType, _written(kind.valueType, of_map)) if named_by_text(kind) else of_map(kind)
    return kind


def _entries(kind: MapType) -> DataType:
    fields = [StructField(KEY, _written(kind.keyType, _entries)), StructField(VALUE, _written(kind.valueType, _entries))]
    return ArrayType(StructType(fields))


def _as_it_stands(kind: MapType) -> DataType:
    return StringType()


def _turned(column: Column, kind: DataType, of_map: OfMap) -> Column:
    """Return a value from a text, or for a text, with maps in the place of their entries, or the reverse."""
    if not _has_entries(kind):
        return column
    if isinstance(kind, StructType):
        parts = [_turned(column.getField(field.name), field.dataType, of_map).alias(field.name) for field in kind.fields]
        return F.when(column.isNotNull(), F.struct(*parts))
    if isinstance(kind, ArrayType):
        return F.transform(column, lambda item: _turned(item, kind.elementType, of_map))
    assert isinstance(kind, MapType)
    if named_by_text(kind):
        return F.transform_values(column, lambda _, value: _turned(value, kind.valueType, of_map))
    return of_map(column, kind)


def _entry(key: Column, value: Column) -> Column:
    return F.struct(key.alias(KEY), value.alias(VALUE))


def _turned_entries(entries: Column, kind: MapType, of_map: OfMap) -> Column:
    def turned(item: Column) -> Column:
        key, value = item.getField(KEY), item.getField(VALUE)
        return _entry(_turned(key, kind.keyType, of_map), _turned(value, kind.valueType, of_map))

    return F.transform(entries, turned)


def _entries_of_map(column: Column, kind: MapType) -> Column:
    return _turned_entries(F.map_entries(column), kind, _entries_of_map)


def _map_of_entries(entries: Column, kind: MapType) -> Column:
    return F.map_from_entries(_turned_entries(entries, kind, _map_of_entries))


def _map_of_text(text: Column, kind: MapType) -> Column:
    """Return the map that JSON has as an array of its entries, or as an object, which older releases wrote."""

    def of_older(item: Column) -> Column:
        return _entry(_older_key(item.getField(KEY), kind.keyType), _turned(item.getField(VALUE), kind.valueType, _map_of_text))

    key, value = _written(kind.keyType, _as_it_stands), _written(kind.valueType, _as_it_stands)
    written = ArrayType(StructType([StructField(KEY, key), StructField(VALUE, value)]))
    entries = _turned_entries(_read(text, written), kind, _map_of_text)
    older = F.transform(F.map_entries(_read(text, MapType(StringType(), value))), of_older)
    return F.map_from_entries(F.when(text.startswith("{"), older).otherwise(entries))


def _is_older(loose: Column, kind: DataType) -> Column:
    """Return True if a map whose keys are no text stands in the text as an object."""
    if isinstance(kind, StructType):
        parts = [_is_older(loose.getField(field.name), field.dataType) for field in kind.fields if _has_entries(field.dataType)]
        return reduce(or_, parts)
    if isinstance(kind, ArrayType):
        return _holds_older(loose, kind.elementType)
    assert isinstance(kind, MapType)
    if named_by_text(kind):
        return _holds_older(F.map_values(loose), kind.valueType)
    return F.coalesce(loose.startswith("{"), F.lit(False))


def _holds_older(values: Column, kind: DataType) -> Column:
    return F.coalesce(F.exists(values, lambda value: _is_older(value, kind)), F.lit(False))


def _older_key(text: Column, kind: DataType) -> Column:
    if isinstance(kind, (ArrayType, StructType)):
        return _turned(_read(text, _written(kind, _as_it_stands)), kind, _map_of_text)
    return F.to_binary(text, F.lit("base64")) if isinstance(kind, BinaryType) else text.cast(kind)


def _has_entries(kind: DataType) -> bool:
    """Return True if such a value contains a map that stands in a text as an array of its entries."""
    if isinstance(kind, StructType):
        return any(_has_entries(field.dataType) for field in kind.fields)
    if isinstance(kind, ArrayType):
        return _has_entries(kind.elementType)
    return isinstance(kind, MapType) and (not named_by_text(kind) or _has_entries(kind.valueType))
