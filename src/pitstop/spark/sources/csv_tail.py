"""Lines appended to the files of a folder. Offset: ``{"files": {name: [position, mark]}, "glob": glob}``.

Former releases did not write the glob. For their offsets it is taken to be the present one.
"""

from __future__ import annotations

import dataclasses
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path, PurePath
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType

from pitstop.kit.counts import counted
from pitstop.machine.local_paths import local_path
from pitstop.pipeline.source import Source
from pitstop.plan.places import folder_place
from pitstop.spark.base.away import SourceAwayError
from pitstop.spark.internals.prefetching import prefetching
from pitstop.spark.sources import python_source
from pitstop.spark.sources.batch import EverythingReader
from pitstop.spark.sources.csv_marks import EDGE_BYTES, Mark, Positions, Span, open_marked, spans
from pitstop.spark.sources.csv_names import matches
from pitstop.spark.sources.csv_plan import FolderPlan, balanced
from pitstop.spark.sources.csv_records import BYTE_ORDER_MARK, lines, quoted_records
from pitstop.spark.sources.shared import SMALL_BYTES, Behind, Offset, SourceOptions
from pitstop.spark.sources.unmatched import nothing_of_glob

ROWS_PER_BATCH = 50_000


class Spans(InputPartition):
    def __init__(self, spans: list[Span]) -> None:
        self.spans = spans


class CsvTailReader(DataSourceStreamReader):
    """Rows: ``value string, file string, position bigint``; a record is complete at its newline."""

    def __init__(self, options: SourceOptions) -> None:
        self._options = options
        self._folder = Path(options.text("path"))
        self._max_bytes = options.number("maxBytes", 16 * 1024 * 1024)
        self._parts = options.number("partitions", 2)
        self._quoted = options.text("multiline", "false") == "true"
        self._records = quoted_records if self._quoted else lines
        self._glob = options.text("glob", "*.csv")
        self._plan = FolderPlan(self._folder, self._glob, options.log, self._quoted)

    def initialOffset(self) -> Offset:
        return self._options.start_offset({"files": {}})

    def latestOffset(self, start: Offset, limit: Any) -> Offset:
        return self._options.agreed(start, lambda: self._advance(start, self._options.limited(self._max_bytes)))

    def everything(self, start: Offset) -> Offset:
        """Return the offset after all complete lines that are there now."""
        return self._advance(start, sys.maxsize)

    def _advance(self, start: Offset, max_bytes: int) -> Offset:
        before = self._known(start)
        after = self._plan.advance(before, max_bytes, start.get("glob"))
        self._options.behind = Behind(self._plan.behind, "bytes")
        self._options.waiting.tell(self._plan.awaited)
        return start if after == before else {"files": {name: list(pair) for name, pair in after.items()}, "glob": self._glob}

    def _known(self, start: Offset) -> Positions:
        """Return the positions of an offset.

        In an offset of a former release they are taken for ends of records as they are read now.
        """
        found = _positions(start)
        if "glob" in start or not self._quoted:
            return found
        return {name: (at, str(dataclasses.replace(Mark.parse(text), quoted=True))) for name, (at, text) in found.items()}

    def partitions(self, start: Offset, end: Offset) -> list[InputPartition]:
        found = balanced(spans(_positions(start), _positions(end)), self._parts)
        return [Spans(part) for part in found] or [Spans([])]

    def is_small(self, partition: InputPartition) -> bool:
        assert isinstance(partition, Spans)
        return sum(span.end - span.start for span in partition.spans) <= SMALL_BYTES

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, Spans)
        for span in partition.spans:
            yield from self._read_span(span)

    def _read_span(self, span: Span) -> Iterator[pa.RecordBatch]:
        data = self._bytes(span)
        values: list[str] = []
        positions: list[int] = []
        at = span.start
        for record in self._records(data):
            text = record[:-1].rstrip(b"\r")
            if at == 0:
                text = text.removeprefix(BYTE_ORDER_MARK)
            if text:
                values.append(text.decode("utf-8", errors="replace"))
                positions.append(at)
            at += len(record)
            if len(values) >= ROWS_PER_BATCH:
                yield _batch(values, span.file, positions)
                values, positions = [], []
        if values:
            yield _batch(values, span.file, positions)

    def _bytes(self, span: Span) -> bytes:
        """Return the bytes of the span. Warn if they are gone since the epoch was planned, because they cannot be had again."""
        try:
            file = open_marked(self._folder, span, self._glob)
            if file is not None:
                with file:
                    # It may be written over meanwhile, so what was read is compared itself, and not what is there by now.
                    lower = min(span.start, max(0, span.end - EDGE_BYTES))
                    file.seek(lower)
                    data = file.read(span.end - lower)
                    if len(data) == span.end - lower and Mark.parse(span.mark).ends(data):
                        return data[span.start - lower :]
        except OSError as error:
            # The epoch must not be committed without these bytes: they may be there in a moment.
            raise SourceAwayError(
                f"Source '{self._options.stage}' cannot read bytes {span.start} to {span.end} of '{_shown(span.file)}' "
                f"in {self._folder} ({error.strerror or error}): it waits until it can."
            ) from error
        self._options.log.warning(
            f"File '{span.file}' was truncated, replaced or removed before bytes {span.start} to {span.end} were read: "
            f"{counted(span.end - span.start, 'byte is', 'bytes are')} lost."
        )
        return b""


