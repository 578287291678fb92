"""Rows of maps and journals, inside a transaction of the caller.

The statements go to the driver, because a sink writes a hundred thousand rows a second here. SQLite and PostgreSQL both
understand them.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from pitstop.errors import FencedError
from pitstop.kit.ids import check_name
from pitstop.maps.journal import Event, Stored, Update, apply_changes, change_of, expirations, removals
from pitstop.maps.model import Entry, EventKind, JournalBounds, JournalEvent, MapConfig, MapOverview
from pitstop.maps.ports import EpochId, Fence
from pitstop.store.dialects.ports import Cursor
from pitstop.store.map_undo import OldEntry, keeping_old

PURGE_BATCH = 1000
"""The number of expired entries removed by one write, so that no put pays for a whole map that expires at once."""

_LOOKUP = 500
_LIVE = "(expires IS NULL OR expires > ?)"
_KINDS = {kind.value: kind for kind in EventKind}


@dataclass(frozen=True)
class MapRow:
    """A map as recorded."""

    id: int
    incarnation: str
    capacity: int
    ttl: float | None
    newest: int
    stored: int


_COLUMNS = "id, incarnation, journal_capacity, ttl_seconds, newest, stored"
_FIND = f"SELECT {_COLUMNS} FROM maps WHERE name = ?"


def find_map(cursor: Cursor, name: str) -> MapRow | None:
    """Return the map, for a caller that only reads it."""
    row = cursor.execute(_FIND, (name,)).fetchone()
    return MapRow(*row) if row else None


def look_over(cursor: Cursor, now: float) -> Iterable[tuple[MapOverview, int]]:
    """Return each map by name, and the number of its entries that have expired and are not yet purged."""
    # Each part of a row is one look into an index, however many entries and events there are.
    oldest = "(SELECT MIN(sequence) FROM map_journal WHERE map_id = maps.id)"
    expired = "(SELECT COUNT(*) FROM map_entries WHERE map_id = maps.id AND expires <= ?)"
    overview = cursor.execute(f"SELECT name, {oldest}, {expired}, {_COLUMNS} FROM maps ORDER BY name", (now,))
    for name, first, expired_entries, *columns in overview:
        row = MapRow(*columns)
        yield (
            MapOverview(MapConfig.kept(name, row.capacity, row.ttl), row.stored - expired_entries, _bounds(row, first)),
            expired_entries,
        )


def hold_map(cursor: Cursor, name: str) -> MapRow | None:
    """Return the map, for a caller that writes it: nobody else writes it until the transaction ends.

    So events get their numbers in the order in which they are committed. A reader of the journal up to ``newest`` misses none
    that is committed later.
    """
    row = cursor.execute(_FIND + cursor.for_update, (name,)).fetchone()
    return MapRow(*row) if row else None


def ensure_map(cursor: Cursor, name: str) -> MapRow:
    """Return the map as :func:`hold_map`; make it with the usual settings if there is none.

    UsageError if its name cannot be one.
    """
    present = hold_map(cursor, name)
    if present is not None:
        return present
    usual = MapConfig(check_name("map", name))
    new_row = cursor.execute(
        "INSERT INTO maps (name, incarnation, journal_capacity, ttl_seconds, newest, stored) VALUES (?, ?, ?, ?, 0, 0) "
        f"ON CONFLICT (name) DO NOTHING RETURNING {_COLUMNS}",
        (name, uuid.uuid4().hex, usual.journal_capacity, usual.ttl_seconds),
    ).fetchone()
    # None: another writer has made it in the meantime.
    return MapRow(*new_row) if new_row else ensure_map(cursor, name)


def drop_map(cursor: Cursor, map_row: MapRow) -> None:
    for table in ("map_entries", "map_journal", "map_undo", "sink_epochs"):
        cursor.execute(f"DELETE FROM {table} WHERE map_id = ?", (map_row.id,))
    cursor.execute("DELETE FROM maps WHERE id = ?", (map_row.id,))


def trim(cursor: Cursor, map_id: int, newest: int, capacity: int) -> None:
    """Drop the events beyond the capacity: one range at the journal's old end."""
    cursor.execute("DELETE FROM map_journal WHERE map_id = ? AND sequence <= ?", (map_id, newest - capacity))


