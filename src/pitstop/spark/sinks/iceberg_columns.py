"""Columns of rows and of Iceberg tables: which types a table can hold, and whether rows fit into a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql.types import StructType

from pitstop.pipeline.sink import IcebergSink
from pitstop.spark.base.iceberg_types import rows_schema

if TYPE_CHECKING:
    from pyiceberg.table import Table
    from pyiceberg.types import IcebergType, NestedField


def unfit_rows(sink: IcebergSink, schema: StructType) -> str | None:
    """Return why no table can hold these columns, partitioned as the sink says; None if one can."""
    from pyiceberg.transforms import parse_transform

    names: dict[str, str] = {}
    for field in schema.fields:
        if field.name.lower() in names:
            return f"columns '{names[field.name.lower()]}' and '{field.name}' are one column to Spark: rename one."
        names[field.name.lower()] = field.name
        try:
            rows_schema(StructType([field]))
        except ValueError as error:
            return (
                f"column '{field.name}' has values of type {error}, and an Iceberg table has no such values: cast them to string."
            )
    columns = rows_schema(schema)
    for partition in sink.partition_by:
        if partition.column not in schema.names:
            return f"there is no column '{partition.column}' to partition by. There are: {', '.join(schema.names)}."
        kind = columns.find_type(partition.column)
        if not parse_transform(partition.transform).can_transform(kind):
            return f"{partition.transform} is not made of column '{partition.column}', which is {kind}."
    return None


def unfit_table(sink: IcebergSink, schema: StructType, table: Table) -> str | None:
    """Return why the rows cannot be appended to a table; None if they can, once :func:`missing_fields` are added."""
    return _other_format(table) or _other_partitions(sink, table) or _other_columns(sink, schema, table)


def missing_fields(schema: StructType, table: Table) -> list[NestedField]:
    """Return the columns of the rows that the table does not have."""
    return [field for field in rows_schema(schema).fields if field.name not in table.schema().column_names]


def _other_format(table: Table) -> str | None:
    file_format = table.properties.get("write.format.default", "parquet")
    if file_format.lower() != "parquet":
        return f"the table wants its files as {file_format} (write.format.default), and this sink writes parquet."
    return None


def _other_partitions(sink: IcebergSink, table: Table) -> str | None:
    fields = {(table.schema().find_column_name(field.source_id), str(field.transform)) for field in table.spec().fields}
    if not sink.partition_by or fields == {(field.column, field.transform) for field in sink.partition_by}:
        return None
    there = ", ".join(f"{transform} of {column}" for column, transform in sorted(fields, key=str))
    return f"the table is {f'partitioned by {there}' if there else 'not partitioned'}: write partition_by as the table has it."


def _other_columns(sink: IcebergSink, schema: StructType, table: Table) -> str | None:
    columns = {field.name: field for field in table.schema().fields}
    cases = {name.lower(): name for name in columns}
    for field in rows_schema(schema).fields:
        column = columns.get(field.name)
        if column is None and field.name.lower() in cases:
            return f"column '{field.name}' is '{cases[field.name.lower()]}' in the table: give it that name."
        if column is None and not sink.merges_schema:
            return (
                f"the table has no column '{field.name}'. It has: {', '.join(columns)}. Drop the column, or let the sink add it "
                'with schema_mode="merge".'
            )
        if column is not None and not _holds(column.field_type, field.field_type):
            return (
                f"column '{field.name}' is {field.field_type} in the rows and {column.field_type} in the table: cast it, or "
                "write into another table."
            )
    missing = [name for name, column in columns.items() if name not in schema.names and column.required]
    if missing:
        return f"column '{missing[0]}' of the table is never null, and the rows do not have it: add it to the rows."
    return None


def _holds(there: IcebergType, rows: IcebergType) -> bool:
    """Return True if a table's type holds each value of the rows' type; fields of structs are in one order."""
    from pyiceberg import types as T
    from pyiceberg.exceptions import ResolveError
    from pyiceberg.schema import promote

    if isinstance(there, T.StructType) and isinstance(rows, T.StructType):
        pairs = list(zip(there.fields, rows.fields, strict=False))
        same = len(there.fields) == len(rows.fields) and all(a.name == b.name and not a.required for a, b in pairs)
        return same and all(_holds(a.field_type, b.field_type) for a, b in pairs)
    if isinstance(there, T.ListType) and isinstance(rows, T.ListType):
        return not there.element_required and _holds(there.element_type, rows.element_type)
    if isinstance(there, T.MapType) and isinstance(rows, T.MapType):
        return not there.value_required and _holds(there.key_type, rows.key_type) and _holds(there.value_type, rows.value_type)
    if isinstance(there, T.DecimalType) and isinstance(rows, T.DecimalType):
        return there.scale == rows.scale and there.precision >= rows.precision
    if there == rows:
        return True
    if not (there.is_primitive and rows.is_primitive) or isinstance(there, (T.StringType, T.BinaryType)):
        return False
    try:
        return promote(rows, there) == there
    except ResolveError:
        return False
