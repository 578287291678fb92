"""Delta tables as sinks: Spark's tasks write files, and one commit of the table's log has all files of an epoch, and its mark.

The mark is a set of application transactions of the log (``txn``), whose versions are numbers: the epoch of the lineage, the
beginning of the epoch's digest, and the run of the job. The log refuses a commit beside another one with one of these names, so
of two writers of one epoch one is refused, and finds the mark of the other when it looks again.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F

from pitstop.errors import EngineError
from pitstop.model.config import ProcessingGuarantee
from pitstop.outputs.delta_commits import WORDS, DeltaCommits, let_others_read
from pitstop.outputs.table_folders import LOG_FOLDER, StoreRefusalError, TableFolder, resolved_address
from pitstop.pipeline.needs import OF_SINKS
from pitstop.pipeline.sink import DeltaSink
from pitstop.plan.places import address_place
from pitstop.spark.base.causes import PASSING
from pitstop.spark.base.naming import quoted
from pitstop.spark.base.row_order import ORDER
from pitstop.spark.sinks import LAST, EpochContext, SinkKind, take_all
from pitstop.spark.sinks.delta_columns import delta_fields, missing_fields, table_fields, unfit_rows, unfit_table
from pitstop.spark.sinks.delta_files import ANSWER, FilesWriter
from pitstop.spark.sinks.table_marks import DIGITS, Mark, has_epoch, short_digest

if TYPE_CHECKING:
    from deltalake import CommitProperties, DeltaTable, Schema

_ATTEMPTS, _PAUSE_SECONDS = 20, 0.05
"""Attempts of a commit beside other writers, and the pause before the second, which grows with each."""


def write_delta(sink: DeltaSink, rows: DataFrame, context: EpochContext) -> int:
    """Write one epoch's rows, once; return their number. OtherEpochError if the table has another epoch by its name."""
    folder = folder_of(sink)
    with _errors_of_store(folder, context.stage):
        count = _write(sink, rows.drop(ORDER), folder, context)
    if sink.compaction is not None and sink.compaction.is_due(context.epoch):
        from pitstop.spark.sinks.delta_compaction import compact

        compact(folder, sink.compaction, context)
    return count


def _write(sink: DeltaSink, rows: DataFrame, folder: TableFolder, context: EpochContext) -> int:
    run = context.run
    once = run.guarantee is ProcessingGuarantee.EXACTLY_ONCE
    run.ownership.check()
    table = _open(folder)
    if once and table is not None and _has_epoch(table, context, folder):
        return 0
    table = _prepare(sink, rows, folder, table, context)
    fields, partitions = table_fields(table), tuple(table.metadata().partition_columns)
    files = _write_files(folder, rows, table, context)
    if not files:
        return 0
    run.begins()
    for attempt in range(_ATTEMPTS):
        if attempt:
            time.sleep(_PAUSE_SECONDS * attempt)
            table = _table(folder)
            if once and _has_epoch(table, context, folder):
                break  # by this run, whose commit failed after it was there, or by an earlier one that was still writing
        if table_fields(table) != fields or tuple(table.metadata().partition_columns) != partitions:
            message = f"Sink '{context.stage}': the columns of the table {folder} changed while an epoch was written."
            raise EngineError(message, restartable=True)
        if _commit(sink, folder, table, files, context, once):
            break
    else:
        message = f"Sink '{context.stage}': other writers of the table {folder} were first {_ATTEMPTS} times in a row."
        raise EngineError(message, restartable=True)
    return sum(file.rows for file in files)


def check_columns(sink: DeltaSink, rows: DataFrame) -> str | None:
    """Return why the sink cannot be written, also if that is for the table that is there."""
    missing_package = OF_SINKS["delta"].missing_package()
    if missing_package is not None:
        return missing_package
    schema = rows.drop(ORDER).schema
    wrong = unfit_rows(sink, schema)
    table = None
    if wrong is None:
        folder = folder_of(sink)
        try:
            with _errors_of_store(folder):
                table = _open(folder)
        except EngineError as error:
            return error.message
    return wrong if table is None else unfit_table(sink, schema, table)


