"""The file sink: exactly-once by a manifest for each epoch.

An epoch's files are written aside, by each run into a folder of its own, listed in ``_pitstop/<lineage>/<sink>/<epoch>.json``
(that rename is the commit), and then moved into place under names that the epoch fixes. Killed before the commit, the epoch is
written anew; killed after it, the same moves are made again. A reader of the folder never sees a file of an epoch that is not
committed. No other run can take the job between the look at whose it is and the rename.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import shutil
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq
from pyspark.sql import DataFrame

from pitstop.control.ports import Ownership
from pitstop.kit.private import usual_mode
from pitstop.pipeline.sinks import FilesSink
from pitstop.spark.sinks import LAST, EpochContext, SinkKind

CONTROL = "_pitstop"


def write_files(sink: FilesSink, rows: DataFrame, context: EpochContext) -> None:
    """Write one epoch into the folder, once."""
    folder = Path(sink.path.removeprefix("file://"))
    control = folder / CONTROL / context.lineage / context.stage
    manifest = control / f"{context.epoch}.json"
    if not manifest.exists():
        staging = control / f"{context.epoch}{_of_run(context)}.staging"
        shutil.rmtree(staging, ignore_errors=True)
        _open_folder(folder)
        writer = rows.write.mode("overwrite").format(sink.format)
        if sink.partition_by:
            writer = writer.partitionBy(*sink.partition_by)
        writer.save(str(staging))
        _commit(manifest, _Manifest(staging.name, _moves(staging, context)), context.run.ownership)
    committed = _Manifest.read(manifest)
    _move(committed.moves, control / committed.staging, folder)
    _forget(control, context.epoch)


@dataclass(frozen=True)
class _Manifest:
    """What an epoch has written."""

    staging: str
    """Name of the folder in which it stood aside."""
    moves: dict[str, str]
    """File below that folder -> its name below the sink's folder."""

    @classmethod
    def read(cls, path: Path) -> _Manifest:
        found = json.loads(path.read_text())
        # Before runs had folders of their own, a manifest was the moves alone.
        old = not isinstance(found.get("moves"), dict)
        return cls(f"{path.stem}.staging", found) if old else cls(found["staging"], found["moves"])


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


def _moves(staging: Path, context: EpochContext) -> dict[str, str]:
    """File below the staging folder -> its name below the sink's folder."""
    moves = {}
    found = [p for p in sorted(staging.rglob("*")) if p.is_file() and not p.name.startswith((".", "_"))]
    for number, path in enumerate(found):
        if _empty(path):
            continue
        relative = path.relative_to(staging)
        suffix = "".join(part for part in Path(path.name.split(".", 1)[1]).suffixes) or path.suffix
        name = f"{context.stage}-{context.lineage}-{context.epoch:08d}-{number:03d}{suffix}"
        moves[str(relative)] = str(relative.parent / name)
    return moves


def _empty(path: Path) -> bool:
    if path.suffix == ".parquet":
        return bool(pq.read_metadata(path).num_rows == 0)
    return path.stat().st_size == 0


def _commit(path: Path, manifest: _Manifest, ownership: Ownership) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f"{manifest.staging}.tmp")
    with temporary.open("w") as file:
        json.dump(dataclasses.asdict(manifest), file)
        file.flush()
        os.fsync(file.fileno())
    with ownership.held():
        temporary.rename(path)


def _move(moves: dict[str, str], staging: Path, folder: Path) -> None:
    for source, target in moves.items():
        path = staging / source
        with contextlib.suppress(FileNotFoundError):  # moved before
            _open_folder((folder / target).parent)
            # What is written is for others to read, as far as the user lets them; all else of a run is its user's alone.
            path.chmod(usual_mode(0o666))
            path.rename(folder / target)
    shutil.rmtree(staging, ignore_errors=True)


def _open_folder(folder: Path) -> None:
    """Make a folder, and those above it that are not there, with the permissions that the user's own would have."""
    if not folder.exists():
        _open_folder(folder.parent)
        folder.mkdir(exist_ok=True)
        folder.chmod(usual_mode(0o777))


def _forget(control: Path, epoch: int) -> None:
    # An epoch is replayed only if it is the last one; one more is kept for good measure.
    (control / f"{epoch - 2}.json").unlink(missing_ok=True)
    for pattern in (f"{epoch - 2}.staging*", f"{epoch - 2}-*.staging*"):
        for left in control.glob(pattern):  # of a run that was killed
            shutil.rmtree(left, ignore_errors=True) if left.is_dir() else left.unlink(missing_ok=True)


KIND = SinkKind(write_files, check_columns, write_aside, rank=LAST, transactional=True)
