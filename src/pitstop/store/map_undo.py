"""The old values of map entries that the new version of an update has written, kept as long as the job may go back."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Set
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from pitstop.store.dialects.ports import Cursor

BATCH = 1000
"""The number of entries that one transaction puts back, or forgets: writers of other maps wait no longer than for that."""

_LOOKUP = 500
_UNTOUCHED = "COALESCE(e.version, 0) = COALESCE(u.left_version, 0) AND COALESCE(e.updated, 0) = COALESCE(u.left_updated, 0)"
"""The condition that an entry is as the version has left it. A missing entry counts as version 0."""
_CHANGED = (
    "NOT (COALESCE(u.version, 0) = COALESCE(u.left_version, 0) AND COALESCE(u.updated, 0) = COALESCE(u.left_updated, 0) "
    "AND COALESCE(u.value, '') = COALESCE(e.value, ''))"
)
"""The condition that the version has changed an entry: what it wrote was not older than the entry."""
_WITH_ENTRY = "map_undo u LEFT JOIN map_entries e ON e.map_id = u.map_id AND e.key = u.key"


@dataclass(frozen=True)
class OldEntry:
    """An entry as it was. Without a value there was none."""

    key: str
    value: str | None
    created: float | None
    updated: float | None
    expires: float | None
    version: int | None
    ordering: str | None

    @property
    def row(self) -> tuple[Any, ...]:
        return (self.key, self.value, self.created, self.updated, self.expires, self.version, self.ordering)

    def removed(self) -> OldEntry:
        """Return it as an entry that was not there, because its time has run out since."""
        return dataclasses.replace(self, value=None)


@contextmanager
def keeping_old(cursor: Cursor, map_id: int, operation: int | None, keys: Set[str]) -> Iterator[None]:
    """Keep the old values of these entries before they are changed within it; nothing is kept without an operation."""
    if operation is None:
        yield
        return
    ordered_keys = sorted(keys)
    chunks = [ordered_keys[start : start + _LOOKUP] for start in range(0, len(ordered_keys), _LOOKUP)]
    for some in chunks:
        _keep(cursor, map_id, operation, some)
    yield
    for some in chunks:
        _note_left(cursor, map_id, operation, some)


def _keep(cursor: Cursor, map_id: int, operation: int, keys: list[str]) -> None:
    marks = ",".join("?" * len(keys))
    # An entry goes back to the value that somebody else has written after the version.
    cursor.execute(
        "DELETE FROM map_undo WHERE operation = ? AND map_id = ? AND key IN "
        f"(SELECT u.key FROM {_WITH_ENTRY} WHERE u.operation = ? AND u.map_id = ? AND u.key IN ({marks}) AND NOT ({_UNTOUCHED}))",
        (operation, map_id, operation, map_id, *keys),
    )
    entries, arguments = cursor.keyed("map_entries", map_id, keys)
    cursor.execute(
        "INSERT INTO map_undo (operation, map_id, key, value, created, updated, expires, version, ordering) "
        f"SELECT {operation:d}, map_id, key, value, created, updated, expires, version, ordering FROM {entries} "
        "ON CONFLICT (operation, map_id, key) DO NOTHING",
        arguments,
    )
    cursor.executemany(
        f"INSERT INTO map_undo (operation, map_id, key) VALUES ({operation:d}, {map_id:d}, ?) "
        "ON CONFLICT (operation, map_id, key) DO NOTHING",
        [(key,) for key in keys],
    )


def _note_left(cursor: Cursor, map_id: int, operation: int, keys: list[str]) -> None:
    marks = ",".join("?" * len(keys))
    now = "(SELECT e.{} FROM map_entries e WHERE e.map_id = map_undo.map_id AND e.key = map_undo.key)"
    cursor.execute(
        f"UPDATE map_undo SET left_version = {now.format('version')}, left_updated = {now.format('updated')} "
        f"WHERE operation = ? AND map_id = ? AND key IN ({marks})",
        (operation, map_id, *keys),
    )


def take_old(cursor: Cursor, operation: int) -> tuple[str, list[OldEntry]] | None:
    """Take some of the old values of one map that an update's version has changed, which are then kept no longer.

    Returns the map's name and the values to put back; None if nothing is left.
    """
    first = cursor.execute("SELECT MIN(map_id) FROM map_undo WHERE operation = ?", (operation,)).fetchone()[0]
    if first is None:
        return None
    # The map is held: nobody writes it between this look and the putting back.
    names = cursor.execute(f"SELECT name FROM maps WHERE id = ?{cursor.for_update}", (first,)).fetchone()
    if names is None:
        return take_old(cursor, operation)  # the map was dropped meanwhile, and this with it
    (name,) = names
    rows = cursor.execute(
        f"SELECT u.key, u.value, u.created, u.updated, u.expires, u.version, u.ordering, {_UNTOUCHED} AND {_CHANGED} "
        f"FROM {_WITH_ENTRY} "
        "WHERE u.operation = ? AND u.map_id = ? ORDER BY u.key LIMIT ?",
        (operation, first, BATCH),
    ).fetchall()
    cursor.execute(
        "DELETE FROM map_undo WHERE operation = ? AND map_id = ? AND key <= ?",
        (operation, first, rows[-1][0]),
    )
    return name, [OldEntry(*row[:-1]) for row in rows if row[-1]]


def forget_some(cursor: Cursor) -> bool:
    """Drop old values of an update to which no job may go back; return True if there may be more."""
    row = cursor.execute(
        "SELECT operation, map_id, key FROM map_undo WHERE operation NOT IN "
        "(SELECT withdrawable FROM jobs WHERE withdrawable IS NOT NULL) LIMIT 1"
    ).fetchone()
    if row is None:
        return False
    operation, map_id, _ = row
    last = cursor.execute(
        "SELECT MAX(key) FROM (SELECT key FROM map_undo WHERE operation = ? AND map_id = ? ORDER BY key LIMIT ?) batch",
        (operation, map_id, BATCH),
    ).fetchone()[0]
    cursor.execute("DELETE FROM map_undo WHERE operation = ? AND map_id = ? AND key <= ?", (operation, map_id, last))
    return True
