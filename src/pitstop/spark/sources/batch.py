"""A streaming source that is read once, as a batch of all that it holds now."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, InputPartition

from pitstop.spark.sources.shared import Offset


class Seekable(Protocol):
    """A streaming reader that can say where it ends at this moment."""

    def initialOffset(self) -> Offset: ...

    def everything(self, start: Offset) -> Offset:
        """Return the offset after all that can be read now; wait for a source that is away."""
        ...

    def partitions(self, start: Offset, end: Offset) -> list[InputPartition]: ...

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]: ...


class EverythingReader(DataSourceReader):
    """The rows from the source's start to its present end, equal to those that a stream would give."""

    def __init__(self, stream: Seekable) -> None:
        self._stream = stream

    def partitions(self) -> Sequence[InputPartition]:
        start = self._stream.initialOffset()
        return self._stream.partitions(start, self._stream.everything(start))

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return self._stream.read(partition)