class MapWriter:
    """The changes of one map in one write transaction: entries at once, their events and the counts with :meth:`finish`."""

    def __init__(self, cursor: Cursor, map_row: MapRow, now: float) -> None:
        self._cursor = cursor
        self._map = map_row
        self._now = now
        self._newest = map_row.newest
        self._stored = map_row.stored
        self._events: list[Event] = []

    def expire(self, limit: int | None = PURGE_BATCH) -> int:
        """Remove entries that have expired, oldest first, at most ``limit``; return their number."""
        sql = "SELECT key, value, expires FROM map_entries WHERE map_id = ? AND expires <= ? ORDER BY expires, key"
        limited, arguments = _limited(sql, [self._map.id, self._now], limit)
        return self._expire(self._cursor.execute(limited, arguments).fetchall())

    def change(
        self,
        changes: Sequence[tuple[str, str | None]],
        update: Update | None = None,
        withdrawable: int | None = None,
        orders: Sequence[str] | None = None,
    ) -> int:
        """Apply changes in order and return the number of those that were older than their entries.

        ``update`` and ``orders`` are as in MapStore, ``withdrawable`` as in model.job.Job.
        """
        keys = {key for key, _ in changes}
        self._expire_all_of(keys)
        with keeping_old(self._cursor, self._map.id, withdrawable, keys):
            return self._apply(changes, keys, update, orders)

    def _apply(
        self,
        changes: Sequence[tuple[str, str | None]],
        keys: set[str],
        update: Update | None,
        orders: Sequence[str] | None,
    ) -> int:
        rows = self._select("key, value, created, version, ordering", keys, _LIVE)
        entries: dict[str, Stored | None] = {key: (value, *facts) for key, value, *facts in rows}
        present = set(entries)
        events, older = apply_changes(changes, entries, self._newest, self._now, update, orders)
        self._newest += len(events)
        self._events += events
        self._stored += self._write(entries) - len(present & entries.keys())
        return older

    def put_back(self, old: Sequence[OldEntry]) -> int:
        """Make entries what they were; return the number of changed ones."""
        keys = {entry.key for entry in old}
        self._expire_all_of(keys)
        present = dict(self._select("key, value", keys, _LIVE))
        entries = [entry if entry.expires is None or entry.expires > self._now else entry.removed() for entry in old]
        changes = [entry for entry in entries if entry.value is not None or entry.key in present]
        for entry in changes:
            self._emit([change_of(self._newest + 1, entry.key, present.get(entry.key), entry.value, self._now)])
        self._put([entry.row for entry in changes if entry.value is not None])
        self._delete([(entry.key,) for entry in changes if entry.value is None])
        self._stored += sum(entry.value is not None for entry in changes) - len(present)
        return len(changes)

    def clear(self) -> int:
        """Remove all entries, in the order of their keys; return their number."""
        self.expire(limit=None)
        count = self._stored
        # Only events that the journal can hold are made: a map may be much larger than memory.
        last = self._cursor.execute(
            "SELECT key, value FROM map_entries WHERE map_id = ? ORDER BY key DESC LIMIT ?", (self._map.id, self._map.capacity)
        ).fetchall()
        self._newest += count - len(last)
        self._emit(removals(reversed(last), self._newest, self._now))
        self._cursor.execute("DELETE FROM map_entries WHERE map_id = ?", (self._map.id,))
        self._stored = 0
        return count

    def finish(self) -> None:
        """Append the events, drop those beyond the capacity, record the counts."""
        map_row, capacity = self._map, self._map.capacity
        if self._newest == map_row.newest:
            return
        trim(self._cursor, map_row.id, self._newest, capacity)
        events = self._events[-capacity:] if capacity else []
        if events:
            self._cursor.executemany(
                "INSERT INTO map_journal (map_id, sequence, kind, key, old_value, new_value, at) "
                f"VALUES ({map_row.id:d}, ?, ?, ?, ?, ?, ?)",
                events,
            )
        self._cursor.execute("UPDATE maps SET newest = ?, stored = ? WHERE id = ?", (self._newest, self._stored, map_row.id))

    def _emit(self, events: list[Event]) -> None:
        self._events += events
        self._newest += len(events)

    def _expire_all_of(self, keys: set[str]) -> None:
        """Expire the due ones of these keys: readers of the journal must see a key expire before it is written anew."""
        if self.expire() == PURGE_BATCH:  # there may be more
            self._expire([due for due in self._select("key, value, expires", keys, "expires <= ?") if due])

    def _expire(self, due: list[tuple[str, str, float]]) -> int:
        self._delete([(key,) for key, *_ in due])
        self._emit(expirations(due, self._newest))
        self._stored -= len(due)
        return len(due)

    def _select(self, columns: str, keys: set[str], condition: str) -> list[tuple[Any, ...]]:
        ordered_keys = sorted(keys)
        rows: list[tuple[Any, ...]] = []
        for start in range(0, len(ordered_keys), _LOOKUP):
            some = ordered_keys[start : start + _LOOKUP]
            entries, arguments = self._cursor.keyed("map_entries", self._map.id, some)
            rows += self._cursor.execute(f"SELECT {columns} FROM {entries} AND {condition}", [*arguments, self._now]).fetchall()
        return rows

    def _write(self, entries: dict[str, Stored | None]) -> int:
        """Store what changed; return the number of the keys that have an entry now."""
        now, expires = self._now, None if self._map.ttl is None else self._now + self._map.ttl
        # In key order: neighbours share pages, which halves the time of large batches.
        puts, removed_keys = [], []
        for key in sorted(entries):
            entry = entries[key]
            if entry is None:
                removed_keys.append((key,))
            else:
                puts.append((key, entry[0], entry[1], now, expires, entry[2], entry[3]))
        self._put(puts)
        self._delete(removed_keys)
        return len(puts)

    def _put(self, rows: Sequence[tuple[Any, ...]]) -> None:
        """Store rows of key, value, created, updated, expires, version and order."""
        self._cursor.executemany(
            "INSERT INTO map_entries (map_id, key, value, created, updated, expires, version, ordering) "
            f"VALUES ({self._map.id:d}, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (map_id, key) DO UPDATE SET value = excluded.value, "
            "created = excluded.created, updated = excluded.updated, expires = excluded.expires, version = excluded.version, "
            "ordering = excluded.ordering",
            rows,
        )

    def _delete(self, keys: Sequence[tuple[str]]) -> None:
        self._cursor.executemany(f"DELETE FROM map_entries WHERE map_id = {self._map.id:d} AND key = ?", keys)


