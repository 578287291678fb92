"""Maps with journals in memory, by the rules of ``maps`` and ``service.api``."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from pitstop.errors import UsageError
from pitstop.kit.ids import check_name
from pitstop.maps.model import Entry, EventKind, JournalEvent, MapConfig


@dataclass
class _Map:
    config: MapConfig
    entries: dict[str, Entry] = field(default_factory=dict)
    events: list[JournalEvent] = field(default_factory=list)
    newest: int = 0

    @property
    def oldest(self) -> int:
        return self.newest - len(self.events) + 1


class InMemoryMaps:
    """The map part of a service. ``now`` tells the time, in seconds since the epoch."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._maps: dict[str, _Map] = {}
        self._lock = threading.RLock()

    def all(self) -> list[dict[str, Any]]:
        with self._lock:
            return [self._facts(self._maps[name]) for name in sorted(self._maps)]

    def get(self, name: str, key: str) -> str | None:
        with self._lock:
            entry = self._live(name).get(key)
            return entry.value if entry else None

    def put(self, name: str, entries: dict[str, str]) -> None:
        with self._lock:
            found = self._made(name)
            self._live(name)
            now, ttl = self._now(), found.config.ttl_seconds
            for key, value in entries.items():
                old = found.entries.get(key)
                created, version = (old.created, old.version + 1) if old else (now, 1)
                found.entries[key] = Entry(key, value, created, now, now + ttl if ttl else None, version)
                self._record(found, EventKind.UPDATED if old else EventKind.ADDED, key, old, value)

    def delete(self, name: str, key: str) -> bool:
        with self._lock:
            old = self._live(name).pop(key, None)
            if old is not None:
                self._record(self._maps[name], EventKind.REMOVED, key, old, None)
            return old is not None

    def entries(self, name: str, prefix: str, after: str | None, limit: int) -> list[dict[str, Any]]:
        with self._lock:
            keys = sorted(key for key in self._live(name) if key.startswith(prefix) and (after is None or key > after))
            return [asdict(self._maps[name].entries[key]) for key in keys[:limit]]

    def size(self, name: str) -> int:
        with self._lock:
            return len(self._live(name))

    def configure(self, name: str, journal_capacity: int | None, ttl_seconds: float | None) -> None:
        if (journal_capacity or 0) < 0 or (ttl_seconds or 0) < 0:
            raise UsageError(f"The settings of map '{name}' can't be negative.")
        with self._lock:
            found = self._made(name)
            if journal_capacity is not None:
                found.config = replace(found.config, journal_capacity=journal_capacity)
            if ttl_seconds is not None:
                found.config = replace(found.config, ttl_seconds=ttl_seconds or None)
            self._trim(found)

    def journal(self, name: str, after: int | None, limit: int) -> dict[str, Any]:
        with self._lock:
            self._live(name)
            found = self._maps.get(name, _Map(MapConfig(name)))
            events = [event for event in found.events if event.sequence > (after or 0)][:limit]
            return {
                "events": [asdict(event) | {"kind": event.kind.value} for event in events],
                "lost": 0 if after is None else max(0, found.oldest - 1 - after),
                "oldest": found.oldest,
                "newest": found.newest,
            }

    def _made(self, name: str) -> _Map:
        return self._maps.setdefault(check_name("map", name), _Map(MapConfig(name)))

    def _live(self, name: str) -> dict[str, Entry]:
        """The entries, after those whose time has run out are gone."""
        found = self._maps.get(name)
        if found is None:
            return {}
        now = self._now()
        for entry in [entry for entry in found.entries.values() if entry.expires is not None and entry.expires <= now]:
            del found.entries[entry.key]
            self._record(found, EventKind.EXPIRED, entry.key, entry, None)
        return found.entries

    def _record(self, found: _Map, kind: EventKind, key: str, old: Entry | None, value: str | None) -> None:
        found.newest += 1
        found.events.append(JournalEvent(found.newest, kind, key, old.value if old else None, value, self._now()))
        self._trim(found)

    def _trim(self, found: _Map) -> None:
        del found.events[: max(0, len(found.events) - found.config.journal_capacity)]

    def _facts(self, found: _Map) -> dict[str, Any]:
        return {
            "name": found.config.name,
            "size": len(self._live(found.config.name)),
            "journal_capacity": found.config.journal_capacity,
            "ttl_seconds": found.config.ttl_seconds,
            "oldest": found.oldest,
            "newest": found.newest,
        }
