"""Columns of rows and of Delta tables: which types a table can hold, and whether rows fit into a table."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from pyspark.sql.types import ArrayType, DataType, DecimalType, MapType, StructType

from pitstop.pipeline.sink import DeltaSink

if TYPE_CHECKING:
    from deltalake import DeltaTable

_PLAIN = (
    "string",
    "long",
    "integer",
    "short",
    "byte",
    "float",
    "double",
    "boolean",
    "binary",
    "date",
    "timestamp",
    "timestamp_ntz",
)
"""Types that Spark and Delta call by one name."""
_NO_PARTITIONS = ("binary", "decimal", "struct", "array", "map")
"""Types whose values are not read back from the log of a table as they were: delta-rs fails at negative decimals."""
_NOT_IN_NAMES = " ,;{}()\n\t="
"""Characters that the columns of a Delta table cannot have in their names."""
_FEATURES = {
    *("appendOnly", "changeDataFeed", "checkConstraints", "deletionVectors", "domainMetadata", "generatedColumns"),
    *("invariants", "timestampNtz", "v2Checkpoint", "vacuumProtocolCheck"),
}
"""Features of tables that ask nothing of an append, or whose use is looked for here."""
_RULES = ("delta.generationExpression", "delta.invariants", "delta.identity.start")
"""Metadata of a column whose values obey a rule."""
_FIELDS = "fields"


def delta_type(kind: DataType) -> Any:
    """Return a type as the log of a table has it, with nothing but names and types. ValueError names a type it cannot have."""
    if isinstance(kind, StructType):
        fields = [_field(field.name, delta_type(field.dataType)) for field in kind.fields]
        if not fields:
            raise ValueError("struct<>")
        return {"type": "struct", _FIELDS: fields}
    if isinstance(kind, ArrayType):
        return {"type": "array", "elementType": delta_type(kind.elementType), "containsNull": True}
    if isinstance(kind, MapType):
        keys, values = delta_type(kind.keyType), delta_type(kind.valueType)
        return {"type": "map", "keyType": keys, "valueType": values, "valueContainsNull": True}
    if isinstance(kind, DecimalType):
        return f"decimal({kind.precision},{kind.scale})"
    if kind.typeName() not in _PLAIN:
        raise ValueError(kind.simpleString())
    return kind.typeName()


def delta_fields(schema: StructType) -> list[dict[str, Any]]:
    """Return the columns of rows as the log of a table has them; all of them may be null."""
    return [_field(field.name, delta_type(field.dataType)) for field in schema.fields]


def table_fields(table: DeltaTable) -> list[dict[str, Any]]:
    """Return the columns of a table as its log has them."""
    fields: list[dict[str, Any]] = json.loads(table.schema().to_json())[_FIELDS]
    return fields


def unfit_rows(sink: DeltaSink, schema: StructType) -> str | None:
    """Return why no table can hold these columns, partitioned as the sink says; None if one can."""
    names: dict[str, str] = {}
    for field in schema.fields:
        if field.name.lower() in names:
            return f"columns '{names[field.name.lower()]}' and '{field.name}' are one column of a Delta table: rename one."
        names[field.name.lower()] = field.name
        try:
            delta_type(field.dataType)
        except ValueError as error:
            return (
                f"column '{field.name}' has values of type {error}, and a Delta table has no place for them: cast them to string."
            )
        for name in _names_in(field.name, field.dataType):
            if not name or set(name) & set(_NOT_IN_NAMES):
                return f"a Delta table has no column '{name}': names of columns have no blanks and none of ,;{{}}()= in them."
    for column in sink.partition_by:
        if column not in schema.names:
            return f"there is no column '{column}' to partition by. There are: {', '.join(schema.names)}."
        if schema[column].dataType.typeName() in _NO_PARTITIONS:
            kind = schema[column].dataType.simpleString()
            return f"column '{column}' is {kind}: partition by a text, a whole number, a boolean, a date or a time."
    if len(sink.partition_by) == len(schema.fields):
        return "all columns are to partition by, so its files would hold nothing: leave one out."
    return None


def unfit_table(sink: DeltaSink, schema: StructType, table: DeltaTable) -> str | None:
    """Return why the rows cannot be appended to a table; None if they can, once :func:`missing_fields` are added."""
    return _rules_of(table) or _other_partitions(sink, table) or _other_columns(sink, schema, table)


def missing_fields(schema: StructType, table: DeltaTable) -> list[dict[str, Any]]:
    """Return the columns of the rows that the table does not have."""
    names = {field["name"] for field in table_fields(table)}
    return [field for field in delta_fields(schema) if field["name"] not in names]


def _rules_of(table: DeltaTable) -> str | None:
    configuration = table.metadata().configuration
    constraints = [name for name in configuration if name.startswith("delta.constraints.")]
    columns = [field["name"] for field in table_fields(table) if any(rule in field["metadata"] for rule in _RULES)]
    unknown = sorted(set(table.protocol().writer_features or ()) - _FEATURES)
    if constraints or columns:
        return f"the table has a rule for its rows ({(constraints or columns)[0]}), which this sink does not check."
    if configuration.get("delta.columnMapping.mode", "none") != "none":
        return "the table gives its columns other names within files (delta.columnMapping.mode), which this sink does not write."
    return f"the table has the feature {unknown[0]}, which this sink does not write." if unknown else None


def _other_partitions(sink: DeltaSink, table: DeltaTable) -> str | None:
    columns = tuple(table.metadata().partition_columns)
    kinds = {field["name"]: field["type"] for field in table_fields(table)}
    for column in columns:
        if isinstance(kinds[column], str) and kinds[column].partition("(")[0] in _NO_PARTITIONS:
            return f"the table is partitioned by '{column}', which is {kinds[column]}: this sink does not write such partitions."
    if sink.partition_by in ((), columns):
        return None
    partitions = f"by {', '.join(columns)}" if columns else "not partitioned"
    return (
        f"it partitions by {', '.join(sink.partition_by)}, and the table is {partitions}: write partition_by as the table has it."
    )


def _other_columns(sink: DeltaSink, schema: StructType, table: DeltaTable) -> str | None:
    columns = {field["name"]: field for field in table_fields(table)}
    cases = {name.lower(): name for name in columns}
    for field in delta_fields(schema):
        name, column = field["name"], columns.get(field["name"])
        if column is None and name.lower() in cases:
            return f"column '{name}' is '{cases[name.lower()]}' in the table: give it that name."
        if column is None and not sink.merges_schema:
            there = ", ".join(columns)
            return (
                f"the table has no column '{name}'. It has: {there}. Drop the column, or let the sink add it "
                'with schema_mode="merge".'
            )
        if column is not None and _bare(column["type"]) != _bare(field["type"]):
            rows, there = _text(field["type"]), _text(column["type"])
            return f"column '{name}' is {rows} in the rows and {there} in the table: cast it, or write into another table."
        if column is not None and _has_required(column["type"]):
            return f"column '{name}' of the table has parts that are never null, which this sink does not check."
    missing = [name for name, column in columns.items() if name not in schema.names and not column["nullable"]]
    if missing:
        return f"column '{missing[0]}' of the table is never null, and the rows do not have it: add it to the rows."
    absent = [name for name in table.metadata().partition_columns if name not in schema.names]
    return f"the table is partitioned by '{absent[0]}', and the rows do not have it: add it to the rows." if absent else None


def _field(name: str, kind: Any) -> dict[str, Any]:
    return {"name": name, "type": kind, "nullable": True, "metadata": {}}


def _names_in(name: str, kind: DataType) -> list[str]:
    """Return a column's name and the names of the fields within it."""
    if isinstance(kind, StructType):
        return [name, *(inner for field in kind.fields for inner in _names_in(field.name, field.dataType))]
    if isinstance(kind, ArrayType):
        return _names_in(name, kind.elementType)
    return [*_names_in(name, kind.keyType), *_names_in(name, kind.valueType)] if isinstance(kind, MapType) else [name]


