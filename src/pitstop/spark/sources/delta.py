"""Delta tables. Offset: ``{"table": id, "version": n, "file": i, "snapshot": bool}``, the place of the next file (delta_plan.py).

The driver's process reads the log, by delta-rs and the files of commits; tasks read the rows as Arrow batches.
"""

from __future__ import annotations

import dataclasses
import json
import re
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import PurePath
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType

from pitstop.errors import PipelineError, UsageError
from pitstop.outputs.table_folders import StoreRefusalError, TableFolder, resolved_address
from pitstop.pipeline.needs import OF_SOURCES
from pitstop.pipeline.object_stores import STORE, S3Store
from pitstop.pipeline.source import Source
from pitstop.plan.places import address_place
from pitstop.spark.base.away import SourceAwayError
from pitstop.spark.base.causes import PASSING
from pitstop.spark.base.columns import struct_of
from pitstop.spark.base.looking import Look
from pitstop.spark.internals.prefetching import prefetching
from pitstop.spark.sources import SourceKind
from pitstop.spark.sources.delta_log import DataFile, DeltaLog, UnreadableTableError, clause_of
from pitstop.spark.sources.delta_plan import UNDECIDED, Place, TablePlan, Wishes
from pitstop.spark.sources.delta_rows import FEED_FIELDS, rows_of
from pitstop.spark.sources.parts import balanced
from pitstop.spark.sources.shared import SMALL_BYTES, Behind, Offset, SourceOptions

_IDLE_SECONDS = 1.0
"""The seconds between two looks at a table in S3 that has brought nothing new: each look costs a few requests."""
_NEVER_NULL = re.compile('"(nullable|containsNull|valueContainsNull)":false')
"""Matches the words of a schema for what is never null. Files do not always say so."""


class Files(InputPartition):
    def __init__(self, files: list[DataFile]) -> None:
        self.files = files


class DeltaReader(DataSourceStreamReader):
    """Rows: those of the schema, which has the columns of the change data feed if that is read."""

    def __init__(self, options: SourceOptions, schema: StructType) -> None:
        self._options, self._schema = options, schema
        self._folder = TableFolder.of(options.text("path"), S3Store.from_text(options.text(STORE, "{}")))
        self._idle_until = 0.0
        self._most_files, self._most_bytes = options.number("maxFiles", 1000), options.number("maxBytes", 1 << 30)
        changes, on_loss = options.text("changes", "false") == "true", options.text("onLoss", "fail")
        self._goes_on = on_loss == "continue"
        own = StructType(schema.fields[: -len(FEED_FIELDS)]) if changes else schema
        skips = options.text("onRewrite", "fail") == "skip"
        wishes = Wishes(options.text("start", "earliest"), changes, skips, self._goes_on)
        self._plan: TablePlan | None = TablePlan(self._folder, own, wishes, options.log)

    def __getstate__(self) -> dict[str, Any]:
        # The reader travels to the workers, which only read the files of their partition.
        return self.__dict__ | {"_plan": None}

    def initialOffset(self) -> Offset:
        return self._options.start_offset(UNDECIDED.offset())

    def latestOffset(self, start: Offset, limit: Any) -> Offset:
        return self._options.agreed(start, lambda: self._advance(start))

    def _advance(self, start: Offset) -> Offset:
        if time.monotonic() < self._idle_until:
            return start
        plan, place = self._table, Place.of(start)
        with self._errors():
            is_away = not plan.table.is_there
        self._options.waiting.tell(str(self._folder) if is_away else None)
        end = start
        if not is_away:
            limits = self._options.limited(self._most_files), self._options.limited(self._most_bytes)
            end = self._checked(lambda: plan.advance(place, *limits) if place.table else plan.decide(), start)
        if end is start and not self._folder.is_here:
            self._idle_until = time.monotonic() + _IDLE_SECONDS
        return end

    def _checked(self, end_of: Callable[[], Place], start: Offset) -> Offset:
        with self._errors():
            end = end_of().offset()
        self._options.behind = Behind(self._table.behind, "bytes")
        return start if end == start else end

    @property
    def _table(self) -> TablePlan:
        assert self._plan is not None
        return self._plan

    def everything(self) -> list[InputPartition]:
        """Return the partitions of all rows from the start to the present end."""
        with self._errors():
            if not self._table.table.is_there:
                raise UnreadableTableError("is not there")
            start = self._table.decide()
            end = self._table.advance(start, sys.maxsize, sys.maxsize)
            while (after := self._table.advance(end, sys.maxsize, sys.maxsize)) != end:
                end = after
        return self.partitions(start.offset(), end.offset())

    def partitions(self, start: Offset, end: Offset) -> list[InputPartition]:
        with self._errors():
            if not self._table.table.is_there:
                raise self._away()
            files = self._table.files_between(Place.of(start), Place.of(end))
        return [Files(part) for part in balanced(files, lambda file: file.size)] or [Files([])]

    def is_small(self, partition: InputPartition) -> bool:
        assert isinstance(partition, Files)
        return sum(file.size for file in partition.files) <= SMALL_BYTES

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, Files)
        for file in partition.files:
            try:
                yield from rows_of(self._folder, file, self._schema)
            except FileNotFoundError as error:
                with self._errors():
                    if not DeltaLog(self._folder).is_there:
                        raise self._away() from error
                clause = f"no longer has the file {file.path} of version {file.version}, which an epoch must read"
                if not self._goes_on:
                    raise self._error(UnreadableTableError(clause)) from error
                self._options.log.warning(f"The table {self._folder} {clause}. The source continues without it.")
            except StoreRefusalError as error:
                raise self._error(UnreadableTableError(str(error))) from error
            except (pa.ArrowException, OSError) as error:
                # Arrow tells damaged pages as an OSError without a number; the disk's own errors have one.
                if isinstance(error, OSError) and error.errno is not None:
                    raise self._away(error) from error
                clause = f"has the file {file.path} of version {file.version}, which cannot be read ({clause_of(error)})"
                raise self._error(UnreadableTableError(clause)) from error

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Turn what the log raises into errors that name the source."""
        try:
            yield
        except UnreadableTableError as error:
            raise self._error(error) from error
        except OSError as error:
            raise self._away(error) from error

    def _error(self, error: UnreadableTableError) -> UsageError:
        return UsageError(f"Source '{self._options.stage}': the table {self._folder} {error}.")

    def _away(self, error: OSError | None = None) -> SourceAwayError:
        why = "which is not there now" if error is None else f"which cannot be read now ({error.strerror or error})"
        return SourceAwayError(f"Source '{self._options.stage}' waits for the Delta table {self._folder}, {why}.")


class DeltaBatchReader(DataSourceReader):
    """The rows from the source's start to its present end."""

    def __init__(self, stream: DeltaReader) -> None:
        self._stream = stream

    def partitions(self) -> Sequence[InputPartition]:
        return self._stream.everything()

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return self._stream.read(partition)


