"""The rows of a Delta table's files: Arrow batches in the columns and types of a schema."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql.types import (
    BooleanType,
    DataType,
    DateType,
    DecimalType,
    FractionalType,
    IntegralType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from pitstop.outputs.table_folders import TableFolder
from pitstop.spark.internals.arrow import arrow_schema
from pitstop.spark.sources.delta_log import DataFile

CHANGE, VERSION, TIME = "_change_type", "_commit_version", "_commit_timestamp"
FEED_FIELDS = (StructField(CHANGE, StringType()), StructField(VERSION, LongType()), StructField(TIME, TimestampType()))
"""The columns of a change data feed beside those of the table."""
_ROWS_PER_BATCH = 50_000


def rows_of(folder: TableFolder, file: DataFile, schema: StructType) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a file. FileNotFoundError if it is not there."""
    target = arrow_schema(schema)
    time = None if file.time_ms is None else datetime.fromtimestamp(file.time_ms / 1000, UTC)
    facts: dict[str, Any] = {VERSION: file.version, TIME: time}
    if file.change is not None:
        facts[CHANGE] = file.change
    with folder.opened(file.path) as opened:
        parquet = pq.ParquetFile(opened, coerce_int96_timestamp_unit="us")
        own = [name for name in parquet.schema_arrow.names if name in target.names]
        for batch in parquet.iter_batches(_ROWS_PER_BATCH, columns=own):
            columns = [_column(batch, file, facts, field, schema[field.name].dataType) for field in target]
            yield pa.RecordBatch.from_arrays(columns, schema=target)


def _column(batch: pa.RecordBatch, file: DataFile, facts: dict[str, Any], field: pa.Field, kind: DataType) -> pa.Array:
    """Return a column: the file's own, the value of its partition, a fact of its commit, or null."""
    if field.name in file.partition:
        value = partition_value(file.partition[field.name], kind)
    elif field.name in batch.schema.names:
        column = batch.column(field.name)
        return column if column.type == field.type else column.cast(field.type)
    else:
        value = facts.get(field.name)
    return pa.repeat(pa.scalar(value, field.type), batch.num_rows)


def partition_value(value: Any, kind: DataType) -> Any:
    """Return the value of a partition; the log has it as a text, in which nothing is null."""
    if not isinstance(value, str):
        return value
    if value == "":
        return None
    if isinstance(kind, StringType):
        return value
    if isinstance(kind, BooleanType):
        return value.lower() == "true"
    if isinstance(kind, DecimalType):
        return Decimal(value)
    if isinstance(kind, IntegralType):
        return int(value)
    if isinstance(kind, FractionalType):
        return float(value)
    if isinstance(kind, DateType):
        return date.fromisoformat(value)
    if isinstance(kind, TimestampType):
        moment = datetime.fromisoformat(value)
        return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    if isinstance(kind, TimestampNTZType):
        return datetime.fromisoformat(value).replace(tzinfo=None)
    raise ValueError(f"there are no partitions of {kind.simpleString()}")
