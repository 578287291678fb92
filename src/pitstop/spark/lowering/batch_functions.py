"""Python functions of users over Arrow batches: ``map``, ``flat_map`` and ``filter``. No row becomes a Python object."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.types import StructField, StructType, TimestampType

from pitstop.errors import PipelineError
from pitstop.pipeline.nodes import Node
from pitstop.pipeline.row_specs import FilterByFunctionSpec, FlatMapSpec, MapSpec
from pitstop.spark.base.columns import struct_of
from pitstop.spark.internals.arrow import arrow_schema
from pitstop.spark.internals.watermarks import WATERMARK_DELAY
from pitstop.spark.lowering.letters import sentence


class BatchError(Exception):
    """A user-defined function failed for a batch; the exception before it says why."""

    def __init__(self, stage: str, rows: int, error: Exception) -> None:
        super().__init__(f"stage '{stage}' fails for a batch of {rows:,} rows: {sentence(error)}. Mend its function.")


@dataclass(frozen=True)
class MapBatches:
    """The rows that a function makes of batches, in the columns of a schema."""

    stage: str
    function: Callable[[Any], Any]
    output: pa.Schema
    one_for_one: bool
    """True if it makes one row of each row."""

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            if not batch.num_rows:
                continue
            try:
                results = self._results(batch)
            except Exception as error:
                raise BatchError(self.stage, batch.num_rows, error) from error
            yield from results

    def _results(self, batch: pa.RecordBatch) -> list[pa.RecordBatch]:
        result = self.function(batch)
        parts = list(result) if isinstance(result, Iterator) and not self.one_for_one else [result]
        tables = [self._table(part) for part in parts]
        rows = sum(table.num_rows for table in tables)
        if self.one_for_one and rows != batch.num_rows:
            raise ValueError(f"map makes one row of each row, and the function made {rows:,}: use flat_map")
        return [each for table in tables for each in table.to_batches()]

    def _table(self, result: Any) -> pa.Table:
        columns = _columns(result)
        names = self.output.names
        if set(columns) != set(names):
            raise ValueError(f"the function returned the columns {', '.join(columns)}, and its output is {', '.join(names)}")
        arrays = [_as_type(columns[field.name], field) for field in self.output]
        lengths = {len(array) for array in arrays}
        if len(lengths) > 1:
            raise ValueError(f"the function returned columns of {' and '.join(map(str, sorted(lengths)))} rows")
        return pa.Table.from_arrays(arrays, schema=self.output)


@dataclass(frozen=True)
class FilterBatches:
    """The rows of batches for which a function gives true."""

    stage: str
    function: Callable[[Any], Any]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            if batch.num_rows:
                try:
                    yield batch.filter(self._mask(batch))
                except Exception as error:
                    raise BatchError(self.stage, batch.num_rows, error) from error

    def _mask(self, batch: pa.RecordBatch) -> pa.Array:
        mask = self.function(batch)
        mask = mask.combine_chunks() if isinstance(mask, pa.ChunkedArray) else pa.array(mask)
        if len(mask) != batch.num_rows or not pa.types.is_boolean(mask.type):
            raise ValueError(f"filter needs {batch.num_rows:,} booleans, one for each row, and got {len(mask):,} of {mask.type}")
        return mask


def lower_map(node: Node, spec: FlatMapSpec, frame: DataFrame) -> DataFrame:
    """Return the rows that the function of ``map`` or ``flat_map`` makes. The event time stays if its column is among them."""
    try:
        columns = struct_of(spec.output)
    except ValueError as error:
        raise PipelineError(f"Stage '{node.name}' ({node.location}): its output {error}.") from None
    marks = {field.name: field.metadata for field in frame.schema.fields if WATERMARK_DELAY in field.metadata}
    fields = []
    for field in columns.fields:
        mark = marks.get(field.name) if isinstance(field.dataType, TimestampType) else None
        fields.append(StructField(field.name, field.dataType, True, mark))
    function = MapBatches(node.name, spec.function, arrow_schema(columns), isinstance(spec, MapSpec))
    return frame.mapInArrow(function, StructType(fields))


def lower_filter(node: Node, spec: FilterByFunctionSpec, frame: DataFrame) -> DataFrame:
    """Return the rows for which the function gives true."""
    return frame.mapInArrow(FilterBatches(node.name, spec.function), frame.schema)


def _columns(result: Any) -> dict[str, Any]:
    if isinstance(result, (pa.RecordBatch, pa.Table)):
        return dict(zip(result.schema.names, result.columns, strict=True))
    if isinstance(result, Mapping):
        return dict(result)
    raise TypeError(f"the function returned {type(result).__name__}, which is no RecordBatch, Table or dict of columns")


def _as_type(values: Any, field: pa.Field) -> pa.Array:
    try:
        if isinstance(values, pa.ChunkedArray):
            values = values.combine_chunks()
        if isinstance(values, pa.Array):
            return values if values.type == field.type else values.cast(field.type)
        return pa.array(values, field.type)
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"column '{field.name}' is no {field.type}: {error}") from error
