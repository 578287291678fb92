"""A fixed list of rows, for tests and examples."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType

from pitstop.errors import UsageError
from pitstop.pipeline.source import Source
from pitstop.spark.sources import python_source
from pitstop.spark.sources.batch import EverythingReader
from pitstop.spark.sources.shared import Offset, SourceOptions
from pitstop.spark.sources.values import record_batch, rows_text

ROWS_PER_BATCH = 50_000


class Range(InputPartition):
    """Rows ``start`` to ``end - 1``."""

    def __init__(self, start: int, end: int) -> None:
        self.start, self.end = start, end


class ItemsReader(DataSourceStreamReader):
    """Offset: ``{"count": n}`` rows given."""

    def __init__(self, options: SourceOptions, schema: StructType) -> None:
        self._options = options
        self._schema = schema
        self._rows = _rows(options)
        self._most = options.number("rowsPerEpoch", max(1, len(self._rows)))

    def initialOffset(self) -> Offset:
        return self._options.start_offset({"count": 0})

    def latestOffset(self, start: Offset, limit: Any) -> Offset:
        return self._options.agreed(start, lambda: self._advance(start))

    def everything(self, start: Offset) -> Offset:
        """Return the offset after the last row."""
        return {"count": len(self._rows)}

    def _advance(self, start: Offset) -> Offset:
        count = int(start["count"])
        return {"count": max(count, min(len(self._rows), count + self._options.limited(self._most)))}

    def partitions(self, start: Offset, end: Offset) -> list[InputPartition]:
        return [Range(int(start["count"]), int(end["count"]))]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, Range)
        for first in range(partition.start, partition.end, ROWS_PER_BATCH):
            rows = self._rows[first : min(partition.end, first + ROWS_PER_BATCH)]
            yield record_batch(rows, self._schema, self._options.stage, first)


def _rows(options: SourceOptions) -> list[Any]:
    text = options.text("rows")
    origin = "option rows"
    if not text.lstrip().startswith("["):
        path, origin = Path(text), f"file {text}"
        try:
            text = path.read_text()
        except OSError as error:
            raise UsageError(f"Source '{options.stage}': {origin} with its rows cannot be read: {error.strerror}.") from error
    try:
        rows = json.loads(text)
    except ValueError as error:
        raise UsageError(f"Source '{options.stage}': {origin} is not a JSON array: {error}.") from error
    if not isinstance(rows, list):
        raise UsageError(f"Source '{options.stage}': {origin} is not a JSON array.")
    return rows


class ItemsSource(DataSource):
    """Options: rows (JSON array, or a file that holds one), schema (DDL), rowsPerEpoch, and those of every source.

    A row is an array in the order of the schema, or an object by column name (values.py).
    """

    @classmethod
    def name(cls) -> str:
        return "pitstop_items"

    def schema(self) -> str:
        return str(self.options["schema"])

    def streamReader(self, schema: StructType) -> ItemsReader:
        return ItemsReader(SourceOptions("items", self.options), schema)

    def reader(self, schema: StructType) -> DataSourceReader:
        return EverythingReader(ItemsReader(SourceOptions("items", self.options), schema))


def _rows_and_schema(source: Source) -> dict[str, str]:
    return {"rows": rows_text(source.reader), "schema": source.schema or ""}


KIND = python_source(ItemsSource, batch=True, gated=True, has_limit=True, more=_rows_and_schema)