def _bare(kind: Any) -> Any:
    """Return a type of the log without what it says of nulls, and without metadata."""
    if isinstance(kind, str):
        return kind
    if kind["type"] == "struct":
        return [[field["name"], _bare(field["type"])] for field in kind[_FIELDS]]
    return [kind["type"], *(_bare(kind[part]) for part in ("elementType", "keyType", "valueType") if part in kind)]


def _has_required(kind: Any) -> bool:
    """Return True if a part of a nested type is never null."""
    if isinstance(kind, str):
        return False
    if kind["type"] == "struct":
        return any(not field["nullable"] or _has_required(field["type"]) for field in kind[_FIELDS])
    parts = [kind[part] for part in ("elementType", "keyType", "valueType") if part in kind]
    return not kind.get("containsNull", kind.get("valueContainsNull", True)) or any(map(_has_required, parts))


def _text(kind: Any) -> str:
    """Return a type of the log in Spark's words."""
    if isinstance(kind, str):
        return {"long": "bigint", "integer": "int", "short": "smallint", "byte": "tinyint"}.get(kind, kind)
    if kind["type"] == "struct":
        return f"struct<{','.join(field['name'] + ':' + _text(field['type']) for field in kind[_FIELDS])}>"
    parts = [_text(kind[part]) for part in ("elementType", "keyType", "valueType") if part in kind]
    return f"{kind['type']}<{','.join(parts)}>"
