"""The files that an epoch leaves in the folder of each store of state. No run can go on from an epoch that lacks one of them.

A store writes a file of version ``epoch + 1`` as its task of the epoch ends: ``.delta`` (in memory), ``.changelog`` or ``.zip``
(RocksDB). Operators name their stores, and the number of partitions of each, in ``state/<operator>/_metadata``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pitstop.snapshots.checkpoint import Checkpoint
from pitstop.snapshots.files import Files, read_text

_DEFAULT = "default"
_VERSION = re.compile(r"(\d+)(?:_[^.]*)?\.(?:delta|snapshot|changelog|zip)")

_Written = tuple[Path, str, float]
"""The folder, name and time of a file: one that is written again is another one."""


class StateFiles:
    """A search of a checkpoint for the state of its epochs, by names and ages: in as many folders as there are stores."""

    def __init__(self, checkpoint: Checkpoint, operators: int) -> None:
        """Create it; ``operators`` is the number of the query's operators with state."""
        self._checkpoint, self._operators = checkpoint, operators
        self._folders: tuple[Path, ...] | None = None
        self._first: int | None = None
        self._leftovers: frozenset[_Written] = frozenset()
        """Files of state that the first epoch has found."""

    def begins(self, epoch: int) -> None:
        """Call this before the rows of an epoch are read: state of it that an earlier run has left does not count.

        Only the first epoch of a query can have been begun before. Spark commits no epoch that this query has not computed.
        """
        if self._first is None:
            self._first = epoch
            folders = (folder for number in range(self._operators) for folder in self._store_folders(number))
            self._leftovers = frozenset(path for folder in folders for path in self._written(folder, epoch + 1))

    def missing(self, epoch: int) -> tuple[Path, ...]:
        """Return the folders, below the checkpoint, that lack the state of an epoch, or have none written since it began."""
        if self._folders is None:
            by_operator = {number: tuple(self._store_folders(number)) for number in range(self._operators)}
            unnamed = tuple(Path("state", str(number)) for number, folders in by_operator.items() if not folders)
            if unnamed:
                return unnamed
            self._folders = tuple(folder for folders in by_operator.values() for folder in folders)
        if epoch == self._first and self._leftovers:
            return tuple(folder for folder in self._folders if self._leftovers.issuperset(self._written(folder, epoch + 1)))
        return tuple(folder for folder in self._folders if not any(self._names(folder, epoch + 1)))

    def _store_folders(self, operator: int) -> Iterator[Path]:
        return _store_folders(self._checkpoint.files, self._checkpoint.path, operator)

    def _written(self, folder: Path, version: int) -> Iterator[_Written]:
        """Yield the files of a version in a store's folder."""
        for name in self._names(folder, version):
            facts = self._checkpoint.files.facts(self._checkpoint.path / folder / name)
            yield folder, name, facts.modified if facts is not None else 0.0

    def _names(self, folder: Path, version: int) -> Iterator[str]:
        return (name for name in self._checkpoint.files.names(self._checkpoint.path / folder) if _is_version(name, version))


def _store_folders(files: Files, path: Path, operator: int) -> Iterator[Path]:
    """Yield the folders of an operator's stores, one for each partition; none before its first epoch."""
    for store in _stores(files, path / "state" / str(operator) / "_metadata"):
        for partition in range(int(store["numPartitions"])):
            folder = Path("state", str(operator), str(partition))
            yield folder if store["storeName"] == _DEFAULT else folder / store["storeName"]


def _stores(files: Files, metadata: Path) -> list[dict[str, Any]]:
    versions = [int(name) for name in files.names(metadata / "v2") if name.isdigit()]
    path = metadata / "v2" / str(max(versions)) if versions else metadata / "metadata"
    try:
        return list(json.loads(read_text(files, path).split("\n", 1)[1])["stateStoreInfo"])
    except FileNotFoundError:
        return []


def _is_version(name: str, version: int) -> bool:
    match = _VERSION.fullmatch(name)
    return match is not None and int(match.group(1)) == version
