"""Maps and their journals in SQLite. A put, its journal events and the trim are one transaction."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

from sqlalchemy import Connection

from pitstop.errors import ConflictError, FencedError
from pitstop.kit.ids import check_name
from pitstop.maps.model import Entry, EventKind, JournalBounds, JournalEvent, JournalSlice, MapConfig
from pitstop.maps.ports import EpochId, Fence
from pitstop.store.database import Database, open_database

Update = Callable[[str | None, str | None], str | None]

_LIVE = "(expires IS NULL OR expires > ?)"
_PURGE_BATCH = 1000


@dataclass(frozen=True)
class _Map:
    id: int
    incarnation: str
    capacity: int
    ttl: float | None
    newest: int


@dataclass(slots=True)
class _Old:
    value: str | None
    created: float
    version: int


class SqlMapStore:
    """MapStore over a :class:`Database`."""

    def __init__(self, database: Database, now: Callable[[], float] = time.time) -> None:
        self._database = database
        self._now = now

    def configure(self, config: MapConfig) -> None:
        with self._database.write() as connection:
            found = self._ensure(connection, config.name)
            connection.exec_driver_sql(
                "UPDATE maps SET journal_capacity = ?, ttl_seconds = ? WHERE id = ?",
                (config.journal_capacity, config.ttl_seconds, found.id),
            )
            self._trim(connection, found.id, found.newest, config.journal_capacity)

    def config(self, name: str) -> MapConfig | None:
        with self._database.read() as connection:
            found = _find(connection, name)
        return MapConfig(name, found.capacity, found.ttl) if found else None

    def names(self) -> list[str]:
        with self._database.read() as connection:
            return [row[0] for row in connection.exec_driver_sql("SELECT name FROM maps ORDER BY name")]

    def drop(self, name: str) -> bool:
        with self._database.write() as connection:
            found = _find(connection, name)
            if found is None:
                return False
            for table in ("map_entries", "map_journal", "sink_epochs"):
                connection.exec_driver_sql(f"DELETE FROM {table} WHERE map_id = ?", (found.id,))
            connection.exec_driver_sql("DELETE FROM maps WHERE id = ?", (found.id,))
            return True

    def put_all(self, name: str, entries: Iterable[tuple[str, str]]) -> int:
        changes = list(entries)
        self.write_epoch(name, changes, None, None)
        return len(changes)

    def get(self, name: str, key: str) -> Entry | None:
        with self._database.read() as connection:
            found = _find(connection, name)
            if found is None:
                return None
            row = connection.exec_driver_sql(
                f"SELECT {_ENTRY} FROM map_entries WHERE map_id = ? AND key = ? AND {_LIVE}", (found.id, key, self._now())
            ).first()
        return Entry(*row) if row else None

    def delete(self, name: str, key: str) -> bool:
        existed = self.get(name, key) is not None
        if existed:
            self.write_epoch(name, [(key, None)], None, None)
        return existed

    def clear(self, name: str) -> int:
        keys = [entry.key for entry in self.entries(name)]
        self.write_epoch(name, [(key, None) for key in keys], None, None)
        return len(keys)

    def entries(self, name: str, prefix: str = "", after: str | None = None, limit: int | None = None) -> list[Entry]:
        with self._database.read() as connection:
            found = _find(connection, name)
            if found is None:
                return []
            sql = f"SELECT {_ENTRY} FROM map_entries WHERE map_id = ? AND {_LIVE} AND substr(key, 1, ?) = ?"
            arguments: list[Any] = [found.id, self._now(), len(prefix), prefix]
            if after is not None:
                sql += " AND key > ?"
                arguments.append(after)
            sql += " ORDER BY key LIMIT ?"
            arguments.append(-1 if limit is None else limit)
            return [Entry(*row) for row in connection.exec_driver_sql(sql, tuple(arguments))]

    def size(self, name: str) -> int:
        with self._database.read() as connection:
            found = _find(connection, name)
            if found is None:
                return 0
            sql = f"SELECT COUNT(*) FROM map_entries WHERE map_id = ? AND {_LIVE}"
            return int(connection.exec_driver_sql(sql, (found.id, self._now())).scalar_one())

    def bounds(self, name: str) -> JournalBounds | None:
        with self._database.read() as connection:
            found = _find(connection, name)
            return _bounds(connection, found) if found else None

    def journal(self, name: str, after: int, limit: int) -> JournalSlice:
        with self._database.read() as connection:
            found = _find(connection, name)
            if found is None:
                return JournalSlice((), 0, JournalBounds("", 1, 0))
            bounds = _bounds(connection, found)
            rows = connection.exec_driver_sql(
                "SELECT sequence, kind, key, old_value, new_value, at FROM map_journal "
                "WHERE map_id = ? AND sequence > ? ORDER BY sequence LIMIT ?",
                (found.id, after, limit),
            )
            events = tuple(JournalEvent(r[0], EventKind(r[1]), r[2], r[3], r[4], r[5]) for r in rows)
        return JournalSlice(events, max(0, bounds.oldest - 1 - after), bounds)

    def purge_expired(self, name: str) -> int:
        """Remove entries that have expired, each with its journal event; returns how many."""
        total = 0
        while True:
            with self._database.write() as connection:
                found = _find(connection, name)
                purged = self._purge(connection, found) if found else 0
            total += purged
            if purged < _PURGE_BATCH:
                return total

    def write_epoch(
        self, name: str, changes: Sequence[tuple[str, str | None]], epoch: EpochId | None, fence: Fence | None
    ) -> bool:
        return self.update_epoch(name, changes, _replace, epoch, fence)

    def update_epoch(
        self,
        name: str,
        changes: Sequence[tuple[str, str | None]],
        update: Update,
        epoch: EpochId | None,
        fence: Fence | None,
    ) -> bool:
        with self._database.write() as connection:
            if fence is not None:
                _check_fence(connection, fence)
            found = self._ensure(connection, name)
            if epoch is not None and not _mark(connection, found.id, epoch):
                return False
            if found.ttl is not None:
                self._purge(connection, found)
                found = _find(connection, name) or found
            self._apply(connection, found, changes, update)
        return True

    def _apply(self, connection: Connection, found: _Map, changes: Sequence[tuple[str, str | None]], update: Update) -> None:
        now = self._now()
        olds = _existing(connection, found.id, {key for key, _ in changes}, now)
        touched: dict[str, _Old] = {}
        events: list[tuple[Any, ...]] = []
        sequence = found.newest
        for key, value in changes:
            old = olds.get(key)
            before = old.value if old else None
            after = value if update is _replace else update(before, value)
            if before is None and after is None:
                continue
            sequence += 1
            kind = "REMOVED" if after is None else "ADDED" if before is None else "UPDATED"
            events.append((found.id, sequence, kind, key, before, after, now))
            fresh = old is None or before is None
            olds[key] = touched[key] = _Old(after, now if fresh else old.created, 1 if fresh else old.version + 1)  # type: ignore[union-attr]
        _store(connection, found, touched, now)
        _append(connection, found, events, sequence)
        self._trim(connection, found.id, sequence, found.capacity)

    def _trim(self, connection: Connection, map_id: int, newest: int, capacity: int) -> None:
        connection.exec_driver_sql("DELETE FROM map_journal WHERE map_id = ? AND sequence <= ?", (map_id, newest - capacity))

    def _purge(self, connection: Connection, found: _Map) -> int:
        now = self._now()
        rows = connection.exec_driver_sql(
            "SELECT key, value FROM map_entries WHERE map_id = ? AND expires <= ? ORDER BY expires LIMIT ?",
            (found.id, now, _PURGE_BATCH),
        ).all()
        events = [(found.id, found.newest + i, "EXPIRED", key, value, None, now) for i, (key, value) in enumerate(rows, 1)]
        if rows:
            connection.exec_driver_sql(
                "DELETE FROM map_entries WHERE map_id = ? AND key = ?", [(found.id, key) for key, _ in rows]
            )
            _append(connection, found, events, found.newest + len(rows))
            self._trim(connection, found.id, found.newest + len(rows), found.capacity)
        return len(rows)

    def _ensure(self, connection: Connection, name: str) -> _Map:
        found = _find(connection, name)
        if found is None:
            check_name("map", name)
            connection.exec_driver_sql(
                "INSERT INTO maps (name, incarnation, journal_capacity, ttl_seconds, newest) VALUES (?, ?, ?, NULL, 0)",
                (name, uuid.uuid4().hex, MapConfig(name).journal_capacity),
            )
            found = _find(connection, name)
        if found is None:
            raise ConflictError(f"Map '{name}' vanished while it was being written: try again.")
        return found


_ENTRY = "key, value, created, updated, expires, version"


def open_map_store(url: str) -> SqlMapStore:
    """A map store of its own connection, for worker processes."""
    return SqlMapStore(open_database(url))


def _replace(old: str | None, new: str | None) -> str | None:
    return new


def _find(connection: Connection, name: str) -> _Map | None:
    row = connection.exec_driver_sql(
        "SELECT id, incarnation, journal_capacity, ttl_seconds, newest FROM maps WHERE name = ?", (name,)
    ).first()
    return _Map(*row) if row else None


def _bounds(connection: Connection, found: _Map) -> JournalBounds:
    oldest = connection.exec_driver_sql("SELECT MIN(sequence) FROM map_journal WHERE map_id = ?", (found.id,)).scalar()
    return JournalBounds(found.incarnation, found.newest + 1 if oldest is None else int(oldest), found.newest)


def _existing(connection: Connection, map_id: int, keys: set[str], now: float) -> dict[str, _Old]:
    rows = connection.exec_driver_sql(
        "SELECT e.key, e.value, e.created, e.version FROM json_each(?) j "
        f"CROSS JOIN map_entries e ON e.map_id = ? AND e.key = j.value WHERE {_LIVE}",
        (json.dumps(sorted(keys)), map_id, now),
    )
    return {key: _Old(value, created, version) for key, value, created, version in rows}


def _store(connection: Connection, found: _Map, touched: dict[str, _Old], now: float) -> None:
    expires = None if found.ttl is None else now + found.ttl
    # In key order: neighbours share pages of the index, which halves the time of large batches.
    puts = [
        (found.id, k, o.value, o.created, now, expires, o.version)
        for k, o in sorted(touched.items(), key=itemgetter(0))
        if o.value is not None
    ]
    gone = [(found.id, k) for k, o in touched.items() if o.value is None]
    if puts:
        connection.exec_driver_sql(
            "INSERT INTO map_entries (map_id, key, value, created, updated, expires, version) VALUES (?, ?, ?, ?, ?, ?, ?) "
            "ON CONFLICT (map_id, key) DO UPDATE SET value = excluded.value, created = excluded.created, "
            "updated = excluded.updated, expires = excluded.expires, version = excluded.version",
            puts,
        )
    if gone:
        connection.exec_driver_sql("DELETE FROM map_entries WHERE map_id = ? AND key = ?", gone)


def _append(connection: Connection, found: _Map, events: list[tuple[Any, ...]], newest: int) -> None:
    kept = events[-found.capacity :] if found.capacity else []
    if kept:
        connection.exec_driver_sql(
            "INSERT INTO map_journal (map_id, sequence, kind, key, old_value, new_value, at) VALUES (?, ?, ?, ?, ?, ?, ?)", kept
        )
    connection.exec_driver_sql("UPDATE maps SET newest = ? WHERE id = ?", (newest, found.id))


def _mark(connection: Connection, map_id: int, epoch: EpochId) -> bool:
    """Mark the epoch as written; False if it, or a later one, already is."""
    row = connection.exec_driver_sql(
        "SELECT epoch FROM sink_epochs WHERE lineage = ? AND sink = ? AND map_id = ?", (epoch.lineage, epoch.sink, map_id)
    ).first()
    if row is not None and int(row[0]) >= epoch.epoch:
        return False
    connection.exec_driver_sql(
        "INSERT INTO sink_epochs (lineage, sink, map_id, epoch) VALUES (?, ?, ?, ?) "
        "ON CONFLICT (lineage, sink, map_id) DO UPDATE SET epoch = excluded.epoch",
        (epoch.lineage, epoch.sink, map_id, epoch.epoch),
    )
    return True


def _check_fence(connection: Connection, fence: Fence) -> None:
    token = connection.exec_driver_sql("SELECT token FROM jobs WHERE id = ?", (fence.job_id,)).scalar()
    if token is not None and int(token) > fence.token:
        raise FencedError(f"Run {fence.token} of job {fence.job_id} has been replaced by run {token}: it must not write.")
