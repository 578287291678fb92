"""The log of a Delta table: its commits, each a file of actions, and the files that a version of the table has."""

from __future__ import annotations

import json
import time
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql.types import DataType, StructType

from pitstop.kit.lines import lines_of
from pitstop.outputs.table_folders import LOG_FOLDER, Signature, StoreRefusalError, TableFolder

if TYPE_CHECKING:
    from deltalake import DeltaTable

INSERT, DELETE = "insert", "delete"
FEED = "delta.enableChangeDataFeed"
"""The property of a table that keeps a change data feed."""
_MAPPING = "delta.columnMapping.mode"
_FEATURES = frozenset({"columnMapping", "deletionVectors", "timestampNtz", "v2Checkpoint", "vacuumProtocolCheck"})
"""Features of tables that a reader knows. Whether column mapping and deletion vectors are in use is looked for apart."""
_CACHED = 64
_SUFFIX = ".json"
_DIGITS = 20
_WHOLE_SECONDS = 10.0
"""The age of an empty commit from which on nobody is writing it any more."""
_COLUMNS = ("path", "size_bytes", "modification_time", "partition")


class UnreadableTableError(Exception):
    """A table that cannot be read: a clause that goes on ``the table ...``."""


class LostVersionError(UnreadableTableError):
    """A version of a table that its log no longer tells."""


@dataclass(frozen=True)
class DataFile:
    """A file of rows."""

    path: str
    size: int
    version: int
    """The version whose commit, or whose snapshot, it is read with."""
    time_ms: int | None
    """The time of that version, since 1970; None: the log does not have it any more."""
    partition: Mapping[str, Any] = field(default_factory=dict)
    """Column -> its value in all rows: typed, or the text that the log has."""
    change: str | None = INSERT
    """The kind of change that its rows are; None: each row says it."""


@dataclass(frozen=True)
class Facts:
    """The facts about a table at a version that are not its files."""

    id: str
    schema: StructType
    partition_by: tuple[str, ...]
    configuration: Mapping[str, str]

    @property
    def has_feed(self) -> bool:
        return self.configuration.get(FEED) == "true"

    def check(self, schema: StructType, changes: bool) -> None:
        """Raise UnreadableTableError unless rows of these columns can be read. ``changes``: as a change data feed."""
        if self.configuration.get(_MAPPING, "none") != "none":
            raise UnreadableTableError(
                f"gives its columns other names within files ({_MAPPING}), which this source cannot read: write a copy of it "
                "without column mapping"
            )
        if changes and not self.has_feed:
            raise UnreadableTableError(f"keeps no change data feed: set its property {FEED} to true, or leave out changes")
        for column in schema.fields:
            if column.name not in self.schema.names:
                raise UnreadableTableError(f"has no column '{column.name}'. It has: {', '.join(self.schema.names)}")
            own, declared = _text(self.schema[column.name].dataType), _text(column.dataType)
            if own != declared:
                raise UnreadableTableError(
                    f"has column '{column.name}' as {own}, but the schema of the source says {declared}: write {own} there"
                )
            if column.name in self.partition_by and own == "binary":
                raise UnreadableTableError(
                    f"is partitioned by '{column.name}', which is binary: leave this column out of the schema"
                )


def _text(kind: DataType) -> str:
    return kind.simpleString()


@dataclass(frozen=True)
class Commit:
    """A version's changes."""

    version: int
    operation: str
    time_ms: int
    added: tuple[DataFile, ...] = ()
    """The files with rows that are new."""
    removed: tuple[DataFile, ...] = ()
    """The files whose rows are gone, at least for a moment. Those that were compacted are not among them."""
    changes: tuple[DataFile, ...] = ()
    """The files with rows of the change data feed."""
    bare: frozenset[str] = frozenset()
    """The paths of removed files of which the commit does not say the values of their partitions."""
    marked: bool = False
    """True if a file has rows that a deletion vector marks as deleted."""
    facts: Facts | None = None
    """The facts that the version brings; None: they stay."""

    @property
    def feed(self) -> tuple[DataFile, ...]:
        """The files of the change data feed: its own, or if there are none those that came and went as a whole."""
        return self.changes or (*self.removed, *self.added)


