"""The place of a data folder: one that was moved or copied continues at its new place."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

from pitstop.control.ports.launcher import RunHandle
from pitstop.errors import ConflictError
from pitstop.launchers.processes import handle_in, is_alive
from pitstop.machine.private import write_private
from pitstop.model.data_folder import DataFolder, checkpoints_in
from pitstop.snapshots.checkpoint import Checkpoint
from pitstop.store.database import Database, open_database
from pitstop.store.leadership import SqlLeadership
from pitstop.store.moving import move_paths, noted_place, run_handles


def settle_place(data: DataFolder, url: str) -> None:
    """Change every record of the data folder's place to the present one. Call this before any job is looked at.

    ConflictError if a process or server of the data folder still runs, which would continue at the old place.
    """
    here, before = str(data.root), _recorded(data)
    if before == here:
        return
    with closing(open_database(url)) as database:
        before = before or noted_place(database)
        if before is not None and before != here:
            _check_at_rest(data, database, before)
            move_paths(database, before, here)
            for checkpoint in checkpoints_in(data):
                Checkpoint(checkpoint).relocate(checkpoint)
    # Last: after a crash, all of this is done again.
    write_private(data.place, here)


def _recorded(data: DataFolder) -> str | None:
    try:
        return data.place.read_text().strip() or None
    except FileNotFoundError:
        return None


def _check_at_rest(data: DataFolder, database: Database, before: str) -> None:
    fault = f"The data folder {data.root} was moved or copied from {before}"
    alive = next(filter(is_alive, _processes(data, database)), None)
    if alive is not None:
        raise ConflictError(
            f"{fault}, and a process of it still runs ({alive}): put it back and end its jobs first ('pitstop cluster "
            "shutdown'), or take a copy by 'pitstop backup' and 'pitstop restore' (docs/backup.md)."
        )
    leader = SqlLeadership(database, "").leader() if database.wake() is not None else None
    if leader is not None:
        raise ConflictError(
            f"{fault}, and the server {leader} uses its store: all servers of a store must have the folder at the same path, so "
            "end them first."
        )


def _processes(data: DataFolder, database: Database) -> Iterator[RunHandle]:
    yield from run_handles(database)
    files = [
        data.spark_master.daemon,
        *data.members.glob("*/*.json"),
        *data.spares.glob("*/*.json"),
        *data.engines.glob("*/*.json"),
    ]
    yield from (handle for handle in map(handle_in, files) if handle is not None)
