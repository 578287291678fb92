"""Verbs and reads on maps."""

from __future__ import annotations

import time

from pitstop.errors import UsageError
from pitstop.kit.ids import check_name
from pitstop.kit.wire import check_text
from pitstop.maps.condition import read_condition
from pitstop.maps.model import Entry, MapConfig, MapOverview
from pitstop.maps.ports import MapStore
from pitstop.service.map_results import FoundEntries, JournalPage, MapFacts

MOST_SEARCHED = 10_000
"""The most entries that one search looks at."""
SEARCHED_SECONDS = 1.0
"""The longest that one search looks at entries, give or take one portion."""
_PORTION = 500


class MapVerbs:
    """The part of the service that is about maps."""

    def __init__(self, maps: MapStore) -> None:
        self._maps = maps

    def maps(self) -> list[MapFacts]:
        return [_facts(overview) for overview in self._maps.overview()]

    def map_get(self, name: str, key: str) -> str | None:
        entry = self.map_entry(name, key)
        return entry.value if entry else None

    def map_entry(self, name: str, key: str) -> Entry | None:
        return self._maps.get(name, key)

    def map_put(self, name: str, entries: dict[str, str], expected_version: int | None = None) -> None:
        check_name("map", name)
        for key in entries:
            check_text(f"Key {key!r} for map '{name}'", key)
        if expected_version is None:
            self._maps.put_all(name, entries.items())
            return
        self._maps.put_if(name, entries.items(), expected_version)

    def map_delete(self, name: str, key: str, version: int | None = None) -> bool:
        return self._maps.delete(name, key, version)

    def map_clear(self, name: str) -> int:
        return self._maps.clear(name)

    def map_entries(self, name: str, prefix: str = "", after: str | None = None, limit: int = 1000) -> list[Entry]:
        return self._maps.entries(name, prefix, after, limit)

    def map_search(self, name: str, where: str, prefix: str = "", after: str | None = None, limit: int = 1000) -> FoundEntries:
        condition, end = read_condition(where), time.monotonic() + SEARCHED_SECONDS
        matches: list[Entry] = []
        looked_at = 0
        while True:
            page = self._maps.entries(name, prefix, after, _PORTION)
            for entry in page:
                looked_at, after = looked_at + 1, entry.key
                if condition.holds(entry.value):
                    matches.append(entry)
                    if len(matches) == limit:
                        return FoundEntries(matches, looked_at, after)
            if len(page) < _PORTION:
                return FoundEntries(matches, looked_at, None)
            if looked_at >= MOST_SEARCHED or time.monotonic() >= end:
                return FoundEntries(matches, looked_at, after)

    def map_size(self, name: str) -> int:
        return self._maps.size(name)

    def map_configure(self, name: str, journal_capacity: int | None = None, ttl_seconds: float | None = None) -> None:
        if (journal_capacity or 0) < 0 or (ttl_seconds is not None and not ttl_seconds >= 0):
            raise UsageError(f"The settings of map '{name}' can't be negative.")

        def changed(before: MapConfig) -> MapConfig:
            capacity = before.journal_capacity if journal_capacity is None else journal_capacity
            return MapConfig(name, capacity, before.ttl_seconds if ttl_seconds is None else (ttl_seconds or None))

        self._maps.reconfigure(name, changed)

    def map_journal(self, name: str, after: int | None = None, limit: int = 1000) -> JournalPage:
        part = self._maps.journal(name, after or 0, limit)
        gap = part.lost if after is not None else 0
        return JournalPage(list(part.events), gap, part.bounds.oldest, part.bounds.newest)


def _facts(overview: MapOverview) -> MapFacts:
    config, bounds = overview.config, overview.bounds
    return MapFacts(config.name, overview.size, config.journal_capacity, config.ttl_seconds, bounds.oldest, bounds.newest)
