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
            map_row = rows.ensure_map(cursor, name)
            config = change(MapConfig.kept(name, map_row.capacity, map_row.ttl))
            cursor.execute(
                "UPDATE maps SET journal_capacity = ?, ttl_seconds = ? WHERE id = ?",
                (config.journal_capacity, config.ttl_seconds, map_row.id),
            )
            rows.trim(cursor, map_row.id, map_row.newest, config.journal_capacity)

    def config(self, name: str) -> MapConfig | None:
        with self._database.read_rows() as cursor:
            map_row = rows.find_map(cursor, name)
        return MapConfig.kept(name, map_row.capacity, map_row.ttl) if map_row else None

    def names(self) -> list[str]:
        with self._database.read_rows() as cursor:
            return [name for (name,) in cursor.execute("SELECT name FROM maps ORDER BY name")]

    def overview(self) -> list[MapOverview]:
        with self._database.read_rows() as cursor:
            overviews = list(rows.look_over(cursor, self._now()))
        due = [each.config.name for each, expired in overviews if expired]
        if not due:
            return [each for each, _ in overviews]
        for name in due:
            self.purge_expired(name)
        with self._database.read_rows() as cursor:
            return [each for each, _ in rows.look_over(cursor, self._now())]

    def drop(self, name: str) -> bool:
        with self._database.write_rows() as cursor:
            map_row = rows.hold_map(cursor, name)
            if map_row is not None:
                rows.drop_map(cursor, map_row)
        return map_row is not None

    def put_all(self, name: str, entries: Iterable[tuple[str, str]]) -> int:
        changes = list(entries)
        check_keys(name, (key for key, _ in changes), self.longest_key)
        self._change(name, changes, None, None, None)
        return len(changes)

    def put_if(self, name: str, entries: Iterable[tuple[str, str]], version: int) -> None:
        with self._database.write_rows() as cursor:
            # Held until the end: nobody else writes the map between the look and the write.
            map_row, now = rows.ensure_map(cursor, name), self._now()
            changes = list(entries)
            check_keys(name, (key for key, _ in changes), self.longest_key)
            for key, _ in changes:
                check_version(name, key, rows.get_entry(cursor, map_row, key, now), version)
            writer = MapWriter(cursor, map_row, now)
            writer.change(changes)
            writer.finish()

    def get(self, name: str, key: str) -> Entry | None:
        with self._database.read_rows() as cursor:
            map_row = rows.find_map(cursor, name)
            return rows.get_entry(cursor, map_row, key, self._now()) if map_row else None

    def delete(self, name: str, key: str, version: int | None = None) -> bool:
        with self._database.write_rows() as cursor:
            map_row, now = rows.hold_map(cursor, name), self._now()
            entry = rows.get_entry(cursor, map_row, key, now) if map_row is not None else None
            if version is not None:
                check_version(name, key, entry, version)
            if map_row is None or entry is None:
                return False
            writer = MapWriter(cursor, map_row, now)
            writer.change([(key, None)])
            writer.finish()
        return True

    def clear(self, name: str) -> int:
        with self._database.write_rows() as cursor:
            map_row = rows.hold_map(cursor, name)
            if map_row is None:
                return 0
            writer = MapWriter(cursor, map_row, self._now())
            count = writer.clear()
            writer.finish()
        return count

    def entries(self, name: str, prefix: str = "", after: str | None = None, limit: int | None = None) -> list[Entry]:
        end, most = past_prefix(prefix), None if limit is None else max(0, limit)
        with self._database.read_rows() as cursor:
            map_row = rows.find_map(cursor, name)
            return list(rows.scan_entries(cursor, map_row, prefix, end, after, most, self._now())) if map_row else []

    def size(self, name: str) -> int:
        with self._database.read_rows() as cursor:
            map_row = rows.find_map(cursor, name)
            return map_row.stored - rows.count_expired(cursor, map_row, self._now()) if map_row else 0

    def bounds(self, name: str) -> JournalBounds | None:
        self._purge_if_due(name)
        with self._database.read_rows() as cursor:
            map_row = rows.find_map(cursor, name)
            return rows.journal_bounds(cursor, map_row) if map_row else None

    def journal(self, name: str, after: int, limit: int) -> JournalSlice:
        self._purge_if_due(name)
        with self._database.read_rows() as cursor:
            map_row = rows.find_map(cursor, name)
            if map_row is None:
                return JournalSlice((), 0, JournalBounds("", 1, 0))
            bounds = rows.journal_bounds(cursor, map_row)
            events = rows.read_events(cursor, map_row, after, max(0, limit))
        return JournalSlice(events, lost(max(0, after), bounds.oldest), bounds)

    def _purge_if_due(self, name: str) -> None:
        """Remove expired entries, if there are any, so that a reader of the journal finds them there."""
        with self._database.read_rows() as cursor:
            map_row = rows.find_map(cursor, name)
            due = map_row is not None and rows.some_expired(cursor, map_row, self._now())
        if due:
            self.purge_expired(name)

    def purge_expired(self, name: str) -> int:
        """Remove entries that have expired, a thousand in a transaction, each with its journal event; return their number."""
        total = 0
        while True:
            with self._database.write_rows() as cursor:
                map_row = rows.hold_map(cursor, name)
                if map_row is None:
                    return total
                writer = MapWriter(cursor, map_row, self._now())
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
                portion = take_old(cursor, operation)
                if portion is None:
                    return total
                name, old = portion
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
            map_row = rows.ensure_map(cursor, name)
            if epoch is not None and not rows.mark_epoch(cursor, name, map_row.id, epoch):
                return None
            writer = MapWriter(cursor, map_row, self._now())
            older = writer.change(changes, update, withdrawable, orders)
            writer.finish()
        return EpochWritten(older)


def open_map_store(url: str) -> SqlMapStore:
    """Return a map store with its own connection, for worker processes."""
    return SqlMapStore(open_database(url))
