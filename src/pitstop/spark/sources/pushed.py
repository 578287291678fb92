"""Rows that a test pushes (pitstop.testing). An epoch reads those that the test has released by then."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType

from pitstop.pipeline.source import Source
from pitstop.spark.internals.prefetching import prefetching
from pitstop.spark.sources import python_source
from pitstop.spark.sources.shared import Offset, SourceOptions
from pitstop.spark.sources.values import record_batch, rows_text

KIND_NAME = "pushed"
_RELEASED = "released.json"


class PushedRows:
    """The rows of all sources of one job, in a folder: a file of JSON lines for each, and how many of them are released."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def push(self, feed: str, rows: Sequence[Any], schema: StructType) -> int:
        """Keep rows for later epochs; return their number. UsageError names a row that does not fit the schema."""
        lines = [rows_text([row])[1:-1] for row in rows]
        record_batch([json.loads(line) for line in lines], schema, feed)
        with self._file(feed).open("a") as file:
            file.writelines(f"{line}\n" for line in lines)
        return len(lines)

    def release(self, counts: Mapping[str, int]) -> None:
        """Let the next epoch read each feed up to these numbers of rows."""
        aside = self.folder / f".{_RELEASED}"
        aside.write_text(json.dumps(dict(counts)))
        aside.replace(self.folder / _RELEASED)

    def released(self, feed: str) -> int:
        """Return the number of rows that epochs may read."""
        try:
            return int(json.loads((self.folder / _RELEASED).read_text()).get(feed, 0))
        except FileNotFoundError:
            return 0

    def rows(self, feed: str, start: int, end: int) -> list[Any]:
        """Return rows ``start`` to ``end - 1``."""
        if start == end:
            return []
        with self._file(feed).open() as file:
            return [json.loads(line) for line in itertools.islice(file, start, end)]

    def _file(self, feed: str) -> Path:
        return self.folder / f"{feed}.jsonl"


class Range(InputPartition):
    """Rows ``start`` to ``end - 1``."""

    def __init__(self, start: int, end: int) -> None:
        self.start, self.end = start, end


class PushedReader(DataSourceStreamReader):
    """Offset: ``{"count": n}`` rows read."""

    def __init__(self, options: SourceOptions, schema: StructType) -> None:
        self._options, self._schema = options, schema
        self._pushed, self._feed = PushedRows(Path(options.text("folder"))), options.text("feed")

    def initialOffset(self) -> Offset:
        return self._options.start_offset({"count": 0})

    def latestOffset(self, start: Offset, limit: Any) -> Offset:
        return self._options.agreed(start, lambda: {"count": max(int(start["count"]), self._pushed.released(self._feed))})

    def partitions(self, start: Offset, end: Offset) -> list[InputPartition]:
        return [Range(int(start["count"]), int(end["count"]))]

    def is_small(self, partition: InputPartition) -> bool:
        return True

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, Range)
        rows = self._pushed.rows(self._feed, partition.start, partition.end)
        if rows:
            yield record_batch(rows, self._schema, self._options.stage, partition.start)


class PushedSource(DataSource):
    """Options: folder (of PushedRows), feed, schema (JSON), and those of every source."""

    @classmethod
    def name(cls) -> str:
        return "pitstop_pushed"

    def schema(self) -> StructType:
        return StructType.fromJson(json.loads(self.options["schema"]))

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        return prefetching(PushedReader(SourceOptions(KIND_NAME, self.options), schema))


def _schema(source: Source) -> dict[str, str]:
    return {"schema": source.reader}


KIND = python_source(PushedSource, gated=True, has_limit=True, more=_schema)
