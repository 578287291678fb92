"""The state inside snapshots: queried, taken out and put back, in processes of their own."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol

from pitstop.errors import UsageError, from_dict
from pitstop.model.job import JobSource
from pitstop.model.snapshot import SnapshotRecord
from pitstop.service.results import StateRows

MOST_ROWS = 100_000
"""So many rows of a query at most: more are taken out as a file."""


class Standby(Protocol):
    """A warm runner that makes itself ready for one version of a job (launchers)."""

    id: str

    def compile(
        self, job_id: str, job_name: str, source: JobSource, options: dict[str, Any], against: Path | None
    ) -> dict[str, Any]:
        """``{"plan", "migrations"}``, these run on the state in folder ``against``; raises what is wrong with the version."""
        ...

    def rehearse(self, lineage: str) -> None:
        """Start the version once from a copy of that checkpoint; raises what kept it from starting."""
        ...


class Workers(Protocol):
    """Processes that do one thing each (launchers)."""

    def do(self, task: str, request: dict[str, Any], folder: Path) -> dict[str, Any]:
        """The task's result; ``folder`` is used up."""
        ...

    def standby(self, seconds: float) -> AbstractContextManager[Standby | None]:
        """A warm runner, if one is ready within so many seconds; ended afterwards unless it got its run."""
        ...


def result_of(workers: Workers, data_dir: Path, task: str, request: dict[str, Any]) -> dict[str, Any]:
    """What the process came to; its error is raised."""
    result = workers.do(task, request, data_dir / "once" / secrets.token_hex(6))
    if "error" in result:
        raise from_dict(dict(result["error"]))
    return result


class StateDesk:
    """Requests about stages of snapshots, each of which names the folder of its snapshot."""

    def __init__(self, workers: Workers, data_dir: Path) -> None:
        self._workers, self._data_dir = workers, data_dir

    def query(self, snapshot: str, stage: str, sql: str, limit: int) -> StateRows:
        """UsageError if the SQL or the limit is wrong."""
        if not 1 <= limit <= MOST_ROWS:
            raise UsageError(f"A query gives 1 to {MOST_ROWS:,} rows, not {limit:,}: take more out with snapshot export.")
        found = self._ask("query", snapshot, stage, sql=sql, limit=limit)
        return StateRows([(name, kind) for name, kind in found["columns"]], found["rows"], found["more"])

    def export(self, snapshot: str, stage: str) -> bytes:
        """A parquet file of the stage's rows."""
        with_file = self._scratch()
        try:
            self._ask("export", snapshot, stage, file=str(with_file))
            return with_file.read_bytes()
        finally:
            with_file.unlink(missing_ok=True)

    def put(self, snapshot: str, stage: str, content: bytes, name: str, made: Callable[[SnapshotRecord], None]) -> SnapshotRecord:
        """Make snapshot ``name`` of this one, with the rows of a parquet file as the stage's state; ``made`` registers it."""
        with_file = self._scratch()
        try:
            with_file.write_bytes(content)
            facts = self._ask("import", snapshot, stage, file=str(with_file), data=str(self._data_dir), name=name)
            record = SnapshotRecord(**facts)
            made(record)
            return record
        finally:
            with_file.unlink(missing_ok=True)

    def _scratch(self) -> Path:
        folder = self._data_dir / "once"
        folder.mkdir(parents=True, exist_ok=True)
        return folder / f"{secrets.token_hex(6)}.parquet"

    def _ask(self, action: str, snapshot: str, stage: str, **more: Any) -> dict[str, Any]:
        request = {"action": action, "snapshot": snapshot, "stage": stage, **more}
        return result_of(self._workers, self._data_dir, "state", request)
