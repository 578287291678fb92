"""The files of a Delta table that come next: the walk from offset to offset through its snapshot and its commits.

A place is a version and the number of its files that were read; in the snapshot, with which a stream may begin, these are all
files of the version, and later those of its commit. An offset has the table's id beside it, by which a table that was made anew
is told from the one that was read.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

from pyspark.sql.types import StructType

from pitstop.outputs.table_folders import TableFolder
from pitstop.spark.sources.delta_log import Commit, DataFile, DeltaLog, Facts, LostVersionError, UnreadableTableError, marked_rows
from pitstop.spark.sources.log import SourceLog

EARLIEST, LATEST, AT_VERSION, AT_TIME = "earliest", "latest", "version:", "time:"
_LOOK_SECONDS = 1.0
"""The seconds that one look for new commits may take once it has files: other sources of the query are waiting."""
_AHEAD = 1000
"""The most commits whose size one look reads to tell how much is left."""


class MadeAnewError(UnreadableTableError):
    """Another table took the place of the one that was read."""


@dataclass(frozen=True)
class Place:
    """A place in a table."""

    table: str = ""
    """The id of the table; empty: where the stream begins is not decided."""
    version: int = -1
    file: int = 0
    snapshot: bool = False

    @classmethod
    def of(cls, offset: dict[str, Any]) -> Place:
        return cls(str(offset["table"]), int(offset["version"]), int(offset["file"]), bool(offset.get("snapshot")))

    def offset(self) -> dict[str, Any]:
        return {"table": self.table, "version": self.version, "file": self.file, "snapshot": self.snapshot}


UNDECIDED = Place()


@dataclass(frozen=True)
class Wishes:
    """The wishes of a source's user."""

    start: str = EARLIEST
    changes: bool = False
    skips_rewrites: bool = False
    goes_on: bool = False
    """True if what is gone is left out."""


