"""Workers without Spark: they compile scripts, and keep the state of a stage as lines of text."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pitstop.errors import NotFoundError, UsageError
from pitstop.model.snapshot import SnapshotManifest
from pitstop.plan.model import Plan
from pitstop.service.saved_state import Standby
from pitstop.snapshots import manifest as manifests
from pitstop.snapshots.imported import imported_folder, with_imported
from pitstop.testing.scripts import Script

_ROWS = "rows"


class ScriptedWorkers:
    """What the service asks of processes of their own (service.saved_state.Workers), done at once in this one."""

    def do(self, task: str, request: dict[str, Any], folder: Path) -> dict[str, Any]:
        """``compile`` a script, or ``query``, ``export`` or ``import`` state."""
        if task == "compile":
            return {"plan": Script.read(request["artifact"]).plan.to_dict(), "migrations": {}}
        path, stage = Path(request["snapshot"]), request["stage"]
        manifest = manifests.read(path)
        _check_stage(manifest, stage)
        rows = imported_folder(path, stage) / _ROWS
        if request["action"] == "import":
            return _import(path, manifest, stage, request)
        content = rows.read_bytes() if rows.exists() else b""
        if request["action"] == "export":
            Path(request["file"]).write_bytes(content)
            return {}
        return _query(content.decode().splitlines(), stage, request["sql"], request["limit"])

    def standby(self, seconds: float) -> AbstractContextManager[Standby | None]:
        """There is none: the new version starts cold."""
        return nullcontext()


def _check_stage(manifest: SnapshotManifest, stage: str) -> None:
    known = Plan.from_dict(manifest.plan).stateful
    if stage not in known:
        stages = ", ".join(known) or "none"
        raise NotFoundError(f"Snapshot '{manifest.name}' has no stage '{stage}' with state. It has: {stages}.")


def _import(path: Path, manifest: SnapshotManifest, stage: str, request: dict[str, Any]) -> dict[str, Any]:
    content = Path(request["file"]).read_bytes()

    def write(folder: Path) -> int:
        folder.mkdir()
        (folder / _ROWS).write_bytes(content)
        return len(content.splitlines())

    return asdict(with_imported(path, manifest, Path(request["data"]), request["name"], stage, write))


def _query(lines: list[str], stage: str, sql: str, limit: int) -> dict[str, Any]:
    """Knows one query."""
    if sql != "SELECT * FROM state":
        raise UsageError(f"The query on stage '{stage}' failed: only SELECT * FROM state is known here, not {sql!r}.")
    return {"columns": [["line", "string"]], "rows": [[line] for line in lines[:limit]], "more": len(lines) > limit}
