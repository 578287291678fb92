"""What the jobs have written: which events have come through, and how all of it differs from what must be there."""

from __future__ import annotations

import json
import os
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.chaos.events import LAST_KEY
from tests.chaos.reference import COLUMNS, MAPS, WATCHED, Row, Rows, expected, in_buckets

TELLING = {"counts": ("rolled", ("seq",)), "spans": ("distinct", ("seq",)), "pairs": ("joined", ("seq", "other"))}
"""Of each job, the folder that gets a row soon after an event, and the columns that say which events have come through."""


class Through:
    """How far a job's committed rows reach. A file is there once its epoch's files are committed; each is read once."""

    def __init__(self, out: Path, job: str) -> None:
        name, self._columns = TELLING[job]
        self._folder, self._seen = out / name, set[str]()
        self._newest = dict.fromkeys(self._columns, -1)

    def has(self, seq: int) -> bool:
        """True once the job has written something that came of events after this one, of each of its feeds."""
        names = {name for name in _names(self._folder) if name.endswith(".json")}
        for name in names - self._seen:
            for row in _lines(self._folder / name):
                self._newest |= {column: max(self._newest[column], row[column]) for column in self._columns}
        self._seen |= names
        return min(self._newest.values()) > seq


@dataclass(frozen=True)
class Difference:
    """Of one folder, map, topic or table."""

    name: str
    rows: int
    lost: int
    doubled: int
    """Rows that should not be there, or not so often."""
    example: str = ""

    def __str__(self) -> str:
        return f"{self.name}: {self.rows:,} rows, {self.lost} lost, {self.doubled} doubled{self.example}"


def differences(out: Path, maps: dict[str, dict[str, Any]], count: int, total: int) -> list[Difference]:
    """One for each folder and map. ``count``: events before those that close all windows; ``total``: with them."""
    rows = expected(count)
    folders = [difference(name, _rows(out / name, columns, count), rows[name]) for name, columns in COLUMNS.items()]
    entries: Rows = Counter(dict.fromkeys(in_buckets(total).items(), 1))
    watched = _rows(out / "watched", WATCHED, count)
    folders.append(difference("watched", watched, rows["rolled"] & watched if watched else rows["rolled"]))
    return [*folders, *(difference(name, Counter(maps[name].items()), entries) for name in MAPS)]


def difference(name: str, got: Rows, wanted: Rows) -> Difference:
    """Compare the rows of a folder, a topic or a table with those that must be there."""
    lost, doubled = wanted - got, got - wanted
    examples = [f"; {what}: {min(rows, key=repr)}" for rows, what in ((lost, "lost"), (doubled, "doubled")) if rows]
    return Difference(name, got.total(), lost.total(), doubled.total(), "".join(examples))


def _rows(folder: Path, columns: tuple[str, ...], count: int) -> Rows:
    rows: Rows = Counter()
    for path in folder.glob("*.json"):
        for found in _lines(path):
            if found.get("key") != LAST_KEY and found.get("seq", 0) < count:
                row: Row = tuple(found.get(column) for column in columns)
                rows[row] += 1
    return rows


def _names(folder: Path) -> list[str]:
    return os.listdir(folder) if folder.exists() else []


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]
