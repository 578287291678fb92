"""Many jobs at once, for callers that ask all the time. Rows that have not changed are not turned into values again.

The statements go to the driver. SQLite and PostgreSQL both understand them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, Generic, TypeVar

from pitstop.model.job import Job, JobState, Progress
from pitstop.store.dialects.ports import Cursor
from pitstop.store.records import job_of, progress_of, readable, source_of

MOST_KEPT = 10_000
"""The number of values kept of each kind."""
_AT_ONCE = 500
_ROWS = "SELECT jobs.id, jobs.body, job_progress.body FROM jobs LEFT JOIN job_progress ON job_progress.job_id = jobs.id"
_NEWEST_FIRST = "ORDER BY submission_time DESC"

T = TypeVar("T")


@dataclass(frozen=True)
class _Row:
    """A row as records read it."""

    id: str
    body: Any

    @property
    def job_id(self) -> str:
        return self.id


class Overview:
    """Jobs with their progress, from one query."""

    def __init__(self) -> None:
        self._jobs: _Kept[Job] = _Kept(job_of)
        self._progress: _Kept[Progress] = _Kept(progress_of)
        self._none = Progress()

    def read(self, cursor: Cursor, include_ended: bool, named: str | None) -> list[tuple[Job, Progress]]:
        """Read jobs and progress as control.ports.registry.Registry.overview."""
        if named is not None:
            order = "ORDER BY jobs.id = ? DESC, active DESC, submission_time DESC"
            rows = cursor.execute(f"{_ROWS} WHERE jobs.id = ? OR name = ? {order}", (named, named, named))
        else:
            rows = cursor.execute(f"{_ROWS} {_which(include_ended)} {_NEWEST_FIRST}")
        return readable(self._pair, rows)

    def jobs(self, cursor: Cursor, include_ended: bool) -> list[Job]:
        """Read jobs as control.ports.registry.Registry.jobs."""
        rows = cursor.execute(f"SELECT id, body FROM jobs {_which(include_ended)} {_NEWEST_FIRST}")
        return readable(lambda row: self._jobs.of(*row), rows)

    def read_first(self, cursor: Cursor, names: Collection[str]) -> dict[str, tuple[Job, Progress]]:
        """Read jobs and progress as control.ports.registry.Registry.overview_of."""
        # By id first, since that has an index: by name the whole table is read.
        by_name = {job.id: (job, progress) for job, progress in self._among(cursor, "jobs.id", names)}
        for job, progress in self._among(cursor, "name", [name for name in names if name not in by_name]):
            by_name.setdefault(job.name or "", (job, progress))
        return by_name

    def _among(self, cursor: Cursor, column: str, values: Collection[str]) -> Iterator[tuple[Job, Progress]]:
        for some in _portions(values):
            marks = ",".join("?" * len(some))
            order = "ORDER BY active DESC, submission_time DESC"
            yield from readable(self._pair, cursor.execute(f"{_ROWS} WHERE {column} IN ({marks}) {order}", some))

    def _pair(self, row: tuple[str, str, str | None]) -> tuple[Job, Progress]:
        job_id, body, progress = row
        return self._jobs.of(job_id, body), self._none if progress is None else self._progress.of(job_id, progress)


def _which(include_ended: bool) -> str:
    return "" if include_ended else "WHERE active"


class _Kept(Generic[T]):
    """The value of each row as it was last read."""

    def __init__(self, read: Callable[[Any], T]) -> None:
        self._read = read
        self._values: dict[str, tuple[str, T]] = {}

    def of(self, key: str, text: str) -> T:
        entry = self._values.get(key)
        if entry is None or entry[0] != text:
            if len(self._values) > MOST_KEPT:
                self._values.clear()
            entry = self._values[key] = text, self._read(_Row(key, json.loads(text)))
        return entry[1]


def states_of(cursor: Cursor, job_ids: Collection[str], state: str) -> dict[str, JobState]:
    """Return states as control.ports.registry.Registry.states; ``state`` is the SQL for it.

    States that this release does not know are left out.
    """
    states = {word.value: word for word in JobState}
    by_job: dict[str, JobState] = {}
    for some in _portions(job_ids):
        marks = ",".join("?" * len(some))
        rows = cursor.execute(f"SELECT id, {state} FROM jobs WHERE id IN ({marks})", some)
        by_job |= {job_id: states[word] for job_id, word in rows if word in states}
    return by_job


def version_artifacts(cursor: Cursor, source: str) -> list[tuple[str, int, str]]:
    """Return artifacts as control.ports.registry.Registry.version_artifacts; ``source`` is the SQL for it.

    No more of a version is read.
    """
    rows = cursor.execute(f"SELECT job_id, number, {source} FROM job_versions ORDER BY job_id, number DESC")
    return readable(lambda row: (row[0], row[1], source_of(*row).artifact), rows)


def newest_events(cursor: Cursor, job_ids: Collection[str]) -> dict[str, int]:
    """Return numbers of events as control.ports.registry.Registry.newest_events."""
    by_job: dict[str, int] = {}
    for some in _portions(job_ids):
        marks = ",".join("?" * len(some))
        # One look into the index for each job, however many events it has.
        newest = "(SELECT MAX(sequence) FROM job_events WHERE job_id = jobs.id)"
        rows = cursor.execute(f"SELECT id, {newest} FROM jobs WHERE id IN ({marks})", some)
        by_job |= {job_id: number or 0 for job_id, number in rows}
    return by_job


def open_among(cursor: Cursor, operations: Collection[int], open_states: Collection[str]) -> set[int]:
    """Return open operations as control.ports.registry.Registry.unanswered."""
    numbers: set[int] = set()
    states = ",".join("?" * len(open_states))
    for some in _portions(operations):
        marks = ",".join("?" * len(some))
        sql = f"SELECT id FROM operations WHERE id IN ({marks}) AND state IN ({states})"
        numbers |= {number for (number,) in cursor.execute(sql, (*some, *open_states))}
    return numbers


def _portions(values: Iterable[T]) -> Iterator[list[T]]:
    rest = iter(values)
    while some := list(islice(rest, _AT_ONCE)):
        yield some