def _limited(sql: str, arguments: list[Any], limit: int | None) -> tuple[str, list[Any]]:
    return (sql, arguments) if limit is None else (f"{sql} LIMIT ?", [*arguments, limit])


def get_entry(cursor: Cursor, map_row: MapRow, key: str, now: float) -> Entry | None:
    row = cursor.execute(
        f"SELECT key, value, created, updated, expires, version FROM map_entries WHERE map_id = ? AND key = ? AND {_LIVE}",
        (map_row.id, key, now),
    ).fetchone()
    return Entry(*row) if row else None


def scan_entries(
    cursor: Cursor, map_row: MapRow, low: str, high: str | None, after: str | None, limit: int | None, now: float
) -> Iterable[Entry]:
    """Return entries with ``low <= key < high`` (None: no end) and key > ``after``, ordered by key; at most ``limit`` of them."""
    # One lower bound: of two, SQLite goes by the first, and a page deep in the map would read all pages before it.
    beyond, bound = (">", after) if after is not None and after >= low else (">=", low)
    sql = (
        f"SELECT key, value, created, updated, expires, version FROM map_entries WHERE map_id = ? AND key {beyond} ? AND {_LIVE}"
    )
    arguments: list[Any] = [map_row.id, bound, now]
    if high is not None:
        sql += " AND key < ?"
        arguments.append(high)
    return (Entry(*row) for row in cursor.execute(*_limited(f"{sql} ORDER BY key", arguments, limit)))


