"""Restoring: a backup is put into a data folder, at the same place or another, so that a server continues from it exactly."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

from pitstop.control.ports.launcher import RunHandle
from pitstop.errors import ConflictError, SnapshotError, UsageError
from pitstop.launchers.processes import is_alive
from pitstop.machine.private import keep_private, private_folder, write_private
from pitstop.model.data_folder import DataFolder, check_place, checkpoints_in
from pitstop.model.snapshot import stays_below
from pitstop.outputs.later import SetAside, set_aside_later
from pitstop.server.backup import CONTENTS, FORMAT, copy_checked
from pitstop.server.exclusive import is_served, only_server
from pitstop.snapshots.checkpoint import Checkpoint
from pitstop.snapshots.sealed import unseal
from pitstop.store.copying import handles_in
from pitstop.store.database import open_database, sqlite_url
from pitstop.store.moving import forget_processes, move_paths


def restore_backup(folder: Path, target: Path, keep_outputs: bool = False) -> list[SetAside]:
    """Put a backup into a new or empty folder, and set aside the output that its jobs have written since (outputs.later).

    Return the output that was set aside. ``keep_outputs`` leaves all output in place. SnapshotError if the backup is damaged.
    ConflictError if the server of the backup still runs on this machine, and writes into the same outputs.
    """
    keep_private()
    folder, data = folder.absolute(), DataFolder(target.resolve())
    check_place(data.root)
    contents = _contents(folder)
    if data.root.exists() and (not data.root.is_dir() or any(data.root.iterdir())):
        raise UsageError(f"The backup cannot be put into {data.root}: give a new folder, or an empty one, with --data.")
    if not keep_outputs:
        _check_original_ended(DataFolder(Path(contents["place"])))
    private_folder(data.root)
    with only_server(data):
        store = data.root / f".{data.store.name}"
        for file in contents["files"]:
            path = Path(file["path"])
            if not stays_below(file["path"]):
                raise SnapshotError(
                    f"The backup in {folder} names a file outside of it ({file['path']!r}): it was tampered with."
                )
            _put(folder / path, store if data.root / path == data.store else data.root / path, file)
        for checkpoint in checkpoints_in(data):
            Checkpoint(checkpoint).relocate(checkpoint)
        with closing(open_database(sqlite_url(store))) as database:
            move_paths(database, contents["place"], str(data.root))
            forget_processes(database)
        outputs = [] if keep_outputs else set_aside_later(data)
        write_private(data.place, str(data.root))
        store.rename(data.store)  # last: without the store no server can continue
    return outputs


def withdraw_later(target: Path) -> list[SetAside]:
    """Set aside output that is later than a data folder restored by hand. ConflictError while a server or a run uses it."""
    keep_private()
    data = DataFolder(target.resolve())
    if not data.store.exists():
        raise UsageError(f"There is no data of a server in {data.root}: give its folder with --data.")
    with only_server(data):
        alive = _alive(data)
        if alive is not None:
            raise ConflictError(f"A run of {data.root} goes on ({alive}): end the jobs first (pitstop cluster shutdown).")
        return set_aside_later(data)


def _contents(folder: Path) -> dict[str, Any]:
    try:
        contents, sealed = unseal((folder / CONTENTS).read_bytes())
    except FileNotFoundError:
        raise UsageError(f"There is no backup in {folder}: 'pitstop backup' writes {CONTENTS} last.") from None
    except ValueError as error:
        raise SnapshotError(f"The backup in {folder} is damaged: {CONTENTS} cannot be read ({error}).") from None
    if not sealed or "format" not in contents:
        raise SnapshotError(f"The backup in {folder} is damaged: {CONTENTS} does not begin with its checksum.")
    if contents["format"] != FORMAT:
        raise SnapshotError(
            f"The backup in {folder} has format {contents['format']}; this release reads {FORMAT}. Use the release that wrote it."
        )
    return contents


def _put(source: Path, target: Path, file: dict[str, Any]) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        if copy_checked(source, target) != file["sha256"]:
            raise SnapshotError(f"The backup is damaged: {source} does not match its checksum.")
    except FileNotFoundError:
        raise SnapshotError(f"The backup is damaged: {source} is missing.") from None


def _check_original_ended(original: DataFolder) -> None:
    if is_served(original) or _alive(original) is not None:
        raise ConflictError(
            f"The server of {original.root}, of which the backup was taken, or a job of it still runs, and what that has written "
            "since then would be withdrawn: shut it down first (pitstop cluster shutdown), or leave all outputs as they are with "
            "--keep-outputs and give the jobs others."
        )


def _alive(data: DataFolder) -> RunHandle | None:
    """Return a process of this machine that runs a job of the data folder; None if there is none."""
    return next(filter(is_alive, handles_in(data.store)), None)