class DeltaLog:
    """The log of the table in a folder. It remembers a few commits."""

    def __init__(self, folder: TableFolder) -> None:
        self.folder = folder
        self._commits: OrderedDict[int, Commit] = OrderedDict()

    @property
    def is_there(self) -> bool:
        """True if the table is there. False, too, where a disk does not answer; an OSError where a store does not."""
        with _refusals():
            return self.folder.has_log

    def check_there(self) -> None:
        """Raise an OSError if the log is away, with its disk perhaps: nothing is lost then."""
        with _refusals():
            self.folder.check_log()

    def signature(self, version: int) -> Signature | None:
        """Return what tells the file of a commit from another one of its name; None if it is not there."""
        with _refusals():
            return self.folder.signature(_file(version))

    def folder_signature(self) -> Signature | None:
        """Return what changes with each file of the log."""
        with _refusals():
            return self.folder.signature(LOG_FOLDER)

    def versions(self) -> list[int]:
        """Return the versions whose commits the log still has, in order."""
        with _refusals():
            names = self.folder.names(LOG_FOLDER)
        stems = [name.removesuffix(_SUFFIX) for name in names if name.endswith(_SUFFIX)]
        return sorted(int(stem) for stem in stems if len(stem) == _DIGITS and stem.isdecimal())

    def opened(self, version: int | None = None) -> tuple[int, Facts]:
        """Return a version of the table, None for the newest, and its facts. UnreadableTableError if it cannot be had."""
        table = self._table(version)
        if self._is_empty(table.version()):
            raise _no_whole_commit(table.version(), "it is empty")
        return table.version(), _facts_of(table)

    def snapshot(self, version: int) -> list[DataFile]:
        """Return the files of a version, those that were written first first. UnreadableTableError if it cannot be had."""
        from deltalake.exceptions import DeltaError

        table = self._table(version)
        if "deletionVectors" in (table.protocol().reader_features or ()):
            try:
                marked = pa.RecordBatchReader.from_stream(table.deletion_vectors()).read_all().num_rows
            except DeltaError as error:
                raise UnreadableTableError(f"has deletion vectors that cannot be read: {clause_of(error)}") from error
            if marked:
                raise marked_rows(version)
        actions = pa.table(table.get_add_actions())
        # The statistics of all columns are there, too, and may be long.
        rows = actions.select([name for name in _COLUMNS if name in actions.column_names]).to_pylist()
        rows.sort(key=lambda row: (row["modification_time"], row["path"]))
        time_ms = self.time_of(version)
        files = [(self._path(row["path"]), row["size_bytes"], row.get("partition") or {}) for row in rows]
        return [DataFile(path, size, version, time_ms, partition) for path, size, partition in files]

    def time_of(self, version: int) -> int | None:
        """Return the time of a version, in milliseconds since 1970; None if its commit is not there any more."""
        commit = self.commit(version)
        return commit.time_ms if commit is not None else None

    def commit(self, version: int) -> Commit | None:
        """Return a version's commit; None if it is not there, or if its file has just come and is empty."""
        commit = self._commits.get(version)
        if commit is None:
            try:
                with _refusals():
                    text, changed = self.folder.text(_file(version))
            except FileNotFoundError:
                return None
            if not text.strip():
                if abs(time.time() - changed) < _WHOLE_SECONDS:
                    return None
                raise _no_whole_commit(version, "it is empty")
            try:
                commit = self._parsed(version, text, round(changed * 1000))
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                raise _no_whole_commit(version, clause_of(error)) from error
            self._commits[version] = commit
            while len(self._commits) > _CACHED:
                self._commits.popitem(last=False)
        return commit

    def forget(self) -> None:
        """Forget all commits, for they are those of another table."""
        self._commits.clear()

    def _parsed(self, version: int, text: str, changed_ms: int) -> Commit:
        actions: dict[str, list[dict[str, Any]]] = {}
        for line in lines_of(text):
            if line.strip():
                for name, action in json.loads(line).items():
                    actions.setdefault(name, []).append(action)
        information = actions.get("commitInfo", [{}])[0]
        time_ms = int(information.get("inCommitTimestamp") or information.get("timestamp") or changed_ms)

        def files(name: str, change: str | None) -> tuple[DataFile, ...]:
            of_data = [each for each in actions.get(name, ()) if change is None or each.get("dataChange", True)]
            return tuple(
                DataFile(
                    self._path(each["path"]),
                    int(each.get("size") or 0),
                    version,
                    time_ms,
                    each.get("partitionValues") or {},
                    change,
                )
                for each in of_data
            )

        of_files = [each for name in ("add", "remove") for each in actions.get(name, ())]
        for protocol in actions.get("protocol", ()):
            _check_features(protocol.get("readerFeatures"))
        metadata = actions.get("metaData")
        return Commit(
            version,
            str(information.get("operation") or "a commit without a name"),
            time_ms,
            files("add", INSERT),
            files("remove", DELETE),
            files("cdc", None),
            frozenset(self._path(each["path"]) for each in actions.get("remove", ()) if each.get("partitionValues") is None),
            any(each.get("deletionVector") for each in of_files if each.get("dataChange", True)),
            _facts_in(metadata[0]) if metadata else None,
        )

    def _table(self, version: int | None) -> DeltaTable:
        from deltalake import DeltaTable
        from deltalake.exceptions import DeltaError

        try:
            table = DeltaTable(**self.folder.delta, version=version)
        except OSError as error:
            with _refusals():
                self.folder.judge(error)
            raise
        except DeltaError as error:
            self.check_there()
            which = "cannot be opened" if version is None else f"has no version {version}, or its log no longer lists its files"
            kind = UnreadableTableError if version is None else LostVersionError
            raise kind(f"{which} ({clause_of(error)})") from error
        _check_features(table.protocol().reader_features)
        return table

    def _is_empty(self, version: int) -> bool:
        with _refusals():
            return self.folder.is_empty(_file(version))

    def _path(self, path: str) -> str:
        """Return the path of a file, which the log has as a URL: below the folder of the table, or a whole one."""
        try:
            return self.folder.file(path)
        except ValueError as error:
            place = "on a disk of this machine" if self.folder.is_here else "in its bucket"
            raise UnreadableTableError(f"has the file {path}, which is not {place}") from error


