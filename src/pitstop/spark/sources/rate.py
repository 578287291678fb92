"""Numbers at a steady rate, for tests and examples."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType

from pitstop.errors import UsageError
from pitstop.spark.internals.prefetching import prefetching
from pitstop.spark.sources import python_source
from pitstop.spark.sources.shared import Behind, Offset, SourceOptions

ROWS_PER_BATCH = 50_000
MILLION = 1_000_000


class Range(InputPartition):
    """Numbers ``start`` to ``end - 1``; ``anchor_us`` is the time at which 0 was due, at ``rate`` a second."""

    def __init__(self, start: int, end: int, anchor_us: int, rate: int) -> None:
        self.start, self.end, self.anchor_us, self.rate = start, end, anchor_us, rate


class RateReader(DataSourceStreamReader):
    """Offset: ``{"next": n, "anchor_us": t, "rate": r}``.

    They are the next number, the time at which 0 was due in microseconds, and the numbers a second. The anchor is 0 until the
    first look, which decides it for all readers of the stage.
    """

    def __init__(self, options: SourceOptions) -> None:
        self._options = options
        self._rate = options.number("rowsPerSecond", 10)
        if self._rate < 1:
            raise UsageError(f"Source '{options.stage}': option rowsPerSecond is {self._rate}; it must be at least 1.")
        self._start = options.number("start", 0)
        self._most = options.number("maxRows", max(MILLION, 10 * self._rate))

    def initialOffset(self) -> Offset:
        return self._options.start_offset({"next": self._start, "anchor_us": 0, "rate": self._rate})

    def latestOffset(self, start: Offset, limit: Any) -> Offset:
        return self._options.agreed(start, lambda: self._advance(start))

    def _advance(self, start: Offset) -> Offset:
        after, now = int(start["next"]), time.time_ns() // 1000
        anchor, rate = int(start["anchor_us"]), int(start.get("rate", self._rate))
        if anchor == 0:
            anchor = now - due_us(after, self._rate)
        elif rate != self._rate:
            # At another pace the next number is due when it was, and time does not go back.
            anchor += due_us(after, rate) - due_us(after, self._rate)
        due = (now - anchor) * self._rate // MILLION + 1
        end = max(after, min(due, after + self._options.limited(self._most)))
        self._options.behind = Behind(max(0, due - end), "rows")
        return {"next": end, "anchor_us": anchor, "rate": self._rate}

    def partitions(self, start: Offset, end: Offset) -> list[InputPartition]:
        return [Range(int(start["next"]), int(end["next"]), int(end["anchor_us"]), int(end.get("rate", self._rate)))]

    def is_small(self, partition: InputPartition) -> bool:
        assert isinstance(partition, Range)
        return partition.end - partition.start <= ROWS_PER_BATCH

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, Range)
        for first in range(partition.start, partition.end, ROWS_PER_BATCH):
            numbers = np.arange(first, min(partition.end, first + ROWS_PER_BATCH), dtype="int64")
            times = partition.anchor_us + due_us(numbers, partition.rate)
            columns = [pa.array(numbers), pa.array(times, pa.timestamp("us", "UTC"))]
            yield pa.RecordBatch.from_arrays(columns, names=["sequence", "time"])


def due_us(number: Any, rate: int) -> Any:
    """Return the microseconds from number 0 to ``number`` (an int, or an array of them)."""
    return number // rate * MILLION + number % rate * MILLION // rate


class RateSource(DataSource):
    """Options: rowsPerSecond, start, maxRows (an epoch), and those of every source (shared.py)."""

    @classmethod
    def name(cls) -> str:
        return "pitstop_rate"

    def schema(self) -> str:
        return "sequence bigint, time timestamp"

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        return prefetching(RateReader(SourceOptions("rate", self.options)))


KIND = python_source(RateSource, gated=True, has_limit=True)
