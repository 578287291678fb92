"""Workers without Spark. They compile scripts, and keep the state of a stage as lines of text."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from pitstop.control.ports.workers import Standby
from pitstop.errors import NotFoundError, UsageError
from pitstop.model.adoption import Adoption
from pitstop.model.config import JobConfig
from pitstop.model.data_folder import DataFolder
from pitstop.model.snapshot import SnapshotManifest, SnapshotRecord
from pitstop.model.task import Adopt, Compilation, Compile, ExportState, ImportState, QueryState, StateRows
from pitstop.plan.model import Plan
from pitstop.snapshots import manifest as manifests
from pitstop.snapshots.export import record_of
from pitstop.snapshots.imported import imported_folder, with_imported
from tests.doubles.scripts import Script

_ROWS = "rows"


class ScriptedWorkers:
    """A control.ports.workers.Workers that does its tasks at once, in this process."""

    def compile(self, task: Compile) -> Compilation:
        plan = Script.read(task.source.artifact).plan.to_dict()
        return Compilation(plan, allow_shared=JobConfig.from_options(task.options).allow_shared)

    def query_state(self, task: QueryState) -> StateRows:
        """Answer the one query that is known."""
        if task.sql != "SELECT * FROM state":
            hint = "only SELECT * FROM state is known here"
            raise UsageError(f"The query on stage '{task.stage}' failed: {hint}, not {task.sql!r}.")
        lines = _rows(task.snapshot, task.stage).decode().splitlines()
        return StateRows([("line", "string")], [[line] for line in lines[: task.limit]], len(lines) > task.limit)

    def export_state(self, task: ExportState) -> None:
        Path(task.file).write_bytes(_rows(task.snapshot, task.stage))

    def import_state(self, task: ImportState) -> SnapshotRecord:
        manifest = _manifest_with(task.snapshot, task.stage)
        content = Path(task.file).read_bytes()

        def write(folder: Path) -> int:
            folder.mkdir(parents=True)
            (folder / _ROWS).write_bytes(content)
            return len(content.splitlines())

        return with_imported(Path(task.snapshot), manifest, DataFolder(Path(task.data)), task.name, task.stage, write)

    def adopt(self, task: Adopt) -> Adoption:
        """Adopt an empty checkpoint: all stages of the script begin empty."""
        plan = Script.read(task.source.artifact).plan
        adoption = Adoption(task.checkpoint, "4.3 or later", 0, 0, 1, [], [], list(plan.stateful), list(plan.sources), [])
        if task.only_plan:
            return adoption
        folder = DataFolder(Path(task.data)).new_snapshot(task.name)
        manifest = SnapshotManifest(task.name, "adopted", None, "adopted", 0, 0.0, None, plan.to_dict(), 1, "", {}, {}, {})
        manifests.write(folder, manifest)
        return dataclasses.replace(adoption, snapshot=record_of(manifest, folder))

    def hold(self, seconds: float) -> Standby | None:
        """Do nothing: the new version starts cold."""
        return None

    def release(self, standby: str) -> None:
        """Do nothing: no process was held."""


def _rows(snapshot: str, stage: str) -> bytes:
    _manifest_with(snapshot, stage)
    rows = imported_folder(Path(snapshot), stage) / _ROWS
    return rows.read_bytes() if rows.exists() else b""


def _manifest_with(snapshot: str, stage: str) -> SnapshotManifest:
    """Return the manifest of a snapshot. NotFoundError if it has no such stage."""
    manifest = manifests.read(snapshot)
    layouts = Plan.from_dict(manifest.plan).stateful
    if stage not in layouts:
        stages = ", ".join(layouts) or "none"
        raise NotFoundError(f"Snapshot '{manifest.name}' has no stage '{stage}' with state. It has: {stages}.")
    return manifest
