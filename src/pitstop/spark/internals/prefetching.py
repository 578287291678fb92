"""The reading of small epochs of Python sources where they are planned, by the source's process: their tasks need no Python.

Spark does so for the readers that it calls simple, all of whose rows go that way. Our readers do it while an epoch is small;
tasks read a large one, side by side.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import Any, Protocol

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.datasource_internal import _SimpleStreamReaderWrapper

from pitstop.spark.internals.without_pandas import without_pandas

Offset = dict[str, Any]
MOST_BYTES = 4 << 20
"""The most bytes of rows that come with a plan, where they stand in Java's memory together. Tasks read rows that take more."""


class SmallReader(Protocol):
    """A DataSourceStreamReader that knows how large a partition is."""

    def is_small(self, partition: InputPartition) -> bool:
        """Return True if it is read in no time."""
        ...


class PrefetchingReader(_SimpleStreamReaderWrapper):
    """A reader that does what ``reader`` does, and gives Spark the rows of an epoch of one small partition with its plan."""

    def __init__(self, reader: Any) -> None:
        """Create it; ``reader`` is a DataSourceStreamReader and a SmallReader."""
        self.simple_reader = self._reader = reader
        self._planned: Sequence[InputPartition] = ()

    def initialOffset(self) -> Offset:
        return dict(self._reader.initialOffset())

    def latestOffset(self, start: Offset, limit: Any) -> Offset:
        return dict(self._reader.latestOffset(start, limit))

    def partitions(self, start: Offset, end: Offset) -> Sequence[InputPartition]:
        self._planned = self._reader.partitions(start, end)
        return self._planned

    def getCache(self, start: Offset, end: Offset) -> Iterator[pa.RecordBatch] | None:
        if len(self._planned) != 1 or not self._reader.is_small(self._planned[0]):
            return None
        batches, size = [], 0
        for batch in self._reader.read(self._planned[0]):
            size += batch.nbytes
            if size > MOST_BYTES:  # few rows, and long ones
                return None
            batches.append(batch)
        return iter(batches)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        batches: Iterator[pa.RecordBatch] = self._reader.read(partition)
        return batches

    def commit(self, end: Offset) -> None:
        self._reader.commit(end)

    def stop(self) -> None:
        self._reader.stop()


def prefetching(reader: SmallReader) -> DataSourceStreamReader:
    """Return the reader with its small epochs read where they are planned."""
    leave_pandas_out()
    return PrefetchingReader(reader)


def leave_pandas_out() -> None:
    """Let Arrow make columns in this process without pandas, for which it looks once, as it makes the first column.

    Loading pandas takes a fifth of a second and 45 MB, and no source of ours needs it. Code that asks Arrow for pandas by name
    still gets it. Nothing happens where pandas has been loaded.
    """
    if "pandas" not in sys.modules:
        with without_pandas():
            pa.array([None])
