"""Lines appended to the files of a folder. Offset: ``{"files": {name: [position, fingerprint]}}``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType

from pitstop.spark.sources.csv_plan import Positions, Span, balanced, next_positions, spans
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
        self._glob = options.text("glob", "*.csv")
        self._max_bytes = options.number("maxBytes", 16 * 1024 * 1024)
        self._parts = options.number("partitions", 2)
        self._told: set[str] = set()

    def initialOffset(self) -> Offset:
        return {"files": {}}

    def latestOffset(self, start: Offset, limit: Any) -> Offset:
        return self._options.agreed(start, lambda: self._advance(start))

    def _advance(self, start: Offset) -> Offset:
        after = next_positions(
            self._folder, self._glob, _positions(start), self._options.limited(self._max_bytes), self._options.log, self._told
        )
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
        wanted = span.end - span.start
        try:
            with (self._folder / span.file).open("rb") as file:
                file.seek(span.start)
                data = file.read(wanted)
        except FileNotFoundError:
            data = b""
        if len(data) < wanted:
            self._options.log.warning(
                f"File '{span.file}' was truncated or removed before bytes {span.start + len(data)} to {span.end} were read: "
                f"{wanted - len(data)} bytes are lost."
            )
        return data if data.endswith(b"\n") else data[: data.rfind(b"\n") + 1]


def _positions(offset: Offset) -> Positions:
    return {name: (int(pair[0]), str(pair[1])) for name, pair in offset["files"].items()}


def _batch(values: list[str], file: str, positions: list[int]) -> pa.RecordBatch:
    columns = [pa.array(values, pa.string()), pa.array([file] * len(values), pa.string()), pa.array(positions, pa.int64())]
    return pa.RecordBatch.from_arrays(columns, names=["value", "file", "position"])


class CsvTailSource(DataSource):
    """Options: path, glob, maxBytes, partitions."""

    @classmethod
    def name(cls) -> str:
        return "pitstop_csv_tail"

    def schema(self) -> str:
        return "value string, file string, position bigint"

    def streamReader(self, schema: StructType) -> CsvTailReader:
        return CsvTailReader(SourceOptions("csv_tail", self.options))