def folder_of(sink: DeltaSink) -> TableFolder:
    """Return the folder of the table. UsageError if a secret is missing."""
    return TableFolder.of(sink.path, sink.store)


@contextlib.contextmanager
def _errors_of_store(folder: TableFolder, stage: str | None = None) -> Iterator[None]:
    """Turn what a store of S3 raises into an EngineError, which says if it may be back soon. ``stage``: the sink that writes."""
    begins = "" if stage is None else f"Sink '{stage}': "
    try:
        try:
            yield
        except OSError as error:
            folder.judge(error)
            raise
        except PySparkException as error:
            # Tasks write to the store. What tells of none is an error of the rows.
            folder.judge_task(str(error))
            raise
    except StoreRefusalError as error:
        message = f"{begins}the table {folder} {error}."
        raise EngineError(message, restartable=True, unclear=True) from error
    except OSError as error:
        if folder.is_here or error.errno is None:
            raise
        raise EngineError(f"{begins}the table {folder} cannot be written now ({error.strerror}).", **PASSING) from error


def _open(folder: TableFolder) -> DeltaTable | None:
    """Return the table in a folder; None if there is none."""
    from deltalake import DeltaTable

    # For a table in S3 delta-rs would let no other thread of this process run while it waits for the answer.
    is_there = DeltaTable.is_deltatable(folder.address) if folder.is_here else bool(folder.names(LOG_FOLDER))
    return _table(folder) if is_there else None


def _table(folder: TableFolder) -> DeltaTable:
    from deltalake import DeltaTable

    return DeltaTable(**folder.delta)


def _names(context: EpochContext, lineage: str) -> tuple[str, str]:
    """Return the names under which the log has the last epoch of a lineage, and its digest."""
    return f"pitstop:epoch/{lineage}/{context.stage}", f"pitstop:digest/{lineage}/{context.stage}"


def _run_name(context: EpochContext) -> str:
    return f"pitstop:run/{context.run.job_id}/{context.stage}"


def _has_epoch(table: DeltaTable, context: EpochContext, folder: TableFolder) -> bool:
    """Return True if the table has the epoch. OtherEpochError if it has a later one, or another one of that number."""

    def mark_of(lineage: str) -> Mark | None:
        epoch_name, digest_name = _names(context, lineage)
        epoch, number = table.transaction_version(epoch_name), table.transaction_version(digest_name)
        return None if epoch is None else Mark(epoch, None if number is None else f"{number:0{DIGITS}x}")

    return has_epoch(context, str(folder), mark_of, lambda: table.transaction_version(_run_name(context)))


def _prepare(
    sink: DeltaSink, rows: DataFrame, folder: TableFolder, table: DeltaTable | None, context: EpochContext
) -> DeltaTable:
    """Return the table with all columns of the rows; it is made if it is not there. EngineError if the rows do not fit."""
    from deltalake import DeltaTable
    from deltalake.exceptions import CommitFailedError, DeltaError

    for _ in range(_ATTEMPTS):
        if table is None:
            folder.make()
            with contextlib.suppress(DeltaError):  # another writer has made it
                schema, partitions = _schema(delta_fields(rows.schema)), list(sink.partition_by)
                DeltaTable.create(**folder.delta, schema=schema, mode="error", partition_by=partitions or None)
            table = _table(folder)
            let_others_read(folder, 0)
        wrong = unfit_table(sink, rows.schema, table)
        if wrong is not None:
            raise EngineError(f"Sink '{context.stage}' ({folder}): {wrong}")
        missing = missing_fields(rows.schema, table)
        if not missing:
            return table
        before = table.version()
        with contextlib.suppress(CommitFailedError):  # another writer was first
            table.alter.add_columns(list(_schema(missing).fields))
        table = _table(folder)
        let_others_read(folder, before + 1)
    raise EngineError(f"Sink '{context.stage}': other writers change the columns of the table {folder}.", restartable=True)


def _schema(fields: list[dict[str, object]]) -> Schema:
    from deltalake import Schema

    return Schema.from_json(json.dumps({"type": "struct", "fields": fields}))


