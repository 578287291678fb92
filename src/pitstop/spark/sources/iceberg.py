"""Iceberg tables. Offset: ``{"table": id, "snapshot": id, "sequence": n, "file": i, "whole": bool}`` (iceberg_plan.py).

The driver's process asks the catalog and reads manifests, by PyIceberg; tasks read the rows as Arrow batches.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructField, StructType

from pitstop.errors import EngineError, PipelineError, UsageError
from pitstop.machine.iceberg_catalogs import catalog_words, errors_of_catalog, find_table, open_catalog, without_history
from pitstop.pipeline.iceberg_tables import OF_CATALOG
from pitstop.pipeline.needs import OF_SOURCES
from pitstop.pipeline.source import Source
from pitstop.spark.base.away import SourceAwayError
from pitstop.spark.base.columns import struct_of
from pitstop.spark.base.iceberg_types import spark_type
from pitstop.spark.base.looking import Look
from pitstop.spark.internals.arrow import arrow_schema
from pitstop.spark.internals.prefetching import prefetching
from pitstop.spark.sources import SourceKind
from pitstop.spark.sources.iceberg_plan import UNDECIDED, Place, TablePlan, UnreadableTableError, Wishes
from pitstop.spark.sources.parts import balanced
from pitstop.spark.sources.shared import SMALL_BYTES, Behind, Offset, SourceOptions

if TYPE_CHECKING:
    from pyiceberg.io import FileIO
    from pyiceberg.table import FileScanTask, Table
    from pyiceberg.table.metadata import TableMetadata

T = TypeVar("T")


class Files(InputPartition):
    def __init__(self, files: list[FileScanTask], metadata: TableMetadata | None = None, io: FileIO | None = None) -> None:
        self.files, self.metadata, self.io = files, metadata, io


class IcebergReader(DataSourceStreamReader):
    """Rows: those of the schema."""

    def __init__(self, options: SourceOptions, schema: StructType, catalog: Mapping[str, str]) -> None:
        self._options, self._schema, self._catalog = options, schema, dict(catalog)
        self._name = options.text("table")
        self._place = f"the Iceberg table '{self._name}' of {catalog_words(catalog)}"
        self._most_files, self._most_bytes = options.number("maxFiles", 1000), options.number("maxBytes", 1 << 30)
        self._interval = options.number("intervalMs", 1000) / 1000
        self._next_look = 0.0
        skips, goes_on = options.text("onRewrite", "fail") == "skip", options.text("onLoss", "fail") == "continue"
        wishes = Wishes(options.text("start", "earliest"), skips, goes_on)
        self._plan: TablePlan | None = TablePlan(self._name, wishes, options.log)

    def __getstate__(self) -> dict[str, Any]:
        # The reader travels to the workers, which only read the files of their partition.
        return self.__dict__ | {"_plan": None, "_catalog": {}}

    def initialOffset(self) -> Offset:
        return self._options.start_offset(UNDECIDED.offset())

    def latestOffset(self, start: Offset, limit: Any) -> Offset:
        return self._options.agreed(start, lambda: self._advance(start))

    def _advance(self, start: Offset) -> Offset:
        if time.monotonic() < self._next_look:
            return start
        try:
            table = self._table()
        except SourceAwayError as error:
            self._options.waiting.tell(self._place)
            self._options.log.warning(str(error))
            self._next_look = time.monotonic() + max(1.0, self._interval)
            return start
        self._options.waiting.tell(None)
        limits = self._options.limited(self._most_files), self._options.limited(self._most_bytes)
        place = Place.of(start)
        end = self._told(lambda: self._walk.advance(table, place, *limits) if place.table else self._walk.decide(table)).offset()
        self._options.behind = Behind(self._walk.behind, "bytes")
        # A long history is read without a rest.
        if end == start or (place.table and not self._walk.behind):
            self._next_look = time.monotonic() + self._interval
        return start if end == start else end

    @property
    def _walk(self) -> TablePlan:
        assert self._plan is not None
        return self._plan

    def _table(self) -> Table:
        """Return the table as it is now. SourceAwayError if it, or its catalog, is away; EngineError if the catalog refuses."""
        try:
            with errors_of_catalog(self._catalog):
                table = find_table(open_catalog(self._catalog), self._name, with_history=True)
        except EngineError as error:
            if not error.details.get("passing"):
                raise
            raise self._away(error.message) from error
        except OSError as error:
            raise self._away(f"the catalog cannot be reached ({type(error).__name__})") from error
        if table is None:
            raise self._away("which is not there now")
        return table

    def _told(self, do: Callable[[], T]) -> T:
        """Return what ``do()`` returns; its errors name the source."""
        try:
            with errors_of_catalog(self._catalog):
                return do()
        except UnreadableTableError as error:
            raise UsageError(f"Source '{self._options.stage}': the table {self._name} {error}.") from error
        except FileNotFoundError as error:
            clause = "no longer has a file of its own metadata, which is needed to read on"
            raise UsageError(f"Source '{self._options.stage}': the table {self._name} {clause} ({error}).") from error
        except OSError as error:
            raise self._away(f"whose files cannot be read now ({error})") from error

    def everything(self) -> list[InputPartition]:
        """Return the partitions of all rows from the start to the present end."""
        table = self._table()
        start = self._told(lambda: self._walk.decide(table))
        end = self._told(lambda: self._walk.advance(table, start, sys.maxsize, sys.maxsize))
        return self._parts(table, start, end)

    def partitions(self, start: Offset, end: Offset) -> list[InputPartition]:
        return self._parts(self._table(), Place.of(start), Place.of(end))

    def _parts(self, table: Table, start: Place, end: Place) -> list[InputPartition]:
        files = self._told(lambda: self._walk.files_between(table, start, end))
        metadata = without_history(table.metadata)
        parts = balanced(files, lambda task: task.file.file_size_in_bytes)
        return [Files(part, metadata, table.io) for part in parts] or [Files([])]

    def is_small(self, partition: InputPartition) -> bool:
        assert isinstance(partition, Files)
        return sum(task.file.file_size_in_bytes for task in partition.files) <= SMALL_BYTES

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, Files)
        if not partition.files:
            return
        from pyiceberg.expressions import AlwaysTrue
        from pyiceberg.io.pyarrow import ArrowScan

        assert partition.metadata is not None
        assert partition.io is not None
        target = arrow_schema(self._schema)
        columns = partition.metadata.schema().select(*target.names)
        scan = ArrowScan(partition.metadata, partition.io, columns, AlwaysTrue())
        for task in partition.files:
            try:
                for batch in scan.to_record_batches([task]):
                    cast = [batch.column(field.name).cast(field.type) for field in target]
                    yield pa.RecordBatch.from_arrays(cast, schema=target)
            except FileNotFoundError as error:
                message = f"the table {self._name} no longer has the file {task.file.file_path}, which an epoch must read."
                raise UsageError(f"Source '{self._options.stage}': {message}") from error
            except OSError as error:
                raise self._away(f"whose files cannot be read now ({error})") from error

    def _away(self, why: str) -> SourceAwayError:
        return SourceAwayError(f"Source '{self._options.stage}' waits for {self._place}: {why.rstrip('.')}.")


class IcebergBatchReader(DataSourceReader):
    """The rows from the source's start to its present end."""

    def __init__(self, stream: IcebergReader) -> None:
        self._stream = stream

    def partitions(self) -> Sequence[InputPartition]:
        return self._stream.everything()

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return self._stream.read(partition)


