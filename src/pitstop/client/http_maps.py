"""The verbs and reads of maps over HTTP."""

from __future__ import annotations

import dataclasses
import json
from urllib.parse import quote

from pitstop.client.connection import HttpConnection, without_none
from pitstop.kit.ids import check_name
from pitstop.maps.model import Entry, EventKind, JournalEvent
from pitstop.service.map_results import FoundEntries, JournalPage, MapFacts


class HttpMaps(HttpConnection):
    """The part of the service that is about maps."""

    def maps(self) -> list[MapFacts]:
        return self._get(list[MapFacts], "/maps")

    def map_get(self, name: str, key: str) -> str | None:
        entry = self.map_entry(name, key)
        return entry.value if entry else None

    def map_entry(self, name: str, key: str) -> Entry | None:
        # Not by the address of one entry: there a missing entry and a wrong address would both be 404.
        entries = self.map_entries(name, prefix=key, limit=1)
        return entries[0] if entries and entries[0].key == key else None

    def map_put(self, name: str, entries: dict[str, str], expected_version: int | None = None) -> None:
        values = {key: json.loads(value) for key, value in entries.items()}
        self._send("POST", _map(name) + "/entries", json=without_none({"entries": values, "expected_version": expected_version}))

    def map_delete(self, name: str, key: str, version: int | None = None) -> bool:
        return bool(self._send("DELETE", _map(name) + "/entry", params=without_none({"key": key, "version": version}))["deleted"])

    def map_clear(self, name: str) -> int:
        return int(self._send("DELETE", _map(name) + "/entries")["deleted"])

    def map_entries(self, name: str, prefix: str = "", after: str | None = None, limit: int = 1000) -> list[Entry]:
        return self._get(list[Entry], _map(name) + "/entries", prefix=prefix, after=after, limit=limit)

    def map_search(self, name: str, where: str, prefix: str = "", after: str | None = None, limit: int = 1000) -> FoundEntries:
        return self._get(FoundEntries, _map(name) + "/search", where=where, prefix=prefix, after=after, limit=limit)

    def map_size(self, name: str) -> int:
        return int(self._send("GET", _map(name) + "/size")["size"])

    def map_configure(self, name: str, journal_capacity: int | None = None, ttl_seconds: float | None = None) -> None:
        body = {"journal_capacity": journal_capacity, "ttl_seconds": ttl_seconds}
        self._send("PUT", _map(name), json=body, repeatable=True)

    def map_journal(self, name: str, after: int | None = None, limit: int = 1000) -> JournalPage:
        page = self._get(JournalPage, _map(name) + "/journal", after=after, limit=limit)
        return dataclasses.replace(page, events=[_with_nulls(event) for event in page.events])


def _with_nulls(event: JournalEvent) -> JournalEvent:
    """Return the event with its nulls restored: HTTP shows null and no value alike, and the event's kind tells them apart."""
    old = event.old_value or ("null" if event.kind is not EventKind.ADDED else None)
    new = event.new_value or ("null" if event.kind in (EventKind.ADDED, EventKind.UPDATED) else None)
    return dataclasses.replace(event, old_value=old, new_value=new)


def _map(name: str) -> str:
    return f"/maps/{quote(check_name('map', name), safe='')}"
