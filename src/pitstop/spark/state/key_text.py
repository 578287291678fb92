"""A key's state as text (codec.py), read and written by Spark."""

from __future__ import annotations

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
    """The fields of a text, as a struct. Spark raises for a text that has a value of another type."""
    written = _written(schema)
    assert isinstance(written, StructType)
    return _turned(F.from_json(text, written, _READ), schema, into_maps=True)


def text_of(fields: Column, schema: StructType) -> Column:
    """The text of a struct of fields, as the codec writes it."""
    return F.to_json(_turned(fields, schema, into_maps=False), _WRITE)


def _written(kind: DataType) -> DataType:
    """The type that Spark reads in a text where the state's is ``kind``."""
    if isinstance(kind, StructType):
        return StructType([StructField(field.name, _written(field.dataType)) for field in kind.fields])
    if isinstance(kind, ArrayType):
        return ArrayType(_written(kind.elementType))
    if isinstance(kind, MapType):
        # Of a map that is no object in every text Spark takes what stands there as it is; _map_of reads it.
        return MapType(kind.keyType, _written(kind.valueType)) if named_by_text(kind) else StringType()
    return kind


def _turned(column: Column, kind: DataType, into_maps: bool) -> Column:
    """A value as it stands in a text, or is to stand there, with maps in the place of their entries, or the reverse."""
    if not _has_entries(kind):
        return column
    if isinstance(kind, StructType):
        parts = [_turned(column.getField(field.name), field.dataType, into_maps).alias(field.name) for field in kind.fields]
        return F.when(column.isNotNull(), F.struct(*parts))
    if isinstance(kind, ArrayType):
        return F.transform(column, lambda item: _turned(item, kind.elementType, into_maps))
    assert isinstance(kind, MapType)
    if named_by_text(kind):
        return F.transform_values(column, lambda _, value: _turned(value, kind.valueType, into_maps))
    if into_maps:
        return _map_of(column, kind)

    def entry(item: Column) -> Column:
        key, value = _turned(item.getField(KEY), kind.keyType, False), _turned(item.getField(VALUE), kind.valueType, False)
        return F.struct(key.alias(KEY), value.alias(VALUE))

    return F.transform(F.map_entries(column), entry)


def _map_of(text: Column, kind: MapType) -> Column:
    """A map whose keys are no text: JSON's array of its entries, or its object, which older releases wrote."""

    def entry(key: Column, item: Column) -> Column:
        return F.struct(key.alias(KEY), _turned(item.getField(VALUE), kind.valueType, True).alias(VALUE))

    def of_entry(item: Column) -> Column:
        return entry(_turned(item.getField(KEY), kind.keyType, True), item)

    def of_older(item: Column) -> Column:
        return entry(_older_key(item.getField(KEY), kind.keyType), item)

    value = _written(kind.valueType)
    written = ArrayType(StructType([StructField(KEY, _written(kind.keyType)), StructField(VALUE, value)]))
    entries = F.transform(F.from_json(text, written, _READ), of_entry)
    older = F.transform(F.map_entries(F.from_json(text, MapType(StringType(), value), _READ)), of_older)
    return F.map_from_entries(F.when(text.startswith("{"), older).otherwise(entries))


def _older_key(text: Column, kind: DataType) -> Column:
    written = _written(kind)
    if isinstance(written, (ArrayType, StructType)):
        return _turned(F.from_json(text, written, _READ), kind, True)
    return F.to_binary(text, F.lit("base64")) if isinstance(kind, BinaryType) else text.cast(kind)


def _has_entries(kind: DataType) -> bool:
    """True if there is a map within such a value that stands in a text as an array of its entries."""
    if isinstance(kind, StructType):
        return any(_has_entries(field.dataType) for field in kind.fields)
    if isinstance(kind, ArrayType):
        return _has_entries(kind.elementType)
    return isinstance(kind, MapType) and (not named_by_text(kind) or _has_entries(kind.valueType))
