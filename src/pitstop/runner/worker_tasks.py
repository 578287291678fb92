"""Processes that do one thing for the control plane and leave its result in a file: it runs no user code and no JVM itself."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pitstop.errors import EngineError, PitstopError
from pitstop.model.data_folder import DataFolder, WorkerFolder
from pitstop.plan.rules import check_state_store
from pitstop.runner.artifacts import load_entry
from pitstop.runner.session import session


def compile_job(request: dict[str, Any], folder: WorkerFolder) -> dict[str, Any]:
    """``{plan, options, migrations}`` of an artifact's job.

    ``request``: ``artifact``, ``entry``, ``args``; ``against`` the folder of the snapshot or checkpoint whose state the job
    is to take over, or None, and ``renamed``. Migrations are then run on that state, and told as stage -> words.
    """
    from pitstop.spark.lowering.compile import compile_pipeline
    from pitstop.spark.restoring.migrations import try_migrations

    definition = load_entry(Path(request["artifact"]), request["entry"])
    spark = session(folder.work)
    pipeline = definition.build(request["args"])
    plan = compile_pipeline(spark, pipeline, partitions=definition.config.partitions)
    check_state_store(plan, definition.config.state_store)
    against = Path(request["against"]) if request["against"] is not None else None
    migrations = try_migrations(spark, pipeline, plan, against, request["renamed"], folder.state)
    return {"plan": plan.to_dict(), "options": definition.config.to_dict(), "migrations": migrations}


def work_on_state(request: dict[str, Any], folder: WorkerFolder) -> dict[str, Any]:
    """Query, export or import (``action``) the state of a ``stage`` in the snapshot of folder ``snapshot``.

    ``query``: ``sql`` and ``limit``; ``{columns, rows, more}``. ``export``: ``file``, which is written; ``{rows}``.
    ``import``: ``file``, ``data`` and ``name`` of the snapshot that is made; its record.
    """
    from pitstop.snapshots import manifest as manifests
    from pitstop.snapshots.export import lay_view
    from pitstop.spark.state import in_snapshot as snapshot_state

    path, view = Path(request["snapshot"]), folder.state
    manifest = manifests.read(path)
    state = snapshot_state.SnapshotState.open(path, manifest, request["stage"])
    manifests.verify(path, manifest, manifest.job_name or manifest.job_id)
    spark = session(folder.work)
    if request["action"] == "import":
        record = snapshot_state.put(spark, state, Path(request["file"]), DataFolder(Path(request["data"])), request["name"])
        return dataclasses.asdict(record)
    lay_view(path, manifest, view)
    state = snapshot_state.SnapshotState.open(view, manifest, request["stage"])
    if request["action"] == "query":
        return snapshot_state.query(spark, state, request["sql"], request["limit"])
    return snapshot_state.export(spark, state, Path(request["file"]))


TASKS: dict[str, Callable[[dict[str, Any], WorkerFolder], dict[str, Any]]] = {"compile": compile_job, "state": work_on_state}


def run_once(task: str, folder: WorkerFolder) -> int:
    """Do what the request in ``folder`` asks, and write the result there, or ``{"error": {code, message, details}}``."""
    try:
        result = TASKS[task](json.loads(folder.request.read_text()), folder)
    except PitstopError as error:
        result = {"error": error.to_dict()}
    except Exception as error:
        result = {"error": EngineError(f"{type(error).__name__}: {error}").to_dict()}
    temporary = folder.result.with_suffix(".tmp")
    temporary.write_text(json.dumps(result))
    temporary.rename(folder.result)
    return 1 if "error" in result else 0
