"""The data files of a Delta table: each of Spark's tasks writes its rows as Parquet, and answers what the log is to say of one.

No file is a part of the table before its log says so. A killed task leaves files that nobody reads, and that VACUUM removes.
"""

from __future__ import annotations

import json
import math
import os
import re
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pyarrow.compute as compute
import pyarrow.parquet as pq
from pyspark import TaskContext

from pitstop.machine.private import usual_mode
from pitstop.outputs.table_folders import TableFolder

ANSWER = "path string, size bigint, partition string, stats string, rows bigint, problem string"
"""The columns of an answer: a file below the folder of the table, or a problem."""
_GROUP_BYTES = 64 << 20
"""The rows of a row group, in Arrow's bytes."""
_INDEXED = 32
"""The first columns of a table whose lowest and highest values its log keeps: Delta's own number."""
_LAST_CHARACTER = "\U0010ffff"
_LONGEST = 100
"""The longest part of a folder's name. Folders are for people: the log has the values."""


@dataclass(frozen=True)
class FilesWriter:
    """Writes the rows of one task, sorted by the partition columns. It is sent to Spark's Python workers."""

    folder: TableFolder
    schema: pa.Schema
    """The columns of the rows in the order and with the types of the table."""
    partition_by: tuple[str, ...]
    required: tuple[str, ...]
    """The columns that are never null."""
    absent: tuple[str, ...]
    """The columns of the table that the rows do not have."""

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        context = TaskContext.get()
        assert context is not None
        files = _Files(self, context.partitionId())
        try:
            for batch in batches:
                problem = self._problem(batch)
                if problem is not None:
                    files.remove()
                    yield _answer([{"path": None, "problem": problem}])
                    return
                for values, rows in self._groups(pa.table(batch)):
                    files.add(values, rows)
            files.close()
        except BaseException:
            files.remove()
            raise
        yield _answer(files.answers)

    def _problem(self, batch: pa.RecordBatch) -> str | None:
        for name in self.required:
            column = batch.column(name)
            if column.null_count:
                return f"column '{name}' of the table is never null, and it is null in rows of the epoch."
            if name in self.partition_by and pa.types.is_string(column.type) and compute.any(compute.equal(column, "")).as_py():
                return f"column '{name}' of the table is never null, and an empty text to partition by is null in a Delta table."
        return None

    def _groups(self, batch: pa.Table) -> Iterator[tuple[tuple[str | None, ...], pa.Table]]:
        """Yield each run of rows of one partition, with the texts of its values."""
        table = pa.table({field.name: batch.column(field.name).cast(field.type) for field in self.schema}, self.schema)
        if not self.partition_by or not table.num_rows:
            yield (), table
            return
        bounds = {0, table.num_rows}
        for name in self.partition_by:
            codes = table.column(name).combine_chunks().dictionary_encode(null_encoding="encode").indices
            changes = compute.indices_nonzero(compute.not_equal(codes.slice(1), codes.slice(0, len(codes) - 1)))
            bounds.update(at + 1 for at in changes.to_pylist())
        starts = sorted(bounds)
        data = table.drop_columns(list(self.partition_by))
        for start, end in pairwise(starts):
            values = tuple(partition_text(table.column(name)[start].as_py()) for name in self.partition_by)
            yield values, data.slice(start, end - start)


def partition_text(value: Any) -> str | None:
    """Return the value of a partition as the log of a table has it. An empty text is null there."""
    if value is None or value == "":
        return None
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else f"{'-' if value < 0 else ''}Infinity" if math.isinf(value) else repr(value)
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, datetime):
        # Of a time without a zone readers may think that it is in their own.
        text = value.replace(tzinfo=None).isoformat("T" if value.tzinfo is not None else " ", "microseconds")
        return text if value.tzinfo is None else f"{text}Z"
    return value.isoformat() if isinstance(value, date) else str(value)


class _Files:
    """The files of one task: one for each partition, and one of them open at a time."""

    def __init__(self, writer: FilesWriter, part: int) -> None:
        self._writer, self._part = writer, part
        self._values: tuple[str | None, ...] | None = None
        self._file: _File | None = None
        self.answers: list[dict[str, Any]] = []

    def add(self, values: tuple[str | None, ...], rows: pa.Table) -> None:
        """Add rows of one partition."""
        if not rows.num_rows:
            return
        if self._file is None or values != self._values:
            self.close()
            names = zip(self._writer.partition_by, values, strict=True)
            folders = [f"{_safe(name)}={'__HIVE_DEFAULT_PARTITION__' if text is None else _safe(text)}" for name, text in names]
            relative = "/".join([*folders, f"part-{self._part:05d}-{uuid.uuid4()}.c000.snappy.parquet"])
            self._values, self._file = values, _File(self._writer, relative, rows.schema)
        self._file.add(rows)

    def close(self) -> None:
        """End the open file, if there is one."""
        if self._file is None:
            return
        values = dict(zip(self._writer.partition_by, self._values or (), strict=True))
        size, stats, rows = self._file.close()
        answer = {"path": self._file.relative, "size": size, "partition": json.dumps(values), "stats": stats, "rows": rows}
        self.answers.append(answer)
        self._file = None

    def remove(self) -> None:
        """Remove all files of the task, whose rows are in no table."""
        if self._file is not None:
            self._file.abandon()
            self._writer.folder.remove(self._file.relative)
        for answer in self.answers:
            self._writer.folder.remove(answer["path"])


