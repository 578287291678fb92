"""The file sink: exactly-once by a manifest for each epoch (outputs.file_epochs)."""

from __future__ import annotations

import dataclasses
import shutil
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

from pyspark.sql import DataFrame

from pitstop.kit.counts import counted
from pitstop.machine.local_paths import local_path
from pitstop.outputs.file_epochs import FileEpochs, WrittenFiles, open_folder
from pitstop.pipeline.sink import FilesSink
from pitstop.plan.places import folder_place
from pitstop.spark.sinks import LAST, EpochContext, SinkKind
from pitstop.spark.sinks.file_formats import UNPLACED, check_columns, has_rows, save, written_below


def write_files(sink: FilesSink, rows: DataFrame, context: EpochContext) -> None:
    """Write one epoch into the folder, once."""
    folder = folder_of(sink)
    # What a version before has written stays under its name: should this one be gone back from, that is not withdrawn with it.
    for lineage, epoch in (*context.run.known_as, (context.lineage, context.epoch)):
        epochs = FileEpochs(str(folder), lineage, context.stage)
        if epochs.is_committed(epoch, context.digest):
            epochs.put_in_place(epoch)
            return
    epochs.check_is_last(context.epoch)
    if context.run.fence is not None:
        _check_no_later_run(epochs, context.run.job_id, context.run.fence.token)
    staging = epochs.staging(context.epoch, _of_run(context))
    shutil.rmtree(staging, ignore_errors=True)
    open_folder(folder)
    run, unplaced = context.run, save(sink, rows, staging)
    if unplaced:
        rows_for = f"{counted(unplaced, 'row')} for '{context.stage}'"
        message = f"{rows_for} with values that name no folder: kept in {folder / UNPLACED}"
        run.log("WARN", "pitstop.sink", message)
    columns = [name for name in rows.columns if name not in sink.partition_by]
    filled = [path for path in written_below(staging) if has_rows(sink, path, columns)]
    written = WrittenFiles(staging.name, _moves(filled, staging, epochs, context.epoch), context.digest, run.job_id)
    run.begins()
    withdrawable = epochs.commit(context.epoch, written, run.ownership, run.notes, run.outputs)
    epochs.put_in_place(context.epoch)
    # An epoch is replayed only if it is the last one; one more is kept for good measure.
    epochs.forget_before(context.epoch - 1, manifests=not withdrawable)


@lru_cache(maxsize=1024)
def _check_no_later_run(epochs: FileEpochs, job: str, token: int) -> None:
    """Check once for each run and sink. The fence stops this run once a later one exists."""
    epochs.check_no_later_run(job, token)


def folder_of(sink: FilesSink) -> Path:
    """Return the folder of its files, on this machine."""
    return Path(local_path(sink.path, "What the file sink writes"))


def _of_run(context: EpochContext) -> str:
    """Return a name that separates this run from one that has lost the job, does not know it yet, and is still writing."""
    return f"-{context.run.fence.token}" if context.run.fence is not None else ""


def write_aside(sink: FilesSink, rows: DataFrame, context: EpochContext) -> None:
    """Write the files into a folder of this run alone."""
    write_files(dataclasses.replace(sink, path=str(context.run.work_dir / "files" / context.stage)), rows, context)


def _moves(files: list[Path], staging: Path, epochs: FileEpochs, epoch: int) -> dict[str, str]:
    """Return each file below the staging folder, with its name below the sink's folder."""
    moves = {}
    for number, path in enumerate(files):
        relative = path.relative_to(staging)
        suffix = "".join(part for part in Path(path.name.split(".", 1)[1]).suffixes) or path.suffix
        moves[str(relative)] = str(relative.parent / epochs.name(epoch, number, suffix))
    return moves


def _placed(sink: FilesSink, whole: Callable[[str], str]) -> FilesSink:
    return dataclasses.replace(sink, path=whole(sink.path))


def _place(sink: FilesSink) -> str:
    return folder_place(folder_of(sink))


def _example(sink: FilesSink, name: str) -> str:
    packed = ".gz" if dict(sink.options).get("compression", "none") not in ("none", "uncompressed") else ""
    file = FileEpochs(str(folder_of(sink).resolve()), "lineage", name).name(0, 0, f".{sink.format}{packed}")
    return str(Path(folder_of(sink).resolve(), *(f"{column}=value" for column in sink.partition_by), file))


KIND = SinkKind(
    write_files,
    check_columns,
    write_aside,
    rank=LAST,
    reads_once=True,
    transactional=True,
    handles_epochs=True,
    place=_place,
    example=_example,
    placed=_placed,
)