def count_expired(cursor: Cursor, map_row: MapRow, now: float) -> int:
    """Return the number of entries that have expired and are not yet purged."""
    sql = "SELECT COUNT(*) FROM map_entries WHERE map_id = ? AND expires <= ?"
    return int(cursor.execute(sql, (map_row.id, now)).fetchone()[0])


def some_expired(cursor: Cursor, map_row: MapRow, now: float) -> bool:
    """True if there are entries that have expired and are not yet purged."""
    sql = "SELECT 1 FROM map_entries WHERE map_id = ? AND expires <= ? LIMIT 1"
    return cursor.execute(sql, (map_row.id, now)).fetchone() is not None


def journal_bounds(cursor: Cursor, map_row: MapRow) -> JournalBounds:
    oldest = cursor.execute("SELECT MIN(sequence) FROM map_journal WHERE map_id = ?", (map_row.id,)).fetchone()[0]
    return _bounds(map_row, oldest)


def _bounds(map_row: MapRow, oldest: int | None) -> JournalBounds:
    return JournalBounds(map_row.incarnation, map_row.newest + 1 if oldest is None else int(oldest), map_row.newest)


def read_events(cursor: Cursor, map_row: MapRow, after: int, limit: int) -> tuple[JournalEvent, ...]:
    rows = cursor.execute(
        "SELECT sequence, kind, key, old_value, new_value, at FROM map_journal "
        "WHERE map_id = ? AND sequence > ? ORDER BY sequence LIMIT ?",
        (map_row.id, after, limit),
    )
    return tuple(JournalEvent(number, _KINDS[kind], key, old, new, at) for number, kind, key, old, new, at in rows)


def mark_epoch(cursor: Cursor, name: str, map_id: int, epoch: EpochId) -> bool:
    """Mark the epoch as written; return False if it, or a later one, already is, under any of its names (EpochId.is_in)."""
    for lineage, _ in epoch.names:
        row = cursor.execute(
            "SELECT epoch, digest FROM sink_epochs WHERE lineage = ? AND sink = ? AND map_id = ?", (lineage, epoch.sink, map_id)
        ).fetchone()
        if row is not None and epoch.is_in(name, lineage, int(row[0]), row[1]):
            return False
    cursor.execute(
        "INSERT INTO sink_epochs (lineage, sink, map_id, epoch, digest) VALUES (?, ?, ?, ?, ?) "
        "ON CONFLICT (lineage, sink, map_id) DO UPDATE SET epoch = excluded.epoch, digest = excluded.digest",
        (epoch.lineage, epoch.sink, map_id, epoch.epoch, epoch.digest),
    )
    return True


def check_fence(cursor: Cursor, fence: Fence) -> int | None:
    """Raise FencedError if the job has a newer run. A job that the store does not know has none.

    Returns the update whose version's writes may have to be withdrawn, if there is one.
    """
    # Held until the end: no newer run gets the job while this one writes.
    row = cursor.execute(f"SELECT token, withdrawable FROM jobs WHERE id = ?{cursor.for_share}", (fence.job_id,)).fetchone()
    if row is not None and int(row[0]) > fence.token:
        raise FencedError(f"Run {fence.token} of job {fence.job_id} has been replaced by run {row[0]}: it must not write.")
    return row[1] if row is not None else None