class _File:
    """One file that is being written."""

    def __init__(self, writer: FilesWriter, relative: str, schema: pa.Schema) -> None:
        self.relative, self._absent = relative, writer.absent
        self._folder = writer.folder
        self._file = self._folder.create(relative)
        if self._folder.is_here:
            (self._folder.path / relative).chmod(usual_mode(0o666))
        self._parquet = pq.ParquetWriter(self._file, schema, compression="snappy")
        self._pending: list[pa.Table] = []
        self._bytes = self._rows = 0
        self._statistics = [_Statistics(field) for field in schema]

    def add(self, rows: pa.Table) -> None:
        self._pending.append(rows)
        self._bytes += rows.nbytes
        self._rows += rows.num_rows
        if self._bytes >= _GROUP_BYTES:
            self._flush()

    def close(self) -> tuple[int, str, int]:
        """Bring the file onto the disk; return its size, its statistics for the log, and the number of its rows."""
        self._flush()
        self._parquet.close()
        self._file.flush()
        size = self._file.tell()
        if self._folder.is_here:
            os.fsync(self._file.fileno())
        self._file.close()
        return size, json.dumps({"numRecords": self._rows} | self._bounds()), self._rows

    def _bounds(self) -> dict[str, dict[str, Any]]:
        """Return the bounds of all columns, or of none: beside columns with bounds, delta-rs finds no value of one without."""
        columns = [each for each in self._statistics if each.is_indexed][:_INDEXED]
        filled = [each for each in columns if each.nulls < self._rows]
        bounds = {each.name: (each.lowest, each.highest) for each in filled}
        if any(None in pair for pair in bounds.values()):
            return {}
        nulls = {each.name: each.nulls for each in columns} | dict.fromkeys(self._absent, self._rows)
        lowest, highest = ({name: pair[end] for name, pair in bounds.items()} for end in (0, 1))
        return {"minValues": lowest, "maxValues": highest, "nullCount": nulls}

    def abandon(self) -> None:
        """Close the file as it is."""
        self._file.close()

    def _flush(self) -> None:
        if not self._pending:
            return
        rows = pa.concat_tables(self._pending).combine_chunks()
        for each, column in zip(self._statistics, rows.columns, strict=True):
            each.add(column)
        self._parquet.write_table(rows, row_group_size=max(1, rows.num_rows))
        self._pending, self._bytes = [], 0


class _Statistics:
    """The nulls of one column, and bounds of its values, by which readers pass over files.

    A bound may be wider than the values, never narrower. JSON has no NaN and no infinity, and Spark orders NaN above all numbers,
    others do not: a column with one has no bounds.
    """

    _TEXT = 32

    def __init__(self, field: pa.Field) -> None:
        self.name, kind = field.name, field.type
        self.is_indexed = not (pa.types.is_nested(kind) or pa.types.is_binary(kind))
        self._bounded, self._floats = self.is_indexed, pa.types.is_floating(kind)
        self.nulls = 0
        self._low: Any = None
        self._high: Any = None

    def add(self, column: pa.ChunkedArray) -> None:
        self.nulls += column.null_count
        if not self._bounded or column.null_count == len(column):
            return
        if self._floats and not compute.all(compute.is_finite(column)).as_py():
            self._bounded, self._low, self._high = False, None, None
            return
        try:
            bounds = compute.min_max(column).as_py()
        except (OverflowError, ValueError):  # a time that Python does not have
            self._bounded, self._low, self._high = False, None, None
            return
        self._low = bounds["min"] if self._low is None else min(self._low, bounds["min"])
        self._high = bounds["max"] if self._high is None else max(self._high, bounds["max"])

    @property
    def lowest(self) -> Any:
        """A value that is not above any of the column's."""
        if isinstance(self._low, datetime):
            return _time(self._low.replace(microsecond=self._low.microsecond // 1000 * 1000))
        return self._low[: self._TEXT] if isinstance(self._low, str) else _json(self._low)

    @property
    def highest(self) -> Any:
        """A value that is not below any of the column's; None if there is none."""
        if isinstance(self._high, datetime):
            floor = self._high.replace(microsecond=self._high.microsecond // 1000 * 1000)
            try:
                return _time(floor if floor == self._high else floor + timedelta(milliseconds=1))
            except OverflowError:  # the last millisecond of year 9999, which often stands for "no end"
                return None
        if isinstance(self._high, str):
            end = self._TEXT
            while self._high[end : end + 1] == _LAST_CHARACTER:
                end += 1
            return self._high if len(self._high) <= end else self._high[:end] + _LAST_CHARACTER
        return _json(self._high)


def _json(value: Any) -> Any:
    if isinstance(value, Decimal):
        return float(value) if Decimal(repr(float(value))) == value else None
    return value.isoformat() if isinstance(value, date) else value


def _time(value: datetime) -> str:
    """Return a time with milliseconds, as Delta's statistics have it."""
    text = value.replace(tzinfo=None).isoformat("T", "milliseconds")
    return text if value.tzinfo is None else f"{text}Z"


def _safe(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.\-]", "_", text)[:_LONGEST]


def _answer(files: list[dict[str, Any]]) -> pa.RecordBatch:
    names = ("path", "size", "partition", "stats", "rows", "problem")
    kinds = (pa.string(), pa.int64(), pa.string(), pa.string(), pa.int64(), pa.string())
    columns = [pa.array([file.get(name) for file in files], kind) for name, kind in zip(names, kinds, strict=True)]
    return pa.RecordBatch.from_arrays(columns, names=list(names))
