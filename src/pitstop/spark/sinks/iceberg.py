"""Iceberg tables as sinks: Spark's tasks write files, and one commit of the table has all files of an epoch, and its mark.

The mark is a pair of properties of the table, which the commit sets that adds the files: the last epoch of the lineage with the
beginning of its digest, and the run of the job. A catalog refuses a commit to a table that has another newest snapshot by now, so
of two writers of one epoch one is refused, and finds the mark of the other when it looks again.
"""

from __future__ import annotations

import pickle
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame, Row
from pyspark.sql.types import StructField, StructType

from pitstop.errors import EngineError
from pitstop.machine.iceberg_catalogs import catalog_words, errors_of_catalog, find_table, let_others_read, open_catalog
from pitstop.model.config import ProcessingGuarantee
from pitstop.outputs.iceberg_commits import LINEAGE, STAGE, IcebergCommits
from pitstop.pipeline.needs import OF_SINKS
from pitstop.pipeline.sink import IcebergSink
from pitstop.spark.base.iceberg_types import rows_schema
from pitstop.spark.base.row_order import ORDER
from pitstop.spark.base.type_texts import type_of
from pitstop.spark.sinks import LAST, EpochContext, SinkKind, take_all
from pitstop.spark.sinks.iceberg_columns import missing_fields, unfit_rows, unfit_table
from pitstop.spark.sinks.iceberg_files import ANSWER, remove_files, writer_of
from pitstop.spark.sinks.table_marks import Mark, has_epoch, short_digest

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog
    from pyiceberg.manifest import DataFile
    from pyiceberg.table import Table

_ATTEMPTS, _PAUSE_SECONDS = 20, 0.05
"""Attempts of a commit beside other writers, and the pause before the second, which grows with each."""
_UNKNOWN = "-"
"""The digest of an epoch of which none is known."""
_SETTINGS = {"format-version": "2", "write.metadata.delete-after-commit.enabled": "true"}
"""The properties of a table that the sink makes: each epoch has a file of metadata, of which catalogs that can keep the last."""


def write_iceberg(sink: IcebergSink, rows: DataFrame, context: EpochContext) -> int:
    """Write one epoch's rows, once; return their number. OtherEpochError if the table has another epoch by its name."""
    with errors_of_catalog(dict(sink.catalog)):
        return _write(sink, rows.drop(ORDER), context)


def _write(sink: IcebergSink, rows: DataFrame, context: EpochContext) -> int:
    run, catalog = context.run, open_catalog(dict(sink.catalog))
    once = run.guarantee is ProcessingGuarantee.EXACTLY_ONCE
    run.ownership.check()
    table = find_table(catalog, sink.table)
    if once and table is not None and _has_epoch(table, sink, context):
        return 0
    table = _prepare(sink, rows, table, catalog, context)
    form = _form(table)
    files = _write_files(sink, rows, table, context)
    if not files:
        return 0
    run.begins()
    for attempt in range(_ATTEMPTS):
        if attempt:
            time.sleep(_PAUSE_SECONDS * attempt)
            newer = find_table(catalog, sink.table)
            if newer is None or _form(newer) != form:
                message = f"Sink '{context.stage}': the columns of the table {sink.table} changed while an epoch was written."
                raise EngineError(message, restartable=True)
            table = newer
            if once and _has_epoch(table, sink, context):
                break  # by this run, whose commit failed after it was there, or by an earlier one that was still writing
        if _commit(sink, table, files, context, once):
            break
    else:
        message = f"Sink '{context.stage}': other writers of the table {sink.table} were first {_ATTEMPTS} times in a row."
        raise EngineError(message, restartable=True)
    return sum(file.record_count for file in files)


def check_columns(sink: IcebergSink, rows: DataFrame) -> str | None:
    """Return why no table can have these columns. What the table that is there says is told by a look at it, and by a run."""
    missing_package = OF_SINKS["iceberg"].missing_package()
    return missing_package if missing_package is not None else unfit_rows(sink, rows.drop(ORDER).schema)


def _form(table: Table) -> tuple[object, ...]:
    """Return what must not change between the writing of files and their commit."""
    metadata = table.metadata
    return metadata.table_uuid, metadata.current_schema_id, metadata.default_spec_id


def _mark_name(context: EpochContext, lineage: str) -> str:
    return f"pitstop.epoch.{lineage}.{context.stage}"


def _run_name(context: EpochContext) -> str:
    return f"pitstop.run.{context.run.job_id}.{context.stage}"


def _has_epoch(table: Table, sink: IcebergSink, context: EpochContext) -> bool:
    """Return True if the table has the epoch. OtherEpochError if it has a later one, or another one of that number."""

    def mark_of(lineage: str) -> Mark | None:
        text = table.properties.get(_mark_name(context, lineage))
        if text is None:
            return None
        epoch, _, digest = text.partition(" ")
        return Mark(int(epoch), None if digest == _UNKNOWN else digest)

    token = table.properties.get(_run_name(context))
    return has_epoch(context, sink.table, mark_of, lambda: None if token is None else int(token))