class IcebergSource(DataSource):
    """Options: table, catalog.NAME, schema (JSON), start, onRewrite, onLoss, intervalMs, maxFiles, maxBytes, and those of every
    source."""

    @classmethod
    def name(cls) -> str:
        return "pitstop_iceberg"

    def schema(self) -> StructType:
        return StructType.fromJson(json.loads(self.options["schema"]))

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        return prefetching(self._reader(schema))

    def reader(self, schema: StructType) -> DataSourceReader:
        return IcebergBatchReader(self._reader(schema))

    def _reader(self, schema: StructType) -> IcebergReader:
        return IcebergReader(SourceOptions("iceberg", self.options), schema, _catalog(self.options))


def _catalog(options: Mapping[str, str]) -> dict[str, str]:
    return {name.removeprefix(OF_CATALOG): value for name, value in options.items() if name.startswith(OF_CATALOG)}


def _stream(spark: SparkSession, source: Source, facts: dict[str, str]) -> DataFrame:
    spark.dataSource.register(IcebergSource)
    return spark.readStream.format(IcebergSource.name()).options(**_options(source, facts)).load()


def _batch(spark: SparkSession, source: Source, facts: dict[str, str]) -> DataFrame:
    spark.dataSource.register(IcebergSource)
    return spark.read.format(IcebergSource.name()).options(**_options(source, facts)).load()


