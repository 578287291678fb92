"""Copies of the tables of hash joins, as files beside the state of a job.

``tables/STAGE/N/`` holds the rows of one reading; STAGE is a digest of the stage's name, N counts the readings.
``tables/in-use.json`` tells which of them epochs are joined with: an epoch that is done again gets the same.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from filecmp import cmp
from pathlib import Path
from typing import Any

from pitstop.snapshots.checkpoint import TABLES
from pitstop.snapshots.files import LOCAL_FILES, read_text, write_text

FACTS = "_pitstop.json"
"""The file of facts beside the rows of a copy. Spark skips names that begin so."""
IN_USE = "in-use.json"


@dataclass(frozen=True)
class TableCopy:
    """The rows of one reading of a table."""

    folder: Path

    @property
    def number(self) -> int:
        return int(self.folder.name)

    @property
    def facts(self) -> dict[str, Any]:
        """The facts that were noted of the reading: its schema, and the number of the table's files."""
        return dict(json.loads(read_text(LOCAL_FILES, self.folder / FACTS)))

    @property
    def read_at(self) -> float:
        """The time of the reading, in seconds since the epoch."""
        return (self.folder / FACTS).stat().st_mtime

    @property
    def url(self) -> str:
        # Not as_uri: Hadoop takes a quoted path as it is.
        return f"file:{self.folder.absolute()}"


class TableCopies:
    """The copies in one checkpoint folder, by the names of hash joins."""

    def __init__(self, checkpoint: Path) -> None:
        self._root = checkpoint / TABLES

    def of(self, stage: str) -> list[TableCopy]:
        """Return the copies of a stage's table, the oldest first."""
        folder = self._folder(stage)
        numbered = [TableCopy(folder / name) for name in LOCAL_FILES.names(folder) if name.isdigit()]
        return sorted(numbered, key=lambda copy: copy.number)

    def in_use(self) -> dict[str, int]:
        """Return stage -> the number of the copy with which epochs are joined."""
        try:
            return dict(json.loads(read_text(LOCAL_FILES, self._root / IN_USE)))
        except FileNotFoundError:
            return {}

    def use(self, numbers: Mapping[str, int]) -> None:
        """Note the copies with which epochs are joined from now on."""
        if numbers != self.in_use():
            write_text(LOCAL_FILES, self._root / IN_USE, json.dumps(dict(numbers)))

    def last(self, stage: str) -> TableCopy | None:
        """Return the copy with which epochs were joined last; else the newest; None if there is none."""
        copies, number = self.of(stage), self.in_use().get(stage)
        return next((copy for copy in copies if copy.number == number), copies[-1] if copies else None)

    def same(self, stage: str, one: int, other: int) -> bool:
        """Return True if two copies of a stage's table have the same files of rows, byte for byte."""
        ours, theirs = (sorted((self._folder(stage) / str(number)).glob("*.parquet")) for number in (one, other))
        return len(ours) == len(theirs) and all(cmp(*pair, shallow=False) for pair in zip(ours, theirs, strict=True))

    def confirm(self, stage: str) -> None:
        """Note that the copy with which epochs are joined is what was read just now."""
        last = self.last(stage)
        if last is not None:
            os.utime(last.folder / FACTS)

    def begin(self, stage: str) -> TableCopy:
        """Return a place for the rows of the next reading, which :meth:`publish` makes a copy. Remains of a crash are removed."""
        folder = self._folder(stage)
        for remains in folder.glob(".*"):
            shutil.rmtree(remains, ignore_errors=True)
        number = max((copy.number for copy in self.of(stage)), default=0) + 1
        return TableCopy(folder / f".{number}.{os.getpid()}")

    def publish(self, place: TableCopy, facts: dict[str, Any]) -> TableCopy:
        """Make the rows in a place a copy, whole or not at all, also if the machine loses its power."""
        for path in place.folder.rglob("*"):
            _to_disk(path)
        write_text(LOCAL_FILES, place.folder / FACTS, json.dumps(facts))
        _to_disk(place.folder / FACTS)
        return TableCopy(place.folder.rename(place.folder.with_name(place.folder.name.split(".")[1])))

    def remove(self, stage: str, but: int | None) -> None:
        """Remove the copies of a stage's table, all but one of them."""
        for copy in self.of(stage):
            if copy.number != but:
                shutil.rmtree(copy.folder, ignore_errors=True)

    def discard(self, place: TableCopy) -> None:
        """Remove what was written into a place."""
        shutil.rmtree(place.folder, ignore_errors=True)

    def _folder(self, stage: str) -> Path:
        # Names of stages may be longer than those of folders, and hold what these cannot.
        return self._root / hashlib.sha256(stage.encode()).hexdigest()[:16]


def _to_disk(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