def _no_whole_commit(version: int, why: str) -> UnreadableTableError:
    return UnreadableTableError(f"has no complete commit of version {version} in its log ({why})")


def marked_rows(version: int) -> UnreadableTableError:
    """Return the error about deletion vectors."""
    return UnreadableTableError(
        f"has rows in version {version} that deletion vectors mark as deleted, which this source cannot read: turn them off "
        "(delta.enableDeletionVectors) and purge the table (REORG TABLE ... APPLY (PURGE))"
    )


def _check_features(features: list[str] | None) -> None:
    unknown = sorted(set(features or ()) - _FEATURES)
    if unknown:
        raise UnreadableTableError(f"has the feature {unknown[0]}, which this source does not support")


def _facts_of(table: DeltaTable) -> Facts:
    metadata = table.metadata()
    schema = StructType.fromJson(json.loads(table.schema().to_json()))
    return Facts(str(metadata.id), schema, tuple(metadata.partition_columns), dict(metadata.configuration))


def _facts_in(action: dict[str, Any]) -> Facts:
    schema = StructType.fromJson(json.loads(action["schemaString"]))
    return Facts(action["id"], schema, tuple(action.get("partitionColumns") or ()), action.get("configuration") or {})


def _file(version: int) -> str:
    return f"{LOG_FOLDER}/{version:0{_DIGITS}}{_SUFFIX}"


@contextmanager
def _refusals() -> Iterator[None]:
    try:
        yield
    except StoreRefusalError as error:
        raise UnreadableTableError(str(error)) from error


def clause_of(error: Exception) -> str:
    """Return the first line of an error as a clause, without its full stop."""
    return str(error).strip().partition("\n")[0].rstrip(".")
