"""Maps and their journals in memory."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from pitstop.errors import FencedError
from pitstop.kit.clock import Clock, SystemClock
from pitstop.kit.ids import check_name
from pitstop.maps.journal import Event, Stored, Update, apply_changes, change_of, expirations, lost, removals
from pitstop.maps.model import Entry, EventKind, JournalBounds, JournalEvent, JournalSlice, MapConfig, MapOverview, check_version
from pitstop.maps.ports import EpochId, EpochWritten, Fence
from pitstop.testing.registry import MemoryRegistry


@dataclass
class _Map:
    config: MapConfig
    incarnation: str = field(default_factory=lambda: uuid.uuid4().hex)
    entries: dict[str, Entry] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)
    newest: int = 0
    epochs: dict[tuple[str, str], tuple[int, str | None]] = field(default_factory=dict)
    """(lineage, sink) -> the last epoch that it has written, and that epoch's digest."""
    orders: dict[str, str] = field(default_factory=dict)
    """The keys -> the orders of their entries, for entries that have one."""

    @property
    def bounds(self) -> JournalBounds:
        return JournalBounds(self.incarnation, self.newest - len(self.events) + 1, self.newest)

    def keep_order(self, key: str, order: str | None) -> None:
        self.orders.pop(key, None)
        if order is not None:
            self.orders[key] = order

    def record(self, events: Sequence[Event]) -> None:
        self.newest += len(events)
        self.events += events
        self.trim()

    def trim(self) -> None:
        del self.events[: max(0, len(self.events) - self.config.journal_capacity)]


