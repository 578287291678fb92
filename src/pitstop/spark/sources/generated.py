"""Sources for tests and examples: a fixed list of rows, and numbers at a steady rate."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType

from pitstop.spark.sources.shared import Offset, SourceOptions


class Range(InputPartition):
    def __init__(self, start: int, end: int, anchor_us: int = 0) -> None:
        self.start, self.end, self.anchor_us = start, end, anchor_us


class ItemsReader(DataSourceStreamReader):
    """Offset: ``{"count": n}`` rows given."""

    def __init__(self, options: SourceOptions) -> None:
        self._rows: list[list[Any]] = json.loads(options.text("rows"))

    def initialOffset(self) -> Offset:
        return {"count": 0}

    def latestOffset(self, start: Offset, limit: Any) -> Offset:
        return {"count": len(self._rows)}

    def partitions(self, start: Offset, end: Offset) -> list[InputPartition]:
        return [Range(int(start["count"]), int(end["count"]))]

    def read(self, partition: InputPartition) -> Iterator[tuple[Any, ...]]:
        assert isinstance(partition, Range)
        yield from (tuple(row) for row in self._rows[partition.start : partition.end])


class ItemsSource(DataSource):
    """Options: rows (JSON array of arrays), schema (DDL)."""

    @classmethod
    def name(cls) -> str:
        return "pitstop_items"

    def schema(self) -> str:
        return str(self.options["schema"])

    def streamReader(self, schema: StructType) -> ItemsReader:
        return ItemsReader(SourceOptions("items", self.options))


class RateReader(DataSourceStreamReader):
    """Offset: ``{"next": n, "anchor_us": t}``: the next number, and when the number 0 was due."""

    def __init__(self, options: SourceOptions) -> None:
        self._options = options
        self._rate = options.number("rowsPerSecond", 10)
        self._start = options.number("start", 0)

    def initialOffset(self) -> Offset:
        return {"next": self._start, "anchor_us": int(time.time() * 1e6) - self._start * 1_000_000 // self._rate}

    def latestOffset(self, start: Offset, limit: Any) -> Offset:
        return self._options.agreed(start, lambda: self._advance(start))

    def _advance(self, start: Offset) -> Offset:
        anchor = int(start["anchor_us"])
        due = (int(time.time() * 1e6) - anchor) * self._rate // 1_000_000
        return {"next": max(int(start["next"]), due), "anchor_us": anchor}

    def partitions(self, start: Offset, end: Offset) -> list[InputPartition]:
        return [Range(int(start["next"]), int(end["next"]), int(end["anchor_us"]))]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, Range)
        numbers = range(partition.start, partition.end)
        if numbers:
            times = [partition.anchor_us + n * 1_000_000 // self._rate for n in numbers]
            columns = [pa.array(numbers, pa.int64()), pa.array(times, pa.timestamp("us", "UTC"))]
            yield pa.RecordBatch.from_arrays(columns, names=["sequence", "time"])


class RateSource(DataSource):
    """Options: rowsPerSecond, start."""

    @classmethod
    def name(cls) -> str:
        return "pitstop_rate"

    def schema(self) -> str:
        return "sequence bigint, time timestamp"

    def streamReader(self, schema: StructType) -> RateReader:
        return RateReader(SourceOptions("rate", self.options))
