"""Tasks that a separate process does for the control plane. It leaves the result in a file."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from pitstop.errors import PitstopError, UsageError
from pitstop.kit.jsonable import from_json, to_json
from pitstop.machine.named_secrets import hidden_in
from pitstop.model.data_folder import DataFolder
from pitstop.model.process_folders import WorkerFolder
from pitstop.model.task import TASKS, Adopt, Compile, ExportState, ImportState, QueryCheckpoint, QueryState, Task

Session = Callable[[], SparkSession]
"""Returns the session of Spark in which a task is done; starts it if need be."""


def compile_version(task: Compile, folder: WorkerFolder, spark: Session) -> object:
    """Compile a version as its run would, and try its migrations on the state that it is to take over."""
    from pitstop.runner.prepared import compiled_for_check

    return compiled_for_check(spark, task, folder)


def query_state(task: QueryState, folder: WorkerFolder, spark: Session) -> object:
    """Run SQL on a stage's rows."""
    from pitstop.spark.state import in_snapshot

    state = _stage(task, folder)
    return in_snapshot.query(spark(), state, task.sql, task.limit)


def query_checkpoint(task: QueryCheckpoint, folder: WorkerFolder, spark: Session) -> object:
    """Run SQL on the rows of an operator of a checkpoint."""
    from pitstop.spark.adopting.looking import OperatorState

    state = OperatorState.open(task.checkpoint, task.operator)
    return state.query(spark(), folder.state, task.sql, task.limit)


def export_state(task: ExportState, folder: WorkerFolder, spark: Session) -> object:
    """Write a stage's rows to a parquet file."""
    from pitstop.spark.state import in_snapshot

    state = _stage(task, folder)
    in_snapshot.export(spark(), state, Path(task.file))
    return None


def import_state(task: ImportState, folder: WorkerFolder, spark: Session) -> object:
    """Copy a snapshot, with the rows of a parquet file as a stage's state; return the new record."""
    from pitstop.snapshots import manifest as manifests
    from pitstop.spark.state import in_snapshot

    path = Path(task.snapshot)
    manifest = manifests.read(path)
    state = in_snapshot.SnapshotState.open(path, manifest, task.stage)
    manifests.verify(path, manifest, manifest.job_name or manifest.job_id)
    return in_snapshot.put(spark(), state, Path(task.file), DataFolder(Path(task.data)), task.name)


def adopt(task: Adopt, folder: WorkerFolder, spark: Session) -> object:
    """Adopt a checkpoint of Spark as a snapshot, or plan that."""
    from pitstop.runner.adopting import adopted

    return adopted(spark(), task, folder.state)


def _stage(task: QueryState | ExportState, folder: WorkerFolder) -> Any:
    """Return a stage's state in a verified snapshot, by links in which Spark finds all of it."""
    from pitstop.snapshots import manifest as manifests
    from pitstop.snapshots.export import lay_view
    from pitstop.spark.state import in_snapshot

    path, view = Path(task.snapshot), folder.state
    manifest = manifests.read(path)
    in_snapshot.SnapshotState.open(path, manifest, task.stage)  # no such stage is told before all files are read
    manifests.verify(path, manifest, manifest.job_name or manifest.job_id)
    lay_view(path, manifest, view)
    return in_snapshot.SnapshotState.open(view, manifest, task.stage)


WORK: dict[str, Callable[[Any, WorkerFolder, Session], object]] = {
    Compile.kind: compile_version,
    QueryState.kind: query_state,
    QueryCheckpoint.kind: query_checkpoint,
    ExportState.kind: export_state,
    ImportState.kind: import_state,
    Adopt.kind: adopt,
}


def answer(work: Callable[[Any], object], task: Task) -> dict[str, Any]:
    """``{"result": …}`` of a task, or ``{"error": {code, message, details}}``."""
    try:
        result = work(task)
        return {"result": to_json(result) if result is not None else None}
    except PitstopError as error:
        return {"error": hidden_in(error.to_dict())}
    except Exception as error:  # whoever gave the task is told
        from pitstop.spark.base.failures import explain_task

        return {"error": hidden_in(explain_task(error).to_dict())}


def read_task(kind: str, request: Any) -> Task:
    """Return the task that came through a pipe."""
    if kind not in TASKS:
        raise UsageError(f"There is no task '{kind}'.")
    return from_json(TASKS[kind], request)


def do_task(kind: str, folder: WorkerFolder, spark: Session) -> int:
    """Do what the request in the folder asks, in a session of Spark, and leave the answer there."""
    task = read_task(kind, json.loads(folder.request.read_text()))
    outcome = answer(lambda task: WORK[kind](task, folder, spark), task)
    temporary = folder.result.with_suffix(".tmp")
    temporary.write_text(json.dumps(outcome))
    temporary.rename(folder.result)
    return 1 if "error" in outcome else 0
