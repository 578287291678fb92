"""The files of an Iceberg table that come next: the walk from offset to offset along the snapshots of its main branch.

A place is a snapshot and the number of its files that were read. In the snapshot with which a stream may begin these are all
files of the table as it was then, and later those that each snapshot added. An offset has the table's id beside it, by which a
table that was made anew is told from the one that was read.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pitstop.spark.sources.log import SourceLog

if TYPE_CHECKING:
    from pyiceberg.table import FileScanTask, Table
    from pyiceberg.table.snapshots import Snapshot

EARLIEST, LATEST, AT_SNAPSHOT, AT_TIME = "earliest", "latest", "version:", "time:"
NONE, ALL = -1, -1
"""The snapshot before the first one; and as a number of files, all of them."""


class UnreadableTableError(Exception):
    """The reason why a table cannot be read on: a clause that goes on ``the table ...``."""


@dataclass(frozen=True)
class Place:
    """A place in a table."""

    table: str = ""
    """The id of the table; empty: where the stream begins is not decided."""
    snapshot: int = NONE
    sequence: int = 0
    """The sequence number of that snapshot. It tells which one is next if the table no longer has this one."""
    file: int = ALL
    whole: bool = False
    """True if the files are all that the table had in that snapshot."""

    @classmethod
    def of(cls, offset: dict[str, Any]) -> Place:
        snapshot, sequence, file = int(offset["snapshot"]), int(offset["sequence"]), int(offset["file"])
        return cls(str(offset["table"]), snapshot, sequence, file, bool(offset.get("whole")))

    def offset(self) -> dict[str, Any]:
        place = {"snapshot": self.snapshot, "sequence": self.sequence, "file": self.file, "whole": self.whole}
        return {"table": self.table, **place}


UNDECIDED = Place()


@dataclass(frozen=True)
class Wishes:
    """The wishes of a source's user."""

    start: str = EARLIEST
    skips_rewrites: bool = False
    goes_on: bool = False
    """True if what is gone is left out."""


