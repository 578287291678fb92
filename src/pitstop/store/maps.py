"""Maps and their journals in the relational store (maps.ports.MapStore)."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence

from pitstop.maps.journal import Update, lost, past_prefix
from pitstop.maps.model import Entry, JournalBounds, JournalSlice, MapConfig, MapOverview, check_keys, check_version
from pitstop.maps.ports import EpochId, EpochWritten, Fence
from pitstop.store import map_rows as rows
from pitstop.store.database import Database, open_database
from pitstop.store.map_rows import MapWriter
from pitstop.store.map_undo import forget_some, take_old


class SqlMapStore:
    """MapStore over a :class:`Database`. A put, its journal events and the trim are one transaction."""

    def __init__(self, database: Database, now: Callable[[], float] = time.time) -> None:
        self._database = database
        self._now = now

    @property
    def longest_key(self) -> int | None:
        return self._database.dialect.longest_key

    def configure(self, config: MapConfig) -> None:
        self.reconfigure(config.name, lambda _: config)

    def reconfigure(self, name: str, change: Callable[[MapConfig], MapConfig]) -> None:
        with self._database.write_rows() as cursor:
            # Held until the end.
            found = rows.ensure_map(cursor, name)
            config = change(MapConfig.kept(name, found.capacity, found.ttl))
            cursor.execute(
                "UPDATE maps SET journal_capacity = ?, ttl_seconds = ? WHERE id = ?",
                (config.journal_capacity, config.ttl_seconds, found.id),
            )
            rows.trim(cursor, found.id, found.newest, config.journal_capacity)

    def config(self, name: str) -> MapConfig | None:
        with self._database.read_rows() as cursor:
            found = rows.find_map(cursor, name)
        return MapConfig.kept(name, found.capacity, found.ttl) if found else None

    def names(self) -> list[str]:
        with self._database.read_rows() as cursor:
            return [name for (name,) in cursor.execute("SELECT name FROM maps ORDER BY name")]

    def overview(self) -> list[MapOverview]:
        with self._database.read_rows() as cursor:
            found = list(rows.look_over(cursor, self._now()))
        due = [each.config.name for each, expired in found if expired]
        if not due:
            return [each for each, _ in found]
        for name in due:
            self.purge_expired(name)
        with self._database.read_rows() as cursor:
            return [each for each, _ in rows.look_over(cursor, self._now())]

    def drop(self, name: str) -> bool:
        with self._database.write_rows() as cursor:
            found = rows.hold_map(cursor, name)
            if found is not None:
                rows.drop_map(cursor, found)
        return found is not None

    def put_all(self, name: str, entries: Iterable[tuple[str, str]]) -> int:
        changes = list(entries)
        check_keys(name, (key for key, _ in changes), self.longest_key)
        self._change(name, changes, None, None, None)
        return len(changes)

    def put_if(self, name: str, entries: Iterable[tuple[str, str]], version: int) -> None:
        with self._database.write_rows() as cursor:
            # Held until the end: nobody else writes the map between the look and the write.
            found, now = rows.ensure_map(cursor, name), self._now()
            changes = list(entries)
            check_keys(name, (key for key, _ in changes), self.longest_key)
            for key, _ in changes:
                check_version(name, key, rows.get_entry(cursor, found, key, now), version)
            writer = MapWriter(cursor, found, now)
            writer.change(changes)
            writer.finish()

    def get(self, name: str, key: str) -> Entry | None:
        with self._database.read_rows() as cursor:
            found = rows.find_map(cursor, name)
            return rows.get_entry(cursor, found, key, self._now()) if found else None

    def delete(self, name: str, key: str, version: int | None = None) -> bool:
        with self._database.write_rows() as cursor:
            found, now = rows.hold_map(cursor, name), self._now()
            entry = rows.get_entry(cursor, found, key, now) if found is not None else None
            if version is not None:
                check_version(name, key, entry, version)
            if found is None or entry is None:
                return False
            writer = MapWriter(cursor, found, now)
            writer.change([(key, None)])
            writer.finish()
        return True

    def clear(self, name: str) -> int:
        with self._database.write_rows() as cursor:
            found = rows.hold_map(cursor, name)
            if found is None:
                return 0
            writer = MapWriter(cursor, found, self._now())
            count = writer.clear()
            writer.finish()
        return count

    def entries(self, name: str, prefix: str = "", after: str | None = None, limit: int | None = None) -> list[Entry]:
        end, most = past_prefix(prefix), None if limit is None else max(0, limit)
        with self._database.read_rows() as cursor:
            found = rows.find_map(cursor, name)
            return list(rows.scan_entries(cursor, found, prefix, end, after, most, self._now())) if found else []

    def size(self, name: str) -> int:
        with self._database.read_rows() as cursor:
            found = rows.find_map(cursor, name)
            return found.stored - rows.count_expired(cursor, found, self._now()) if found else 0

    def bounds(self, name: str) -> JournalBounds | None:
        self._purge_if_due(name)
        with self._database.read_rows() as cursor:
            found = rows.find_map(cursor, name)
            return rows.journal_bounds(cursor, found) if found else None

    def journal(self, name: str, after: int, limit: int) -> JournalSlice:
        self._purge_if_due(name)
        with self._database.read_rows() as cursor:
            found = rows.find_map(cursor, name)
            if found is None:
                return JournalSlice((), 0, JournalBounds("", 1, 0))
            bounds = rows.journal_bounds(cursor, found)
            events = rows.read_events(cursor, found, after, max(0, limit))
        return JournalSlice(events, lost(max(0, after), bounds.oldest), bounds)

    def _purge_if_due(self, name: str) -> None:
        """Remove expired entries, if there are any, so that a reader of the journal finds them there."""
        with self._database.read_rows() as cursor:
            found = rows.find_map(cursor, name)
            due = found is not None and rows.some_expired(cursor, found, self._now())
        if due:
            self.purge_expired(name)

    def purge_expired(self, name: str) -> int:
        """Remove entries that have expired, a thousand in a transaction, each with its journal event; return their number."""
        total = 0
        while True:
            with self._database.write_rows() as cursor:
                found = rows.hold_map(cursor, name)
                if found is None:
                    return total
                writer = MapWriter(cursor, found, self._now())
                purged = writer.expire()
                writer.finish()
            total += purged
            if purged < rows.PURGE_BATCH:
                return total

    def write_epoch(
        self,
        name: str,
        changes: Sequence[tuple[str, str | None]],
        epoch: EpochId | None,
        fence: Fence | None,
        orders: Sequence[str] | None = None,
    ) -> EpochWritten | None:
        return self._change(name, changes, None, epoch, fence, orders)

    def update_epoch(
        self,
        name: str,
        changes: Sequence[tuple[str, str | None]],
        update: Update,
        epoch: EpochId | None,
        fence: Fence | None,
    ) -> EpochWritten | None:
        return self._change(name, changes, update, epoch, fence)

    def withdraw(self, operation: int) -> int:
        total = 0
        while True:
            with self._database.write_rows() as cursor:
                taken = take_old(cursor, operation)
                if taken is None:
                    return total
                name, old = taken
                writer = MapWriter(cursor, rows.ensure_map(cursor, name), self._now())
                total += writer.put_back(old)
                writer.finish()

    def forget_withdrawable(self) -> None:
        more = True
        while more:
            with self._database.write_rows() as cursor:
                more = forget_some(cursor)

    def _change(
        self,
        name: str,
        changes: Sequence[tuple[str, str | None]],
        update: Update | None,
        epoch: EpochId | None,
        fence: Fence | None,
        orders: Sequence[str] | None = None,
    ) -> EpochWritten | None:
        with self._database.write_rows() as cursor:
            withdrawable = rows.check_fence(cursor, fence) if fence is not None else None
            found = rows.ensure_map(cursor, name)
            if epoch is not None and not rows.mark_epoch(cursor, name, found.id, epoch):
                return None
            writer = MapWriter(cursor, found, self._now())
            older = writer.change(changes, update, withdrawable, orders)
            writer.finish()
        return EpochWritten(older)


def open_map_store(url: str) -> SqlMapStore:
    """Return a map store with its own connection, for worker processes."""
    return SqlMapStore(open_database(url))