def _write_files(folder: TableFolder, rows: DataFrame, table: DeltaTable, context: EpochContext) -> list[Row]:
    """Return the files that Spark's tasks have written for the rows."""
    partitions = tuple(table.metadata().partition_columns)
    fields = [field for field in table_fields(table) if field["name"] in rows.columns]
    schema = pa.schema([field.with_nullable(True) for field in pa.schema(_schema(fields).to_arrow())])
    required = tuple(str(field["name"]) for field in fields if not field["nullable"])
    if partitions:
        rows = rows.sortWithinPartitions(*(F.col(quoted(name)) for name in partitions))
    absent = tuple(str(field["name"]) for field in table_fields(table) if field["name"] not in rows.columns)
    writer = FilesWriter(folder, schema, partitions, required, absent)
    files = rows.mapInArrow(writer, ANSWER).collect()
    problems = [file.problem for file in files if file.problem is not None]
    if problems:
        for file in files:
            if file.path is not None:
                folder.remove(file.path)
        raise EngineError(f"Sink '{context.stage}' ({folder}): {problems[0]}")
    return files


def _commit(sink: DeltaSink, folder: TableFolder, table: DeltaTable, files: list[Row], context: EpochContext, once: bool) -> bool:
    """Commit the files of an epoch and its mark; return False if another writer was first."""
    from deltalake.exceptions import CommitFailedError
    from deltalake.transaction import AddAction, RemoveAction

    before, now = table.version(), int(time.time() * 1000)
    actions: list[AddAction | RemoveAction]
    actions = [AddAction(file.path, file.size, json.loads(file.partition), now, True, file.stats) for file in files]
    partitions = list(table.metadata().partition_columns)
    properties = _properties(context, once)
    with context.run.ownership.held() as update:
        if update is not None and context.run.notes is not None:
            store = sink.store.to_text() if sink.store is not None else None
            commits = DeltaCommits(folder.resolved, context.lineage, context.stage, before, store)
            commits.note(context.run.notes / str(update))
        try:
            table.create_write_transaction(
                actions, "append", table.schema(), partition_by=partitions or None, commit_properties=properties
            )
        except CommitFailedError:
            return False
    let_others_read(folder, before + 1)
    return True


def _properties(context: EpochContext, once: bool) -> CommitProperties:
    """Return the mark of an epoch, and in words for people what the commit is."""
    from deltalake import CommitProperties, Transaction

    words = {"job": context.job, "stage": context.stage, "lineage": context.lineage, "epoch": context.epoch}
    if not once:
        return CommitProperties(custom_metadata={WORDS: words})
    epoch_name, digest_name = _names(context, context.lineage)
    fence, digest = context.run.fence, short_digest(context)
    marks = {
        epoch_name: context.epoch,
        digest_name: int(digest, 16) if digest is not None else None,
        _run_name(context): fence.token if fence is not None else None,
    }
    transactions = [Transaction(name, version) for name, version in marks.items() if version is not None]
    return CommitProperties(custom_metadata={WORDS: words}, app_transactions=transactions)


def _rehearse(sink: DeltaSink, rows: DataFrame, context: EpochContext) -> None:
    take_all(rows.drop(ORDER))


def _placed(sink: DeltaSink, whole: Callable[[str], str]) -> DeltaSink:
    return dataclasses.replace(sink, path=whole(sink.path))


def _place(sink: DeltaSink) -> str:
    return address_place(resolved_address(sink.path))


def _example(sink: DeltaSink, name: str) -> str:
    """Return a file of the table, as a source of files would read it."""
    folders = [f"{column}=value" for column in sink.partition_by]
    return "/".join([resolved_address(sink.path), *folders, "part-00000.c000.snappy.parquet"])


KIND = SinkKind(
    write_delta,
    check_columns,
    _rehearse,
    rank=LAST,
    reads_once=True,
    transactional=True,
    handles_epochs=True,
    place=_place,
    example=_example,
    placed=_placed,
    secrets=("store",),
)
