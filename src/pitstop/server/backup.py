"""Backups: copies of a data folder, taken while its jobs run, as it was at one moment.

At that moment nothing writes the store, so no map, journal or mark of an epoch changes. Each checkpoint is linked: its last
committed epoch, and the epoch planned after it. A run may have written the planned epoch into a map or into files already.
After a restore it writes that epoch again, and finds it there.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pitstop.errors import ConflictError, UsageError
from pitstop.kit.version import __version__
from pitstop.machine.private import private_folder
from pitstop.model.data_folder import DataFolder, checkpoints_in
from pitstop.model.job import Job
from pitstop.service.cluster_results import Backup
from pitstop.snapshots.checkpoint import Checkpoint
from pitstop.snapshots.export import link_checkpoint
from pitstop.snapshots.files import LOCAL_FILES
from pitstop.snapshots.sealed import seal
from pitstop.store.copying import copy_store
from pitstop.store.database import Database
from pitstop.store.registry import SqlRegistry

CONTENTS = "backup.json"
"""The list of a backup's files, each with its checksum. It is written last: a folder without it is no backup."""
FORMAT = 1


class Backups:
    """The service.server_api.BackupDesk of a server."""

    def __init__(self, database: Database, data: DataFolder) -> None:
        self._database, self._data, self._one = database, data, threading.Lock()

    def take(self, target: Path) -> Backup:
        _check_target(target, self._data)
        if not self._one.acquire(blocking=False):
            raise ConflictError("A backup is being taken already: wait until it is done.")
        try:
            return self._take(target)
        finally:
            shutil.rmtree(self._data.backup, ignore_errors=True)
            self._one.release()

    def _take(self, target: Path) -> Backup:
        data, linked = self._data, DataFolder(self._data.backup)
        shutil.rmtree(linked.root, ignore_errors=True)
        private_folder(linked.root)
        _link_code(data, linked)  # most of it before writes have to wait
        jobs: list[Job] = []

        def link_all() -> None:
            jobs.extend(SqlRegistry(self._database).jobs(include_ended=False))
            _link_code(data, linked)
            for folder in _finished(data.snapshots):
                _link_tree(folder, linked.snapshots / folder.name)
            for checkpoint in checkpoints_in(data):
                link_checkpoint(Checkpoint(checkpoint), linked.root / checkpoint.relative_to(data.root))
            for job in data.jobs.glob("*"):
                here, there = data.job(job.name), linked.job(job.name)
                for notes in ("withdrawable", "outputs"):
                    _link_tree(getattr(here, notes), getattr(there, notes))
                _link(here.log_levels, there.log_levels)
            for path in (data.token, data.session_key, data.log_levels, data.retention):
                _link(path, linked.root / path.relative_to(data.root))

        moment = time.time()
        copy_store(self._database, link_all, linked.store)
        private_folder(target)
        files = list(_copied(linked.root, target))
        contents = {"format": FORMAT, "pitstop": __version__, "created": moment, "place": str(data.root), "files": files}
        LOCAL_FILES.write(target / CONTENTS, seal(contents))
        size = sum(file["bytes"] for file in files)
        return Backup(str(target), moment, size, len(jobs), len(_finished(linked.snapshots)))


def _check_target(target: Path, data: DataFolder) -> None:
    if not target.is_absolute():
        raise UsageError(f"The folder of a backup is an absolute path of the server's machine, not '{target}'.")
    target = target.resolve()
    if target.is_relative_to(data.root) or data.root.is_relative_to(target):
        raise UsageError(f"The backup cannot go into {target}: the data folder {data.root} is there.")
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise UsageError(f"The backup cannot go into {target}: give a new folder, or an empty one.")


def _link_code(data: DataFolder, linked: DataFolder) -> None:
    for folder in (*_finished(data.artifacts), *_finished(data.dependencies)):
        _link_tree(folder, linked.root / folder.relative_to(data.root))


def _finished(folder: Path) -> list[Path]:
    """Return the folders in a folder, without those that are being made."""
    return [path for path in sorted(folder.glob("*")) if not path.name.startswith(".")]


def _link_tree(source: Path, target: Path) -> None:
    for folder, _, names in os.walk(source):
        for name in names:
            path = Path(folder) / name
            there = target / path.relative_to(source)
            if not there.exists():
                _link(path, there)


def _link(source: Path, target: Path) -> None:
    # Needed files stay as long as the store is not written; any other file may be removed at this moment.
    with contextlib.suppress(FileNotFoundError):
        LOCAL_FILES.copy(source.resolve() if source.is_symlink() else source, target)


def _copied(source: Path, target: Path) -> Iterator[dict[str, Any]]:
    """Copy all files to the disk, each with its permissions. Yield the entry of each for the list of contents."""
    for path in sorted(path for path in source.rglob("*") if path.is_file()):
        relative = path.relative_to(source)
        there = target / relative
        there.parent.mkdir(parents=True, exist_ok=True)
        yield {"path": str(relative), "bytes": path.stat().st_size, "sha256": copy_checked(path, there)}


def copy_checked(source: Path, target: Path) -> str:
    """Copy a file to the disk with its permissions, and return the SHA-256 of the bytes read, in hex."""
    digest = hashlib.sha256()
    mode = source.stat().st_mode & 0o777
    with source.open("rb") as content, open(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as copy:
        while block := content.read(1 << 20):
            digest.update(block)
            copy.write(block)
        copy.flush()
        os.fsync(copy.fileno())
    target.chmod(mode)
    return digest.hexdigest()