class TablePlan:
    """The walk through one table. Errors are UnreadableTableError."""

    def __init__(self, name: str, wishes: Wishes, log: SourceLog) -> None:
        self.behind = 0
        """The bytes that are there and that the last look has left."""
        self._name, self._wishes, self._log = name, wishes, log
        self._listed: tuple[tuple[str, int, bool], list[FileScanTask]] = (("", NONE, False), [])
        self._warnings: set[str] = set()

    def decide(self, table: Table) -> Place:
        """Return the place where a stream begins."""
        start, own, current = self._wishes.start, _id_of(table), table.metadata.current_snapshot()
        end = _after(own, current) if current is not None else _nowhere(table)
        if start == EARLIEST:
            return replace(end, file=0, whole=True) if current is not None else end
        if start == LATEST:
            return end
        branch = _branch(table)
        if start.startswith(AT_SNAPSHOT):
            first = int(start.removeprefix(AT_SNAPSHOT))
            chosen = next((snapshot for snapshot in branch if snapshot.snapshot_id == first), None)
            if chosen is None:
                raise UnreadableTableError(f"has no snapshot {first} in its main branch, with which the source starts")
        else:
            moment_ms = int(start.removeprefix(AT_TIME))
            chosen = next((snapshot for snapshot in branch if snapshot.timestamp_ms >= moment_ms), None)
        return _before(own, chosen) if chosen is not None else end

    def advance(self, table: Table, start: Place, most_files: int, most_bytes: int) -> Place:
        """Return the end of an epoch from a place that is decided."""
        if _id_of(table) != start.table:
            return self._beginning(table, start)
        place, files, size = start, 0, 0
        following = self._following(table, start)
        if following is None:
            return self._after_loss(table, start)
        try:
            for index in range(len(following) + 1):
                listed = self._files_at(table, place) if place.file != ALL else []
                while place.file != ALL and place.file < len(listed):
                    length = listed[place.file].file.file_size_in_bytes
                    if files and (files >= most_files or size + length > most_bytes):
                        self.behind = _bytes(listed[place.file :]) + sum(map(_bytes_of, following[index:]))
                        return place
                    files, size, place = files + 1, size + length, replace(place, file=place.file + 1)
                place = replace(place, file=ALL, whole=False)
                if index < len(following):
                    has_rows = self._has_rows(following[index])
                    place = replace(_after(place.table, following[index]), file=0 if has_rows else ALL)
        except UnreadableTableError:
            if place == start:
                raise
            return place  # what comes before it is read first
        self.behind = 0
        return place

    def files_between(self, table: Table, start: Place, end: Place) -> list[FileScanTask]:
        """Return the files of an epoch."""
        if not start.table or start.table != end.table:
            return []  # an epoch that decides where to begin
        if _id_of(table) != end.table:
            self._gone("was deleted and created again, and an epoch must be read again of the one before")
            return []
        following = self._following(table, start)
        if following is None:
            self._gone(f"no longer has the snapshots after {start.snapshot}, which an epoch must read")
            return []
        files = []
        if start.file != ALL:
            upto = end.file if (end.snapshot, end.whole) == (start.snapshot, start.whole) and end.file != ALL else None
            files += self._files_at(table, start)[start.file : upto]
        if end.snapshot == start.snapshot:
            return files
        for snapshot in following:
            is_last = snapshot.snapshot_id == end.snapshot
            if self._has_rows(snapshot):
                listed = self._files_at(table, _after(end.table, snapshot))
                files += listed[: end.file] if is_last and end.file != ALL else listed
            if is_last:
                return files
        self._gone(f"no longer has the snapshot {end.snapshot}, which an epoch must read")
        return files

    def _following(self, table: Table, place: Place) -> list[Snapshot] | None:
        """Return the snapshots of the main branch after a place's, in their order; None if some are gone."""
        branch = _branch(table)
        for index in range(len(branch) - 1, -1, -1):
            if branch[index].snapshot_id == place.snapshot:
                return branch[index + 1 :]
        if place.file != ALL:
            return None
        if not branch:
            return [] if place.snapshot == NONE else None
        parent, sequence = branch[0].parent_snapshot_id, branch[0].sequence_number or 0
        # Some engines take the parent from the snapshots that they leave: then the numbers tell, which count all snapshots.
        is_next = sequence == place.sequence + 1 or (parent if parent is not None or sequence else NONE) == place.snapshot
        return branch if is_next else None

    def _has_rows(self, snapshot: Snapshot) -> bool:
        """Return True if a snapshot adds rows and does nothing else. UnreadableTableError if it rewrites some."""
        from pyiceberg.table.snapshots import Operation

        operation = snapshot.summary.operation if snapshot.summary is not None else Operation.APPEND
        if operation is Operation.APPEND:
            return True
        if operation is Operation.REPLACE:  # compaction: no row is new
            return False
        clause = f"has a snapshot that removes or rewrites rows: {snapshot.snapshot_id}, {operation.value}"
        if not self._wishes.skips_rewrites:
            raise UnreadableTableError(f'{clause}. Skip such snapshots with on_rewrite="skip"')
        self._warn(f"{clause}. The source skips this snapshot")
        return False

    def _files_at(self, table: Table, place: Place) -> list[FileScanTask]:
        """Return all files of a place, in an order that never changes."""
        key = (place.table, place.snapshot, place.whole)
        if self._listed[0] != key:
            files = _all_files(table, place.snapshot) if place.whole else _added_files(table, place.snapshot)
            self._listed = (key, sorted(files, key=lambda task: task.file.file_path))
        return self._listed[1]

    def _beginning(self, table: Table, place: Place) -> Place:
        """Return the beginning of a table that took the place of the one that was read, if the user wants to go on."""
        clause = f"was deleted and created again: its id is {_id_of(table)}, but the source read {place.table} before"
        self._gone(clause, "The source reads it from its beginning")
        return replace(TablePlan(self._name, Wishes(), self._log).decide(table), table=_id_of(table))

    def _after_loss(self, table: Table, place: Place) -> Place:
        """Return the place from which the source goes on when snapshots that it has not read are gone."""
        branch = _branch(table)
        if branch and (branch[0].sequence_number or 0) > place.sequence:
            self._gone(f"no longer has the snapshots after {place.snapshot}, which were expired before the source had read them")
            return _before(place.table, branch[0])
        self._gone(f"was rolled back: the snapshot {place.snapshot}, which the source has read, is not in its main branch")
        return _after(place.table, branch[-1]) if branch else _nowhere(table)

    def _gone(self, clause: str, what_follows: str = "The source continues without them") -> None:
        """Tell what is gone; raise it unless the user wants to go on."""
        if not self._wishes.goes_on:
            raise UnreadableTableError(clause)
        self._warn(f"{clause}. {what_follows}")

    def _warn(self, clause: str) -> None:
        """Tell something of the table, once: an epoch is looked at several times."""
        if clause not in self._warnings:
            self._warnings.add(clause)
            self._log.warning(f"The table {self._name} {clause}.")