class MemoryMapStore:
    """A maps.ports.MapStore in dicts. Fences are checked against the jobs of ``registry``, if it is given."""

    longest_key: int | None = None

    def __init__(self, registry: MemoryRegistry | None = None, clock: Clock | None = None) -> None:
        self._registry, self._clock = registry, clock or SystemClock()
        self._maps: dict[str, _Map] = {}
        self._old: dict[int, dict[tuple[str, str], tuple[Entry | None, str | None, Entry | None]]] = {}
        """Update -> (map, key) -> the entry before its version wrote it, its order, and the entry as that has left it."""
        self._lock = threading.RLock()

    def configure(self, config: MapConfig) -> None:
        self.reconfigure(config.name, lambda _: config)

    def reconfigure(self, name: str, change: Callable[[MapConfig], MapConfig]) -> None:
        with self._lock:
            before = self._maps[name].config if name in self._maps else MapConfig(check_name("map", name))
            config = change(before)
            map_ = self._made(name)
            map_.config = config
            map_.trim()

    def config(self, name: str) -> MapConfig | None:
        with self._lock:
            return self._maps[name].config if name in self._maps else None

    def names(self) -> list[str]:
        with self._lock:
            return sorted(self._maps)

    def overview(self) -> list[MapOverview]:
        with self._lock:
            for each in self._maps.values():
                self._expire(each)
            return [MapOverview(map_.config, len(map_.entries), map_.bounds) for _, map_ in sorted(self._maps.items())]

    def drop(self, name: str) -> bool:
        with self._lock:
            for old in self._old.values():
                for place in [place for place in old if place[0] == name]:
                    del old[place]
            return self._maps.pop(name, None) is not None

    def put_all(self, name: str, entries: Iterable[tuple[str, str]]) -> int:
        changes = list(entries)
        self._change(name, changes, None, None, None)
        return len(changes)

    def put_if(self, name: str, entries: Iterable[tuple[str, str]], version: int) -> None:
        with self._lock:
            changes = list(entries)
            for key, _ in changes:
                check_version(check_name("map", name), key, self.get(name, key), version)
            self._change(name, changes, None, None, None)

    def get(self, name: str, key: str) -> Entry | None:
        with self._lock:
            entry = self._maps[name].entries.get(key) if name in self._maps else None
            return entry if entry is not None and self._lives(entry) else None

    def delete(self, name: str, key: str, version: int | None = None) -> bool:
        with self._lock:
            entry = self.get(name, key)
            if version is not None:
                check_version(name, key, entry, version)
            return entry is not None and self._change(name, [(key, None)], None, None, None) is not None

    def clear(self, name: str) -> int:
        with self._lock:
            if name not in self._maps:
                return 0
            map_ = self._maps[name]
            self._expire(map_)
            removed = sorted((entry.key, entry.value) for entry in map_.entries.values())
            map_.entries.clear()
            map_.record(removals(removed, map_.newest, self._clock.now()))
            return len(removed)

    def entries(self, name: str, prefix: str = "", after: str | None = None, limit: int | None = None) -> list[Entry]:
        with self._lock:
            live = sorted(self._live(name), key=lambda entry: entry.key)
        matches = [entry for entry in live if entry.key.startswith(prefix) and (after is None or entry.key > after)]
        return matches if limit is None else matches[: max(0, limit)]

    def size(self, name: str) -> int:
        with self._lock:
            return sum(1 for _ in self._live(name))

    def bounds(self, name: str) -> JournalBounds | None:
        with self._lock:
            if name not in self._maps:
                return None
            self._expire(self._maps[name])
            return self._maps[name].bounds

    def journal(self, name: str, after: int, limit: int) -> JournalSlice:
        with self._lock:
            if name not in self._maps:
                return JournalSlice((), 0, JournalBounds("", 1, 0))
            map_ = self._maps[name]
            self._expire(map_)
            bounds = map_.bounds
            first = max(0, after + 1 - bounds.oldest)
            events = map_.events[first : first + max(0, limit)]
        journal_events = tuple(
            JournalEvent(number, EventKind(kind), key, old, new, at) for number, kind, key, old, new, at in events
        )
        return JournalSlice(journal_events, lost(max(0, after), bounds.oldest), bounds)

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

    def _change(
        self,
        name: str,
        changes: Sequence[tuple[str, str | None]],
        update: Update | None,
        epoch: EpochId | None,
        fence: Fence | None,
        orders: Sequence[str] | None = None,
    ) -> EpochWritten | None:
        with self._lock:
            withdrawable = self._check_fence(fence)
            map_ = self._maps.get(name) or _Map(MapConfig(check_name("map", name)))
            written = (epoch.lineage, epoch.sink) if epoch is not None else None
            if epoch is not None and any(
                epoch.is_in(name, lineage, *map_.epochs.get((lineage, epoch.sink), (-1, None))) for lineage, _ in epoch.names
            ):
                return None
            now, due = self._clock.now(), self._due(map_)
            expired = expirations(due, map_.newest)
            expired_keys = {key for key, *_ in due}
            here = [map_.entries[key] for key in {key for key, _ in changes} - expired_keys if key in map_.entries]
            stored: dict[str, Stored | None] = {
                entry.key: (entry.value, entry.created, entry.version, map_.orders.get(entry.key)) for entry in here
            }
            events, older = apply_changes(changes, stored, map_.newest + len(expired), now, update, orders)
            # Nothing fails from here on: the map is there, its epoch marked, and all changes made, or none of it.
            self._maps[name] = map_
            if epoch is not None and written is not None:
                map_.epochs[written] = epoch.epoch, epoch.digest
            for key in expired_keys:
                del map_.entries[key]
            before = {key: (map_.entries.get(key), map_.orders.get(key)) for key, _ in changes}
            self._store(map_, stored, now)
            map_.record([*expired, *events])
            if withdrawable is not None:
                self._keep_old(withdrawable, map_, before)
            return EpochWritten(older)

    def _keep_old(self, operation: int, map_: _Map, before: dict[str, tuple[Entry | None, str | None]]) -> None:
        old_entries = self._old.setdefault(operation, {})
        for key, (entry, order) in before.items():
            old, its_order, left_entry = old_entries.get((map_.config.name, key), (entry, order, entry))
            if left_entry != entry:  # the entry goes back to what another writer has written since the version did
                old, its_order = entry, order
            old_entries[map_.config.name, key] = (old, its_order, map_.entries.get(key))

    def withdraw(self, operation: int) -> int:
        with self._lock:
            total, now = 0, self._clock.now()
            for (name, key), (old, order, left_entry) in sorted(self._old.pop(operation, {}).items()):
                map_ = self._maps[name]
                self._expire(map_)
                entry = map_.entries.get(key)
                earlier_entry = old if old is not None and self._lives(old) else None
                if entry == left_entry and old != left_entry and (entry is not None or earlier_entry is not None):
                    total += 1
                    before, after = (each.value if each is not None else None for each in (entry, earlier_entry))
                    map_.record([change_of(map_.newest + 1, key, before, after, now)])
                    map_.entries.pop(key, None)
                    map_.orders.pop(key, None)
                    if earlier_entry is not None:
                        map_.entries[key] = earlier_entry
                        map_.keep_order(key, order)
            return total

    def forget_withdrawable(self) -> None:
        with self._lock:
            jobs = self._registry.jobs() if self._registry is not None else []
            needed = {job.withdrawable for job in jobs}
            self._old = {operation: old for operation, old in self._old.items() if operation in needed}

    def _store(self, map_: _Map, stored: dict[str, Stored | None], now: float) -> None:
        ttl = map_.config.ttl_seconds
        for key, entry in stored.items():
            if entry is None:
                map_.entries.pop(key, None)
            else:
                map_.entries[key] = Entry(key, entry[0], entry[1], now, None if ttl is None else now + ttl, entry[2])
            map_.keep_order(key, None if entry is None else entry[3])

    def _made(self, name: str) -> _Map:
        if name not in self._maps:
            self._maps[name] = _Map(MapConfig(check_name("map", name)))
        return self._maps[name]

    def _live(self, name: str) -> Iterator[Entry]:
        return filter(self._lives, self._maps[name].entries.values()) if name in self._maps else iter(())

    def _lives(self, entry: Entry) -> bool:
        return entry.expires is None or entry.expires > self._clock.now()

    def _due(self, map_: _Map) -> list[tuple[str, str, float]]:
        """Return key, value and end of the entries whose time has run out, in the order in which it did."""
        now = self._clock.now()
        due = [(e.key, e.value, e.expires) for e in map_.entries.values() if e.expires is not None and e.expires <= now]
        return sorted(due, key=lambda entry: (entry[2], entry[0]))

    def _expire(self, map_: _Map) -> None:
        due = self._due(map_)
        for key, *_ in due:
            del map_.entries[key]
        map_.record(expirations(due, map_.newest))

    def _check_fence(self, fence: Fence | None) -> int | None:
        job = self._registry.get_job(fence.job_id) if fence is not None and self._registry is not None else None
        if fence is not None and job is not None and job.token > fence.token:
            raise FencedError(f"Run {fence.token} of job {fence.job_id} has been replaced by run {job.token}: it must not write.")
        return job.withdrawable if job is not None else None
