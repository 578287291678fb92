"""Paths of a data folder that the store has noted, for when the folder has moved."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sqlalchemy import Column, Table, delete, select, update

from pitstop.control.ports.launcher import RunHandle
from pitstop.store import schema
from pitstop.store.database import Database

_NAMES = frozenset({"artifact", "dependencies", "path"})
"""The names in records of paths in the data folder: of a job's code, of its packages, of a snapshot. No other path is touched,
not even an argument of a job that leads into the folder."""
_RECORDS: tuple[Column[Any], ...] = (
    schema.jobs.c.body,
    schema.job_versions.c.body,
    schema.operations.c.args,
    schema.operations.c.result,
    schema.observations.c.payload,
)
_GONE = "restored/0/0"
"""The handle of a process in a boot that no machine has had (launchers.processes)."""


def noted_place(database: Database) -> str | None:
    """Return the folder in which the newest job says its artifact is; None if the store knows of no artifact."""
    table = schema.jobs
    with database.read() as connection:
        for body in connection.execute(select(table.c.body).order_by(table.c.submission_time.desc())).scalars():
            artifact = Path(str(body.get("version", {}).get("source", {}).get("artifact") or ""))
            if artifact.is_absolute() and artifact.parent.parent.name == "artifacts":
                return str(artifact.parents[2])
    return None


def move_paths(database: Database, before: str, after: str) -> None:
    """Replace one folder by another in all paths below it, in one transaction."""
    with database.write() as connection:
        for column in _RECORDS:
            table = column.table
            assert isinstance(table, Table)
            keys = list(table.primary_key.columns)
            for *key, record in connection.execute(select(*keys, column)).all():
                new_record = _moved(record, before, after)
                if new_record != record:
                    here = [column_of_key == value for column_of_key, value in zip(keys, key, strict=True)]
                    connection.execute(update(table).where(*here).values({column.name: new_record}))
        snapshots = schema.snapshots
        for name, path in connection.execute(select(snapshots.c.name, snapshots.c.path)).all():
            connection.execute(update(snapshots).where(snapshots.c.name == name).values(path=_moved_path(path, before, after)))


def run_handles(database: Database) -> list[RunHandle]:
    """Return the handles of all runs that have ever claimed a job which still exists."""
    with database.read() as connection:
        return [RunHandle(handle) for handle in connection.execute(select(schema.leases.c.handle)).scalars()]


def forget_processes(database: Database) -> None:
    """Forget all processes that run anything. To the control plane each run has then died.

    The store was put back from a copy, and the processes of the original may still run.
    """
    with database.write() as connection:
        connection.execute(update(schema.leases).values(handle=_GONE, expires=0.0))
        connection.execute(update(schema.leadership).values(expires=0.0))
        for table in (schema.members, schema.assignments, schema.kills):
            connection.execute(delete(table))


def _moved(record: Any, before: str, after: str) -> Any:
    if isinstance(record, dict):
        return dict(_moved_fields(record, before, after))
    return [_moved(part, before, after) for part in record] if isinstance(record, list) else record


def _moved_fields(record: dict[str, Any], before: str, after: str) -> Iterator[tuple[str, Any]]:
    for name, value in record.items():
        is_path = name in _NAMES and isinstance(value, str)
        yield name, _moved_path(value, before, after) if is_path else _moved(value, before, after)


def _moved_path(path: str, before: str, after: str) -> str:
    return after + path.removeprefix(before) if path.startswith(f"{before}/") else path
