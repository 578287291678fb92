"""The files that an epoch leaves in the folder of each store of state: an epoch without one of them cannot be gone on with.

A store writes a file of version ``epoch + 1`` as its task of the epoch ends: ``.delta`` (in memory), ``.changelog`` or ``.zip``
(RocksDB). Operators name their stores, and how many partitions each has, in ``state/<operator>/_metadata``.
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


class StateFiles:
    """Looks in a checkpoint for the state of its epochs, by names only: as many folders as there are stores."""

    def __init__(self, checkpoint: Checkpoint, operators: int) -> None:
        """``operators``: how many operators with state the query has."""
        self._checkpoint, self._operators = checkpoint, operators
        self._folders: tuple[Path, ...] | None = None

    def missing(self, epoch: int) -> tuple[Path, ...]:
        """Return the folders, below the checkpoint, in which the state of an epoch is not."""
        files, path = self._checkpoint.files, self._checkpoint.path
        if self._folders is None:
            named = {number: tuple(_store_folders(files, path, number)) for number in range(self._operators)}
            unnamed = tuple(Path("state", str(number)) for number, folders in named.items() if not folders)
            if unnamed:
                return unnamed
            self._folders = tuple(folder for folders in named.values() for folder in folders)
        return tuple(folder for folder in self._folders if not _has_version(files.names(path / folder), epoch + 1))


def _store_folders(files: Files, path: Path, operator: int) -> Iterator[Path]:
    """The folders of an operator's stores, one for each partition; none before its first epoch."""
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


def _has_version(names: list[str], version: int) -> bool:
    matches = (_VERSION.fullmatch(name) for name in names)
    return any(match is not None and int(match.group(1)) == version for match in matches)
