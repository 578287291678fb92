"""The state inside snapshots: queried, exported and imported, in separate processes."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from pathlib import Path

from pitstop.control.ports.workers import Workers
from pitstop.errors import UsageError
from pitstop.model.data_folder import DataFolder
from pitstop.model.snapshot import SnapshotRecord
from pitstop.model.task import MOST_STATE_ROWS, ExportState, ImportState, QueryState, StateRows


class StateDesk:
    """Requests about stages of snapshots. Each names the folder of its snapshot."""

    def __init__(self, workers: Workers, data: DataFolder) -> None:
        self._workers, self._data = workers, data

    def query(self, snapshot: str, stage: str, sql: str, limit: int) -> StateRows:
        """Run Spark SQL on the stage's rows as table ``state``. UsageError if the SQL or the limit is wrong."""
        if not 1 <= limit <= MOST_STATE_ROWS:
            raise UsageError(f"A query gives 1 to {MOST_STATE_ROWS:,} rows, not {limit:,}: use snapshot export for more.")
        return self._workers.query_state(QueryState(snapshot, stage, sql, limit))

    def export(self, snapshot: str, stage: str) -> bytes:
        """Return a parquet file of the stage's rows."""
        with_file = self._scratch()
        try:
            self._workers.export_state(ExportState(snapshot, stage, str(with_file)))
            return with_file.read_bytes()
        finally:
            with_file.unlink(missing_ok=True)

    def put(
        self, snapshot: str, stage: str, content: bytes, name: str, register: Callable[[SnapshotRecord], None]
    ) -> SnapshotRecord:
        """Make snapshot ``name`` of this one, with the rows of a parquet file as the stage's state; ``register`` notes it."""
        with_file = self._scratch()
        try:
            with_file.write_bytes(content)
            record = self._workers.import_state(ImportState(snapshot, stage, str(with_file), str(self._data.root), name))
            register(record)
            return record
        finally:
            with_file.unlink(missing_ok=True)

    def _scratch(self) -> Path:
        file = self._data.state_rows(secrets.token_hex(6))
        file.parent.mkdir(parents=True, exist_ok=True)
        return file