class TablePlan:
    """The walk through one table. Errors are UnreadableTableError, a clause that goes on ``the table ...``."""

    def __init__(self, folder: TableFolder, schema: StructType, wishes: Wishes, log: SourceLog) -> None:
        self.table = DeltaLog(folder)
        self.behind = 0
        """The bytes that are there and that the last look has left."""
        self._schema, self._wishes, self._log = schema, wishes, log
        self._verified: tuple[Any, ...] = ()
        self._files: tuple[tuple[str, int, bool], list[DataFile]] = (("", -1, False), [])
        self._sizes: dict[int, int] = {}
        self._idle: tuple[Any, ...] = ()
        """The place at which nothing was new, and the log as it was."""
        self._noted: set[str] = set()
        """The clauses that were told."""
        self._columns: set[str] | None = None
        """The names of the table's columns as of the last version that was looked at."""

    def decide(self) -> Place:
        """Return the place where a stream begins."""
        start = self._wishes.start
        newest, facts = self.table.opened()
        begin = Place(facts.id, newest, 0, True)
        if start == LATEST:
            begin = Place(facts.id, newest + 1)
        elif start.startswith(AT_VERSION):
            version = int(start.removeprefix(AT_VERSION))
            if version > newest + 1:
                raise UnreadableTableError(f"has only version {newest}, but the source starts at version {version}")
            begin = Place(facts.id, version)
        elif start.startswith(AT_TIME):
            begin = Place(facts.id, self._since(int(start.removeprefix(AT_TIME)), newest))
        if self._wishes.changes and not begin.snapshot and begin.version <= newest:
            _, facts = self.table.opened(begin.version)
        facts.check(self._schema, self._wishes.changes)
        return begin

    def _since(self, moment_ms: int, newest: int) -> int:
        """Return the first version of a time or later; the next one if there is none."""
        versions = self.table.versions()
        later = [version for version in versions if (self.table.time_of(version) or 0) >= moment_ms]
        if later and later[0] == versions[0] > 0:
            self._gone(f"no longer has versions 0 to {versions[0] - 1} in its log, which may belong to that time, too")
        return later[0] if later else newest + 1

    def advance(self, start: Place, most_files: int, most_bytes: int) -> Place:
        """Return the end of an epoch from a place that is decided."""
        try:
            self._verify(start)
            place = self._walked(start, most_files, most_bytes)
            key = self._key(place)
            self._verify(start)  # what was read meanwhile is of the same table
        except MadeAnewError as error:
            return self._beginning(error)
        self._verified = key
        self.behind = self._bytes_after(place)
        return place

    def _walked(self, start: Place, most_files: int, most_bytes: int) -> Place:
        deadline, place, files, size = time.monotonic() + _LOOK_SECONDS, start, 0, 0
        try:
            while True:
                listed = self._files_at(place)
                if listed is None:
                    after = self._after_gap(place)
                    if after is None:
                        return place
                    place = after
                    continue
                while place.file < len(listed):
                    file = listed[place.file]
                    if files and (files >= most_files or size + file.size > most_bytes):
                        return place
                    if not self.table.folder.is_file(file.path):
                        self._gone(
                            f"no longer has the file {file.path} of version {file.version}, which the source has not read yet"
                        )
                    files, size = files + 1, size + file.size
                    place = replace(place, file=place.file + 1)
                place = self._next(place)
                if time.monotonic() > deadline:
                    return place
        except UnreadableTableError:
            if place == start:
                raise
            return place  # what comes before it is read first

    def files_between(self, start: Place, end: Place) -> list[DataFile]:
        """Return the files of an epoch."""
        if not start.table or (end.snapshot and start.table != end.table):
            return []  # an epoch that decides where to begin
        self._verify(start)
        files: list[DataFile] = []
        place = start
        while (place.version, place.snapshot) != (end.version, end.snapshot):
            listed = self._files_at(place)
            if listed is None:
                after = self._after_gap(place)
                if after is None or after.version > end.version:
                    self._gone(f"no longer has version {place.version}, which an epoch must read again")
                    return files
                place = after
                continue
            files += listed[place.file :]
            place = self._next(place)
        if end.file:
            listed = self._files_at(end)
            if listed is None or len(listed) < end.file:
                self._gone(f"no longer has version {end.version}, which an epoch must read again")
                return files
            files += listed[place.file : end.file]
        key = self._key(end)
        self._verify(start)
        self._verified = key
        return files

    def _next(self, place: Place) -> Place:
        """Return the place before the first file of the next version, which may give the table another id."""
        commit = None if place.snapshot else self.table.commit(place.version)
        own = commit.facts.id if commit is not None and commit.facts is not None else place.table
        return Place(own, place.version + 1)

    def _after_gap(self, place: Place) -> Place | None:
        """Return the place of the next version that the log still has; None if there is nothing new."""
        signature = self.table.folder_signature()
        if (place, signature) == self._idle:
            return None
        later = [version for version in self.table.versions() if version >= place.version]
        if not later:
            self._idle = (place, signature)
            return None
        if later[0] == place.version:  # it has come just now, and may be empty yet
            return None
        if later[0] > place.version:
            versions = _versions(place.version, later[0] - 1)
            self._gone(f"no longer has {versions} in its log, which the source has not read yet")
        return Place(place.table, later[0])

    def _files_at(self, place: Place) -> list[DataFile] | None:
        """Return all files of a place's snapshot or commit; None if its commit is not there yet."""
        key = (place.table, place.version, place.snapshot)
        if self._files[0] != key:
            listed = self._of_snapshot(place.version) if place.snapshot else self._of_commit(place)
            if listed is None:
                return None
            self._files = (key, listed)
        return self._files[1]

    def _of_snapshot(self, version: int) -> list[DataFile]:
        """Return the files of a version; none if its log was cleaned and the user wants to go on."""
        try:
            return self.table.snapshot(version)
        except LostVersionError as error:
            if self.table.versions()[:1] in ([], [0]):  # nothing was cleaned
                raise
            self._gone(f"{error}, and the source has not read all of that version yet", "on_loss='continue' skips the rest")
            return []

    def _of_commit(self, place: Place) -> list[DataFile] | None:
        version = place.version
        commit = self.table.commit(version)
        if commit is None:
            return None
        if commit.facts is not None:
            self._note_columns(commit.facts, version)
        if self._wishes.changes:
            if commit.marked and not commit.changes:
                raise marked_rows(version)
            return self._feed(commit)
        if commit.removed:
            what = f"has commits that remove or rewrite rows: version {version}, {commit.operation}"
            if not self._wishes.skips_rewrites:
                raise UnreadableTableError(
                    f'{what}. Skip such commits with on_rewrite="skip", or read the change data feed with changes=True'
                )
            self._warn(f"{what}. The source skips this commit")
            return []
        if commit.marked:
            raise marked_rows(version)
        return list(commit.added)

    def _feed(self, commit: Commit) -> list[DataFile]:
        """Return the files of a commit's changes, all with the values of their partitions."""
        if commit.changes or not any(file.path in commit.bare for file in commit.removed):
            return list(commit.feed)
        clause = f"removes files in version {commit.version} without the values of their partitions (partitionValues)"
        try:
            partitions = {file.path: file.partition for file in self.table.snapshot(commit.version - 1)}
            removed = [replace(f, partition=partitions[f.path]) if f.path in commit.bare else f for f in commit.removed]
        except (UnreadableTableError, KeyError) as error:
            raise UnreadableTableError(f"{clause}, and the version before, which has them, cannot be read") from error
        return [*removed, *commit.added]

    def _note_columns(self, facts: Facts, version: int) -> None:
        facts.check(self._schema, self._wishes.changes)
        names = set(facts.schema.names)
        before = self._columns if self._columns is not None else set(self._schema.names)
        more = sorted(names - before - set(self._schema.names))
        if more:
            self._warn(f"has the column '{more[0]}' since version {version}. The source reads the columns of its schema")
        self._columns = names

    def _key(self, place: Place) -> tuple[Any, ...]:
        """Return what is the same as long as a place is one of the same table."""
        last = place.version if place.snapshot else place.version - 1
        return place.table, last, self.table.signature(last) or self.table.folder_signature()

    def _verify(self, place: Place) -> None:
        """Raise UnreadableTableError unless the table is the one in which a place is, and has come that far."""
        key = self._key(place)
        if key == self._verified:
            return
        last = key[1]
        newest, facts = self.table.opened()
        is_same = facts.id == place.table
        if not is_same and 0 <= last <= newest:  # replaced within its log, by a commit that comes later
            is_same = self.table.opened(last)[1].id == place.table
        if not is_same:
            raise MadeAnewError(f"was deleted and created again: its id is {facts.id}, but the source read {place.table} before")
        if newest < last:
            raise UnreadableTableError(
                f"has only version {newest}, but the source read version {last} before: the table was restored from an older copy"
            )
        self._verified = key

    def _beginning(self, error: MadeAnewError) -> Place:
        """Return the beginning of a table that took the place of the one that was read, if the user wants to go on."""
        if not self._wishes.goes_on:
            raise error
        self._log.warning(f"The table {self.table.folder} {error}. The source reads it from its beginning.")
        self.table.forget()
        self._files, self._sizes, self._columns, self._noted = (("", -1, False), []), {}, None, set()
        newest, facts = self.table.opened()
        facts.check(self._schema, self._wishes.changes)
        return Place(facts.id, newest, 0, True)

    def _gone(self, clause: str, way_out: str = "") -> None:
        """Tell what is gone; raise it unless the user wants to go on. An OSError if the whole table is away."""
        self.table.check_there()
        if not self._wishes.goes_on:
            raise UnreadableTableError(f"{clause}: {way_out}" if way_out else clause)
        self._warn(f"{clause}. The source continues without it")

    def _warn(self, clause: str) -> None:
        """Tell something of the table, once: an epoch is looked at several times."""
        if clause not in self._noted:
            self._noted.add(clause)
            self._log.warning(f"The table {self.table.folder} {clause}.")

    def _bytes_after(self, place: Place) -> int:
        """Return the bytes of rows that are there after a place, as far as this and earlier looks have read the log."""
        total, looks, version = 0, 0, place.version
        if self._files[0] == (place.table, place.version, place.snapshot):
            total, version = sum(file.size for file in self._files[1][place.file :]), version + 1
        while looks < _AHEAD:
            if version not in self._sizes:
                looks += 1
                try:
                    commit = self.table.commit(version)
                except UnreadableTableError:
                    break
                if commit is None:
                    break
                rows = commit.feed if self._wishes.changes else () if commit.removed else commit.added
                self._sizes[version] = sum(file.size for file in rows)
            total += self._sizes[version]
            version += 1
        for old in [each for each in self._sizes if each < place.version]:
            del self._sizes[old]
        return total


def _versions(first: int, last: int) -> str:
    """Return versions in words."""
    return f"version {first}" if first == last else f"versions {first} to {last}"