def _options(source: Source, facts: dict[str, str]) -> dict[str, str]:
    return source.options | facts | {"schema": _columns(source).json()}


def _columns(source: Source) -> StructType:
    """Return the columns that the source reads of its table. PipelineError if that has them not, or cannot be read."""
    missing_package = OF_SOURCES["iceberg"].missing_package()
    if missing_package is not None:
        raise PipelineError(f"An Iceberg table cannot be read: {missing_package}")
    declared = struct_of(source.schema) if source.schema else None
    try:
        table = _now(source)
    except (EngineError, OSError) as error:
        if declared is not None:
            return _nullable(declared)
        raise PipelineError(f"{_place(source)} cannot be asked for its columns: give the source a schema. {error}") from error
    if table is None and declared is None:
        raise PipelineError(f"There is no {_place(source)[4:]}, from which to read the columns: give the source a schema.")
    if table is None:
        assert declared is not None
        return _nullable(declared)
    wrong = _objection(declared, table)
    if wrong is not None:
        raise PipelineError(f"{_place(source)[0].upper()}{_place(source)[1:]} {wrong}.")
    return _nullable(declared) if declared is not None else _columns_of(table)


def _now(source: Source) -> Table | None:
    catalog = _catalog(source.options)
    with errors_of_catalog(catalog):
        return find_table(open_catalog(catalog), source.options["table"])


def _nullable(schema: StructType) -> StructType:
    """Return the columns, all of which may be null."""
    return StructType([StructField(field.name, field.dataType) for field in schema.fields])


def _columns_of(table: Table) -> StructType:
    return StructType([StructField(field.name, spark_type(field.field_type)) for field in table.schema().fields])


def _objection(declared: StructType | None, table: Table) -> str | None:
    """Return why the columns cannot be read of a table: a clause that goes on its name; None if they can."""
    kinds: dict[str, str] = {}
    for field in table.schema().fields:
        try:
            kinds[field.name] = spark_type(field.field_type).simpleString()
        except ValueError as error:
            if declared is None or field.name in declared.names:
                return f"has column '{field.name}' of type {error}, which rows do not have: give the source a schema without it"
    for column in declared.fields if declared is not None else ():
        if column.name not in kinds:
            return f"has no column '{column.name}'. It has: {', '.join(kinds)}"
        if column.dataType.simpleString() != kinds[column.name]:
            kind = column.dataType.simpleString()
            return f"has column '{column.name}' as {kinds[column.name]}, and the source's schema as {kind}"
    return None


def _place(source: Source) -> str:
    return f"the Iceberg table '{source.options['table']}' of {catalog_words(_catalog(source.options))}"


def _check_stream(source: Source) -> str | None:
    return "ends, but the other sources do not: read the table with streaming=True." if source.bounded else None


def _reads(source: Source, example: str) -> bool:
    return example == _place(source)


def _look(spark: SparkSession, source: Source) -> Look:
    table = _now(source)
    if table is None:
        return Look(f"waits for {_place(source)}, which is not there now")
    wrong = _objection(struct_of(source.schema) if source.schema else None, table)
    if wrong is not None:
        return Look(f"cannot read {_place(source)}: it {wrong}")
    columns = ", ".join(f"{field.name} {field.field_type}" for field in table.schema().fields)
    current = table.metadata.current_snapshot()
    newest = f"snapshot {current.snapshot_id}" if current is not None else "no snapshot"
    return Look(f"reads {_place(source)}: {newest}, with the columns {columns}")


KIND = SourceKind(
    _stream,
    _batch,
    gated=True,
    check_stream=_check_stream,
    data_source=IcebergSource,
    has_limit=lambda source: True,
    reads=_reads,
    place=_place,
    secrets=True,
    look=_look,
)