def _prepare(sink: IcebergSink, rows: DataFrame, table: Table | None, catalog: Catalog, context: EpochContext) -> Table:
    """Return the table with all columns of the rows; it is made if it is not there. EngineError if the rows do not fit."""
    from pyiceberg.exceptions import CommitFailedException

    for _ in range(_ATTEMPTS):
        if table is None:
            _make(sink, rows, catalog)
            table = find_table(catalog, sink.table)
            if table is None:
                continue
            let_others_read(table)
        wrong = unfit_table(sink, rows.schema, table)
        if wrong is not None:
            raise EngineError(f"Sink '{context.stage}' ({sink.table}): {wrong}")
        missing = missing_fields(rows.schema, table)
        if not missing:
            return table
        with suppress(CommitFailedException), table.update_schema() as update:  # another writer was first
            for field in missing:
                update.add_column(field.name, field.field_type)
        table = find_table(catalog, sink.table)
        if table is not None:
            let_others_read(table)
    raise EngineError(f"Sink '{context.stage}': other writers change the columns of the table {sink.table}.", restartable=True)


def _make(sink: IcebergSink, rows: DataFrame, catalog: Catalog) -> None:
    """Make the table, and its namespace if there is none, unless another writer is first."""
    from pyiceberg.exceptions import (
        CommitFailedException,
        NamespaceAlreadyExistsError,
        NoSuchNamespaceError,
        TableAlreadyExistsError,
    )

    namespace = sink.table.rpartition(".")[0]
    with suppress(TableAlreadyExistsError, CommitFailedException):
        for is_second in (False, True):
            try:
                with catalog.create_table_transaction(sink.table, rows_schema(rows.schema), properties=_SETTINGS) as making:
                    if sink.partition_by:
                        with making.update_spec() as spec:
                            for field in sink.partition_by:
                                spec.add_field(field.column, field.transform)
                return
            except NoSuchNamespaceError:
                if is_second:
                    raise
                with suppress(NamespaceAlreadyExistsError):
                    catalog.create_namespace(namespace)


def _write_files(sink: IcebergSink, rows: DataFrame, table: Table, context: EpochContext) -> list[DataFile]:
    """Return the files that Spark's tasks have written for the rows."""
    answers: list[Row] = rows.mapInArrow(writer_of(table, rows.columns), ANSWER).collect()
    files = [pickle.loads(answer.file) for answer in answers if answer.file is not None]
    problems = [answer.problem for answer in answers if answer.problem is not None]
    if problems:
        remove_files(table.io, files)
        raise EngineError(f"Sink '{context.stage}' ({sink.table}): {problems[0]}")
    return files


def _commit(sink: IcebergSink, table: Table, files: list[DataFile], context: EpochContext, once: bool) -> bool:
    """Commit the files of an epoch and its mark; return False if another writer was first, or if nobody knows."""
    from pyiceberg.exceptions import CommitFailedException, CommitStateUnknownException

    words = {"pitstop.job": context.job, STAGE: context.stage, LINEAGE: context.lineage, "pitstop.epoch": str(context.epoch)}
    current = table.metadata.current_snapshot()
    after = (current.sequence_number or 0) if current is not None else 0
    with context.run.ownership.held() as update:
        if update is not None and context.run.notes is not None:
            commits = IcebergCommits(sink.table, dict(sink.catalog), context.lineage, context.stage, after)
            commits.note(context.run.notes / str(update))
        transaction = table.transaction()
        with transaction.update_snapshot(snapshot_properties=words).merge_append() as append:
            for file in files:
                append.append_data_file(file)
        if once:
            transaction.set_properties(_marks(context))
        try:
            let_others_read(transaction.commit_transaction())
        except (CommitFailedException, CommitStateUnknownException):
            return False
    return True


def _marks(context: EpochContext) -> dict[str, str]:
    fence = context.run.fence
    mark = f"{context.epoch} {short_digest(context) or _UNKNOWN}"
    return {_mark_name(context, context.lineage): mark} | ({} if fence is None else {_run_name(context): str(fence.token)})


def _rehearse(sink: IcebergSink, rows: DataFrame, context: EpochContext) -> None:
    take_all(rows.drop(ORDER))


def _place(sink: IcebergSink) -> str:
    return f"the Iceberg table '{sink.table}' of {catalog_words(dict(sink.catalog))}"


def _example(sink: IcebergSink, name: str) -> str:
    return _place(sink)


def _look(sink: IcebergSink, columns: tuple[tuple[str, str], ...]) -> str:
    """Return what rows of these columns find."""
    place, schema = _place(sink), StructType([StructField(name, type_of(kind)) for name, kind in columns])
    with errors_of_catalog(dict(sink.catalog)):
        table = find_table(open_catalog(dict(sink.catalog)), sink.table)
        if table is None:
            return f"writes {place}, which it makes"
        wrong = unfit_table(sink, schema, table)
        added = [f"'{field.name}'" for field in missing_fields(schema, table)] if wrong is None else []
        return f"writes {place}: {wrong or ('it adds column ' + ', '.join(added) if added else 'it has all columns')}"


KIND = SinkKind(
    write_iceberg,
    check_columns,
    _rehearse,
    rank=LAST,
    reads_once=True,
    transactional=True,
    handles_epochs=True,
    place=_place,
    example=_example,
    secrets=("catalog",),
    look=_look,
)
