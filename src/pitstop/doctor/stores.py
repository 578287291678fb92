"""The files of state stores by version, and the ones among them that a restart reads."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum

from pitstop.doctor.files import FileFacts, Tree
from pitstop.doctor.numbers import LARGEST, missing_between

DEFAULT = "default"
"""The name of the only store of most operators."""
TABLES, ARCHIVED_LOGS = "SSTs", "logs"
_NAME = re.compile(r"([0-9]{1,19})(?:_([^.]+))?\.(delta|snapshot|changelog|zip)")
_METADATA = "_metadata"


class Provider(StrEnum):
    """Forms in which a store keeps its state."""

    HDFS = "HDFS-backed"
    ROCKSDB = "RocksDB"


_BASES = {"snapshot": Provider.HDFS, "delta": Provider.HDFS, "zip": Provider.ROCKSDB, "changelog": Provider.ROCKSDB}

IdOf = Callable[[int], str | None]
"""The id of a store's state by version; None: files bear no id (checkpoint format 1), or nobody knows it."""


@dataclass
class Store:
    """One store of one partition of an operator."""

    operator: int
    partition: int
    name: str
    folder: str
    bases: dict[int, dict[str, str]] = field(default_factory=dict)
    """Version -> id (empty in format 1) -> name of a file that holds the whole state: a snapshot."""
    changes: dict[int, dict[str, str]] = field(default_factory=dict)
    """Version -> id -> name of a file with the changes of one epoch: a delta or changelog."""
    sizes: dict[str, int] = field(default_factory=dict)
    tables: dict[str, int] = field(default_factory=dict)
    """Name below ``SSTs`` -> bytes."""
    logs: dict[str, int] = field(default_factory=dict)
    temporaries: list[str] = field(default_factory=list)
    provider: Provider | None = None

    @property
    def bytes(self) -> int:
        """All bytes of state, of older versions too; no checksums."""
        return sum(self.sizes.values()) + sum(self.tables.values()) + sum(self.logs.values())

    @property
    def versions(self) -> set[int]:
        return {*self.bases, *self.changes}

    def path(self, name: str) -> str:
        """Return the name of a file below the checkpoint."""
        return f"{self.folder}/{name}"


@dataclass(frozen=True)
class Chain:
    """The files from which a restart builds the state of one version: a snapshot and the changes since, or all changes."""

    version: int
    base: str | None
    """The file with the whole state of an earlier version; None: it begins empty."""
    base_version: int
    changes: tuple[str, ...]
    missing: tuple[str, ...]
    """Names of files that the chain lacks, a hundred at most."""
    missing_count: int = 0


def stores_of(tree: Tree, operator: int) -> Iterator[Store]:
    """Yield the stores of an operator's partitions."""
    for partition in tree.numbered_folders(f"state/{operator}"):
        folder = f"state/{operator}/{partition}"
        inner = tree.children.get(folder, set()) - {TABLES, ARCHIVED_LOGS, _METADATA}
        if any(_NAME.fullmatch(name) for name in tree.names(folder)) or not inner:
            yield _store(tree, operator, partition, DEFAULT, folder)
        for name in sorted(inner):
            if not name.startswith((".", "_")):
                yield _store(tree, operator, partition, name, f"{folder}/{name}")


def _store(tree: Tree, operator: int, partition: int, name: str, folder: str) -> Store:
    store = Store(operator, partition, name, folder)
    for file, facts in tree.names(folder).items():
        if (match := _NAME.fullmatch(file)) is not None and int(match[1]) <= LARGEST:
            version, identifier, kind = int(match[1]), match[2] or "", match[3]
            by_version = store.bases if kind in ("snapshot", "zip") else store.changes
            by_version.setdefault(version, {})[identifier] = file
            store.sizes[file] = facts.size
            store.provider = _BASES[kind]
        elif is_temporary(file):
            store.temporaries.append(f"{folder}/{file}")
    store.tables = _sizes(tree.names(f"{folder}/{TABLES}"))
    store.logs = _sizes(tree.names(f"{folder}/{ARCHIVED_LOGS}"))
    return store


def _sizes(files: dict[str, FileFacts]) -> dict[str, int]:
    return {name: facts.size for name, facts in files.items() if not name.startswith(".")}


def is_temporary(name: str) -> bool:
    """Return True for a file that Spark writes first, under a name of its own, and renames once it is whole."""
    return name.endswith((".tmp", ".tmp.crc")) or name.startswith("temp-")


def chain(store: Store, version: int, id_of: IdOf, below: int | None = None) -> Chain:
    """Return the files from which Spark builds the state of ``version``, on a snapshot older than ``below``, if given."""
    highest = version if below is None else below - 1
    bases = {number: file for number in store.bases if number <= highest and (file := _file(store.bases, number, id_of))}
    base = max(bases, default=0)
    numbers = sorted(number for number in store.changes if base < number <= version)
    changes = {number: file for number in numbers if (file := _file(store.changes, number, id_of)) is not None}
    count, missing = missing_between(changes, base + 1, version)
    if missing and store.provider is Provider.ROCKSDB and not any(name.endswith(".changelog") for name in store.sizes):
        count, missing = 1, [version]
    names = tuple(_expected(store, number, id_of(number)) for number in missing)
    return Chain(version, bases.get(base), base, tuple(changes.values()), names, count)


def _file(files: dict[int, dict[str, str]], version: int, id_of: IdOf) -> str | None:
    by_id = files.get(version)
    if not by_id:
        return None
    identifier = id_of(version)
    if identifier is not None and identifier in by_id:
        return by_id[identifier]
    if "" in by_id:
        return by_id[""]
    # Epochs whose commit is forgotten: nobody but the changelog itself knows the id.
    return next(iter(by_id.values())) if identifier is None and len(by_id) == 1 else None


def _expected(store: Store, number: int, identifier: str | None) -> str:
    suffix = f"_{identifier}" if identifier else ""
    if store.provider is Provider.HDFS:
        return f"{number}.delta"
    has_changelogs = any(name.endswith(".changelog") for name in store.sizes)
    return f"{number}{suffix}.changelog" if has_changelogs else f"{number}{suffix}.zip"