class DeltaSource(DataSource):
    """Options: path, schema (JSON), start, changes, onRewrite, onLoss, maxFiles, maxBytes, and those of every source."""

    @classmethod
    def name(cls) -> str:
        return "pitstop_delta"

    def schema(self) -> StructType:
        return StructType.fromJson(json.loads(self.options["schema"]))

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        return prefetching(DeltaReader(SourceOptions("delta", self.options), schema))

    def reader(self, schema: StructType) -> DataSourceReader:
        return DeltaBatchReader(DeltaReader(SourceOptions("delta", self.options), schema))


def _stream(spark: SparkSession, source: Source, facts: dict[str, str]) -> DataFrame:
    spark.dataSource.register(DeltaSource)
    return spark.readStream.format(DeltaSource.name()).options(**_options(source, facts)).load()


def _batch(spark: SparkSession, source: Source, facts: dict[str, str]) -> DataFrame:
    spark.dataSource.register(DeltaSource)
    return spark.read.format(DeltaSource.name()).options(**_options(source, facts)).load()


def _options(source: Source, facts: dict[str, str]) -> dict[str, str]:
    columns, changes = _columns(source), source.options["changes"] == "true"
    fields = [*columns.fields, *(FEED_FIELDS if changes else ())]
    schema = _NEVER_NULL.sub(r'"\1":true', StructType(fields).json())
    return source.options | facts | {"path": _folder(source).address, "schema": schema}


def _columns(source: Source) -> StructType:
    """Return the columns that the source reads of its table. PipelineError if that has them not, or cannot be read."""
    missing_package = OF_SOURCES["delta"].missing_package()
    if missing_package is not None:
        raise PipelineError(f"A Delta table cannot be read: {missing_package}")
    folder = _folder(source)
    declared = struct_of(source.schema) if source.schema else None
    log = DeltaLog(folder)
    try:
        if not log.is_there:
            if declared is None:
                raise PipelineError(f"There is no Delta table {folder} from which to read the columns: give the source a schema.")
            return declared
        _, table = log.opened()
        columns = declared if declared is not None else table.schema
        table.check(columns, source.options["changes"] == "true")
    except UnreadableTableError as error:
        raise PipelineError(f"The table {folder} {error}.") from error
    except OSError as error:
        if folder.is_here:
            raise
        raise PipelineError(f"The table {folder} cannot be read now ({error.strerror or error}).", **PASSING) from error
    return columns


def _folder(source: Source) -> TableFolder:
    """Return the folder of the table."""
    return TableFolder.of(source.options["path"], S3Store.from_text(source.options.get(STORE, "{}")))


def _placed(source: Source, whole: Callable[[str], str]) -> Source:
    return dataclasses.replace(source, options=source.options | {"path": whole(source.options["path"])})


def _check_stream(source: Source) -> str | None:
    return "ends, but the other sources do not: read the table with streaming=True." if source.bounded else None


def _place(source: Source) -> str:
    return address_place(resolved_address(source.options["path"]))


def _concern(spark: SparkSession, source: Source) -> str | None:
    folder = _folder(source)
    try:
        is_there = DeltaLog(folder).is_there
    except (UnreadableTableError, OSError):
        return None  # a look, or the run, tells more
    return None if is_there else f"waits for the Delta table {folder}, which is not there now."


def _reads(source: Source, example: str) -> bool:
    return PurePath(example).is_relative_to(resolved_address(source.options["path"]))


def _look(spark: SparkSession, source: Source) -> Look:
    folder = _folder(source)
    log = DeltaLog(folder)
    try:
        if not log.is_there:
            return Look(f"waits for the Delta table {folder}, which is not there now")
        version, table = log.opened()
        table.check(struct_of(source.schema) if source.schema else table.schema, source.options["changes"] == "true")
    except UnreadableTableError as error:
        return Look(f"cannot read the table {folder}: it {error}")
    except OSError as error:
        return Look(f"cannot read the table {folder} now: {error.strerror or error}")
    columns = ", ".join(f"{field.name} {field.dataType.simpleString()}" for field in table.schema.fields)
    feed = ", with a change data feed" if table.has_feed else ""
    return Look(f"reads the table {folder}: version {version}{feed}, with the columns {columns}")


KIND = SourceKind(
    _stream,
    _batch,
    gated=True,
    check_stream=_check_stream,
    data_source=DeltaSource,
    has_limit=lambda source: True,
    concern=_concern,
    reads=_reads,
    placed=_placed,
    place=_place,
    look=_look,
    secrets=True,
)
