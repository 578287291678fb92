"""The formats of the file sink: options, folders of partitions, and the search for files without rows."""

from __future__ import annotations

import bz2
import gzip
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import pyarrow.parquet as pq
from pyspark.sql import Column, DataFrame, Observation
from pyspark.sql import functions as F
from pyspark.sql.types import StringType

from pitstop.pipeline.sink import FilesSink
from pitstop.spark.base.naming import quoted
from pitstop.spark.base.text_formats import has_no_place, has_times_of_day, writing_options
from pitstop.spark.internals.kept_rows import forget_rows

UNPLACED = "_unplaced"
"""The folder of rows whose value cannot name a folder, with all their columns. Readers of the sink's folder skip it."""

_NULL_FOLDER = "__HIVE_DEFAULT_PARTITION__"
"""The text that stands for null in a folder's name."""
_MOST_BYTES = 255
"""The longest name in Linux's file systems, in bytes."""
_ESCAPED = r"[\x01-\x1f\x7f\"#%'*/:=?\\{\[\]^]"
"""The characters that Spark writes as three letters in the name of a folder."""
_NO_FOLDERS = ("binary", "struct", "array", "map", "variant", "void", "interval", "geometry", "geography")
"""Types whose values Spark does not turn into folders."""
_TIMES_OF_DAY = "spark.sql.timeType.enabled"
_BLOCK = 1 << 16


def check_columns(sink: FilesSink, rows: DataFrame) -> str | None:
    """Return why the sink's format, or its folders, cannot hold the values of these columns; None if they can."""
    for column in sink.partition_by:
        if column not in rows.columns:
            return f"there is no column '{column}' to partition by. There are: {', '.join(rows.columns)}."
        if column.startswith("."):
            return f"column '{column}' names hidden folders, which nobody reads: give it another name to partition by it."
        kind = rows.schema[column].dataType
        if kind.typeName() in _NO_FOLDERS or " collate " in kind.simpleString():
            return (
                f"column '{column}' is {kind.simpleString()}, whose values name no folders: partition by a text, number or time."
            )
    if not rows.columns:
        return "its rows have no columns: a source whose files hold none of their format gives such."
    if len(sink.partition_by) == len(rows.columns):
        return "all columns are to partition by, so its files would hold nothing: leave one out."
    for field in rows.schema.fields:
        wrong = has_no_place(sink.format, field.dataType)
        if wrong is not None and field.name not in sink.partition_by:
            return f"column '{field.name}' {wrong}"
        if has_times_of_day(field.dataType) and rows.sparkSession.conf.get(_TIMES_OF_DAY, "false") != "true":
            return (
                f"column '{field.name}' has times of day, which Spark takes with {_TIMES_OF_DAY}=true only: cast them to string."
            )
    return None


def save(sink: FilesSink, rows: DataFrame, staging: Path) -> int:
    """Write all rows below the folder ``staging``; return how many of them are in UNPLACED there."""
    texts = [name for name in sink.partition_by if isinstance(rows.schema[name].dataType, StringType)]
    if not texts:
        _write(sink, rows, staging, sink.partition_by)
        return 0
    unfit = F.lit(False)
    for name in texts:
        unfit = unfit | _names_no_folder(name)
    counts = Observation()
    # Computed once: else the rows of both writings might be of two minds, and the figures of the epoch would be double.
    rows = rows.localCheckpoint(eager=False)
    try:
        _write(sink, rows.observe(counts, F.count_if(unfit).alias("unfit")).where(~unfit), staging, sink.partition_by)
        count = int(counts.get["unfit"] or 0)
        if count:
            _write(sink, rows.where(unfit), staging / UNPLACED, ())
    finally:
        forget_rows(rows)
    return count


def written_below(folder: Path) -> list[Path]:
    """Return the files of data that Spark has written below a folder."""
    return [path for path in sorted(folder.rglob("*")) if path.is_file() and not path.name.startswith((".", "_"))]


def _write(sink: FilesSink, rows: DataFrame, folder: Path, partition_by: tuple[str, ...]) -> None:
    columns = len(rows.columns) - len(partition_by)
    writer = rows.write.mode("overwrite").format(sink.format)
    writer = writer.options(**writing_options(sink.format, columns, dict(sink.options)))
    (writer.partitionBy(*partition_by) if partition_by else writer).save(str(folder))


def _names_no_folder(column: str) -> Column:
    """Return a column that is true if a text cannot be the value of a folder ``column=value``. Null is false."""
    value = F.col(quoted(column))
    room = _MOST_BYTES - len(re.sub(_ESCAPED, "%00", column).encode()) - 1
    escapes = F.length(value) - F.length(F.regexp_replace(value, _ESCAPED, ""))
    # Only of long ones it is looked at how many letters are escaped.
    too_long = F.when(F.octet_length(value) * 3 > room, F.octet_length(value) + 2 * escapes > room).otherwise(False)
    return F.coalesce(too_long | value.contains("\0") | (value == _NULL_FOLDER), F.lit(False))


_READABLE = (".csv", ".gz", ".bz2", ".deflate")
_LINES_BY_BYTES = ("utf-8", "utf8", "us-ascii", "ascii", "iso-8859-1", "latin1")
"""Encodings in which the bytes of a separator stand only for the separator."""


def has_rows(sink: FilesSink, path: Path, header: list[str]) -> bool:
    """Return False if a written file has no row; ``header`` are the columns whose names it may begin with."""
    if path.suffix == ".parquet":
        return bool(pq.read_metadata(path).num_rows)
    options = {name.casefold(): value for name, value in sink.options}
    if sink.format != "csv" or options.get("header", "false").casefold() != "true":
        return next(_content(path), None) is not None
    encoding = options.get("encoding", options.get("charset", "UTF-8"))
    if path.suffix not in _READABLE or encoding.casefold() not in _LINES_BY_BYTES:
        return path.stat().st_size > 0  # perhaps with no more than a header: a file with a row is never left out
    separator = options.get("linesep", "\n").encode(encoding)
    lines = 1 + sum(name.count("\n") for name in header)
    count, rest = 0, b""
    for block in _content(path):
        count += (rest + block).count(separator)
        rest = block[-len(separator) + 1 :] if len(separator) > 1 else b""
        if count > lines:
            return True
    return False


def _opened(path: Path) -> BinaryIO | gzip.GzipFile | bz2.BZ2File:
    if path.suffix == ".gz":
        return gzip.open(path)
    return bz2.open(path) if path.suffix == ".bz2" else path.open("rb")


def _content(path: Path) -> Iterator[bytes]:
    """Yield the blocks of a file, unpacked where Python knows how, otherwise as they are."""
    unpack = zlib.decompressobj() if path.suffix == ".deflate" else None
    with _opened(path) as file:
        while block := file.read(_BLOCK):
            content = unpack.decompress(block) if unpack is not None else block
            if content:
                yield content
