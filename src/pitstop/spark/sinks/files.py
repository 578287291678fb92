"""The file sink: exactly-once by a manifest for each epoch (outputs.file_epochs)."""

from __future__ import annotations

import dataclasses
import shutil
from pathlib import Path

import pyarrow.parquet as pq
from pyspark.sql import DataFrame

from pitstop.outputs.file_epochs import FileEpochs, WrittenFiles, open_folder
from pitstop.pipeline.sinks import FilesSink
from pitstop.spark.sinks import LAST, EpochContext, SinkKind


def write_files(sink: FilesSink, rows: DataFrame, context: EpochContext) -> None:
    """Write one epoch into the folder, once."""
    folder = Path(sink.path.removeprefix("file://")).absolute()
    # What a version before has written stays under its name: should this one be gone back from, that is not withdrawn with it.
    for lineage, epoch in (*context.run.known_as, (context.lineage, context.epoch)):
        epochs = FileEpochs(str(folder), lineage, context.stage)
        if epochs.is_committed(epoch, context.digest):
            epochs.put_in_place(epoch)
            return
    epochs.check_is_last(context.epoch)
    staging = epochs.staging(context.epoch, _of_run(context))
    shutil.rmtree(staging, ignore_errors=True)
    open_folder(folder)
    writer = rows.write.mode("overwrite").format(sink.format).options(**dict(sink.options))
    if sink.partition_by:
        writer = writer.partitionBy(*sink.partition_by)
    writer.save(str(staging))
    run = context.run
    written = WrittenFiles(staging.name, _moves(staging, epochs, context.epoch), context.digest, run.job_id)
    run.begins()
    withdrawable = epochs.commit(context.epoch, written, run.ownership, run.notes, run.outputs)
    epochs.put_in_place(context.epoch)
    # An epoch is replayed only if it is the last one; one more is kept for good measure.
    epochs.forget_before(context.epoch - 1, manifests=not withdrawable)


def _of_run(context: EpochContext) -> str:
    """Sets apart what a run that has lost the job, and does not know it yet, is still writing."""
    return f"-{context.run.fence.token}" if context.run.fence is not None else ""


def check_columns(sink: FilesSink, rows: DataFrame) -> str | None:
    """The columns to partition by must be there, and csv takes no nested ones."""
    for column in sink.partition_by:
        if column not in rows.columns:
            return f"there is no column '{column}' to partition by. There are: {', '.join(rows.columns)}."
    nested = [f.name for f in rows.schema.fields if f.dataType.typeName() in ("struct", "array", "map")]
    if sink.format == "csv" and nested:
        return f"csv has no place for nested column '{nested[0]}': use json or parquet."
    return None


def write_aside(sink: FilesSink, rows: DataFrame, context: EpochContext) -> None:
    """Write the files into a folder of this run alone."""
    write_files(dataclasses.replace(sink, path=str(context.run.work_dir / "files" / context.stage)), rows, context)


def _moves(staging: Path, epochs: FileEpochs, epoch: int) -> dict[str, str]:
    """File below the staging folder -> its name below the sink's folder."""
    moves = {}
    found = [p for p in sorted(staging.rglob("*")) if p.is_file() and not p.name.startswith((".", "_"))]
    for number, path in enumerate(found):
        if _empty(path):
            continue
        relative = path.relative_to(staging)
        suffix = "".join(part for part in Path(path.name.split(".", 1)[1]).suffixes) or path.suffix
        moves[str(relative)] = str(relative.parent / epochs.name(epoch, number, suffix))
    return moves


def _empty(path: Path) -> bool:
    if path.suffix == ".parquet":
        return bool(pq.read_metadata(path).num_rows == 0)
    return path.stat().st_size == 0


def folder_of(sink: FilesSink) -> str:
    """Return the folder, by its real path."""
    return f"the folder {Path(sink.path.removeprefix('file://')).resolve()}"


KIND = SinkKind(
    write_files,
    check_columns,
    write_aside,
    rank=LAST,
    reads_once=True,
    transactional=True,
    handles_epochs=True,
    place=folder_of,
)
