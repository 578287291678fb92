"""A copy of the store as it was at one moment, made while others go on writing."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from pitstop.control.ports.launcher import RunHandle
from pitstop.errors import UsageError
from pitstop.store.database import Database


def handles_in(file: Path) -> list[RunHandle]:
    """Return the handles of all runs in a store; none if the file is missing.

    The store may be of any release, and in use: it is only read.
    """
    if not file.exists():
        return []
    with closing(sqlite3.connect(f"{file.as_uri()}?mode=ro", uri=True)) as store:
        columns = {row[1] for row in store.execute("PRAGMA table_info(leases)")}
        return [RunHandle(handle) for (handle,) in store.execute("SELECT handle FROM leases")] if "handle" in columns else []


def copy_store(database: Database, meanwhile: Callable[[], None], target: Path) -> None:
    """Write the store into a file, as it is while ``meanwhile`` runs: nobody writes the store until that returns.

    Writers then go on: SQLite keeps that moment for the copy. UsageError for a store that is no file.
    """
    if database.engine.dialect.name != "sqlite":
        raise UsageError(
            "The store is in PostgreSQL, which has tools of its own for backups: shut the cluster down, and copy the database by "
            "these (pg_dump) and the data folder, both at that time (docs/backup.md)."
        )
    with database.engine.connect() as reader:
        with database.write():
            database.dialect.begin_read(reader)
            # The transaction begins to see the store with its first statement.
            reader.exec_driver_sql("SELECT version_num FROM alembic_version").all()
            meanwhile()
        driver = reader.connection.driver_connection
        assert isinstance(driver, sqlite3.Connection)
        with closing(sqlite3.connect(target)) as copy:
            driver.backup(copy)