def _positions(offset: Offset) -> Positions:
    return {name: (int(pair[0]), str(pair[1])) for name, pair in offset["files"].items()}


def _batch(values: list[str], file: str, positions: list[int]) -> pa.RecordBatch:
    names = pa.array([_shown(file)] * len(values), pa.string())
    columns = [pa.array(values, pa.string()), names, pa.array(positions, pa.int64())]
    return pa.RecordBatch.from_arrays(columns, names=["value", "file", "position"])


def _shown(file: str) -> str:
    """Return the name of a file as text; it may consist of any bytes."""
    return os.fsencode(file).decode("utf-8", errors="replace")


class CsvTailSource(DataSource):
    """Options: path, glob, multiline, maxBytes, partitions, and those of every source (shared.py)."""

    @classmethod
    def name(cls) -> str:
        return "pitstop_csv_tail"

    def schema(self) -> str:
        return "value string, file string, position bigint"

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        return prefetching(CsvTailReader(SourceOptions("csv_tail", self.options)))

    def reader(self, schema: StructType) -> DataSourceReader:
        return EverythingReader(CsvTailReader(SourceOptions("csv_tail", self.options)))


def _resolved(source: Source) -> dict[str, str]:
    """Return the source's folder as an absolute path of this process: its readers may be processes with other working folders."""
    return {"path": local_path(source.options["path"], "What csv_tail reads")}


def _placed(source: Source, whole: Callable[[str], str]) -> Source:
    return dataclasses.replace(source, options=source.options | {"path": whole(source.options["path"])})


def _place(source: Source) -> str:
    return folder_place(Path(_resolved(source)["path"]))


def _concern(spark: SparkSession, source: Source) -> str | None:
    folder = Path(_resolved(source)["path"])
    if not folder.is_dir():
        return f"waits for folder {folder}, which is not there now."
    if not os.access(folder, os.R_OK | os.X_OK):
        return f"may not list folder {folder}: give it the right to (chmod, chown)."
    glob = source.options["glob"]
    parts = PurePath(glob).parts
    return nothing_of_glob(
        folder, glob, lambda name: matches(name, glob), lambda name: "**" in parts or name.count("/") < len(parts) - 1
    )


def _reads(source: Source, example: str) -> bool:
    folder, file = Path(_resolved(source)["path"]).resolve(), Path(example)
    return file.is_relative_to(folder) and matches(str(file.relative_to(folder)), source.options["glob"])


KIND = python_source(
    CsvTailSource,
    batch=True,
    gated=True,
    has_limit=True,
    more=_resolved,
    concern=_concern,
    reads=_reads,
    placed=_placed,
    place=_place,
)