def _id_of(table: Table) -> str:
    return str(table.metadata.table_uuid)


def _nowhere(table: Table) -> Place:
    """Return the place in a table without rows; those of format 1 do not number their snapshots."""
    return Place(_id_of(table), NONE, getattr(table.metadata, "last_sequence_number", 0))


def _after(table: str, snapshot: Snapshot) -> Place:
    """Return the place behind a snapshot."""
    return Place(table, snapshot.snapshot_id, snapshot.sequence_number or 0)


def _before(table: str, snapshot: Snapshot) -> Place:
    """Return the place before a snapshot, all of which is read next."""
    parent = snapshot.parent_snapshot_id
    return Place(table, parent if parent is not None else NONE, max(0, (snapshot.sequence_number or 0) - 1))


def _branch(table: Table) -> list[Snapshot]:
    """Return the snapshots of the main branch that are there, oldest first."""
    by_id = {snapshot.snapshot_id: snapshot for snapshot in table.metadata.snapshots}
    branch, snapshot = [], table.metadata.current_snapshot()
    while snapshot is not None:
        branch.append(snapshot)
        snapshot = by_id.get(snapshot.parent_snapshot_id) if snapshot.parent_snapshot_id is not None else None
    return branch[::-1]


def _all_files(table: Table, snapshot_id: int) -> list[FileScanTask]:
    """Return all files of the table in a snapshot, with those that delete rows of them."""
    if table.metadata.snapshot_by_id(snapshot_id) is None:
        raise UnreadableTableError(f"no longer has the snapshot {snapshot_id}, of which the source has not read all files")
    return list(table.scan(snapshot_id=snapshot_id).plan_files())


def _added_files(table: Table, snapshot_id: int) -> list[FileScanTask]:
    """Return the files that a snapshot added."""
    from pyiceberg.manifest import ManifestContent
    from pyiceberg.table import FileScanTask

    snapshot = table.metadata.snapshot_by_id(snapshot_id)
    if snapshot is None:
        raise UnreadableTableError(f"no longer has the snapshot {snapshot_id}, of which the source has not read all files")
    own = [each for each in snapshot.manifests(table.io) if each.added_snapshot_id == snapshot_id]
    return [
        FileScanTask(entry.data_file)
        for manifest in own
        if manifest.content == ManifestContent.DATA
        for entry in manifest.fetch_manifest_entry(table.io, discard_deleted=True)
        if entry.snapshot_id == snapshot_id
    ]


def _bytes(files: list[FileScanTask]) -> int:
    return sum(task.file.file_size_in_bytes for task in files)


def _bytes_of(snapshot: Snapshot) -> int:
    """Return the bytes of the files that a snapshot says it added."""
    summary = snapshot.summary.additional_properties if snapshot.summary is not None else {}
    return int(summary.get("added-files-size", 0))
