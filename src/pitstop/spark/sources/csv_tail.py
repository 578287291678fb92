"""Lines appended to the files of a folder. Offset: ``{"files": {name: [position, mark]}}``."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType

from pitstop.spark.sources import python_source
from pitstop.spark.sources.batch import EverythingReader
from pitstop.spark.sources.csv_plan import FolderPlan, Mark, Positions, Span, balanced, read_head, spans
from pitstop.spark.sources.shared import Offset, SourceOptions

ROWS_PER_BATCH = 50_000


class Spans(InputPartition):
    def __init__(self, spans: list[Span]) -> None:
        self.spans = spans


class CsvTailReader(DataSourceStreamReader):
    """Rows: ``value string, file string, position bigint``; a line is complete at its newline."""

    def __init__(self, options: SourceOptions) -> None:
        self._options = options
        self._folder = Path(options.text("path"))
        self._max_bytes = options.number("maxBytes", 16 * 1024 * 1024)
        self._parts = options.number("partitions", 2)
        self._plan = FolderPlan(self._folder, options.text("glob", "*.csv"), options.log)

    def initialOffset(self) -> Offset:
        return self._options.start_offset({"files": {}})

    def latestOffset(self, start: Offset, limit: Any) -> Offset:
        return self._options.agreed(start, lambda: self._advance(start, self._options.limited(self._max_bytes)))

    def everything(self, start: Offset) -> Offset:
        """The offset after all complete lines that are there now."""
        return self._advance(start, sys.maxsize)

    def _advance(self, start: Offset, max_bytes: int) -> Offset:
        after = self._plan.advance(_positions(start), max_bytes)
        return {"files": {name: list(pair) for name, pair in after.items()}}

    def partitions(self, start: Offset, end: Offset) -> list[InputPartition]:
        found = balanced(spans(_positions(start), _positions(end)), self._parts)
        return [Spans(part) for part in found] or [Spans([])]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, Spans)
        for span in partition.spans:
            yield from self._read_span(span)

    def _read_span(self, span: Span) -> Iterator[pa.RecordBatch]:
        data = self._bytes(span)
        values: list[str] = []
        positions: list[int] = []
        at = span.start
        for line in data.split(b"\n")[:-1]:
            text = line.rstrip(b"\r")
            if text:
                values.append(text.decode("utf-8", errors="replace"))
                positions.append(at)
            at += len(line) + 1
            if len(values) >= ROWS_PER_BATCH:
                yield _batch(values, span.file, positions)
                values, positions = [], []
        if values:
            yield _batch(values, span.file, positions)

    def _bytes(self, span: Span) -> bytes:
        """The span's complete lines; what is gone since the epoch was planned is told, for it cannot be had again."""
        path = self._folder / span.file
        data = b""
        try:
            if Mark.parse(span.mark).fits(read_head(path)):
                with path.open("rb") as file:
                    file.seek(span.start)
                    data = file.read(span.end - span.start)
        except FileNotFoundError:
            pass
        data = data[: data.rfind(b"\n") + 1]
        if (lost := span.end - span.start - len(data)) > 0:
            self._options.log.warning(
                f"File '{span.file}' was truncated, replaced or removed before bytes {span.start + len(data)} to {span.end} "
                f"were read: {lost} bytes are lost."
            )
        return data


def _positions(offset: Offset) -> Positions:
    return {name: (int(pair[0]), str(pair[1])) for name, pair in offset["files"].items()}


def _batch(values: list[str], file: str, positions: list[int]) -> pa.RecordBatch:
    columns = [pa.array(values, pa.string()), pa.array([file] * len(values), pa.string()), pa.array(positions, pa.int64())]
    return pa.RecordBatch.from_arrays(columns, names=["value", "file", "position"])


class CsvTailSource(DataSource):
    """Options: path, glob, maxBytes, partitions, and those of every source (shared.py)."""

    @classmethod
    def name(cls) -> str:
        return "pitstop_csv_tail"

    def schema(self) -> str:
        return "value string, file string, position bigint"

    def streamReader(self, schema: StructType) -> CsvTailReader:
        return CsvTailReader(SourceOptions("csv_tail", self.options))

    def reader(self, schema: StructType) -> DataSourceReader:
        return EverythingReader(CsvTailReader(SourceOptions("csv_tail", self.options)))


KIND = python_source(CsvTailSource, batch=True, gated=True)
