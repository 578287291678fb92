"""A map, for people who write Python."""

from __future__ import annotations

import json
from typing import Any

from pitstop.kit.wire import json_text
from pitstop.maps.model import Entry
from pitstop.service.api import Service
from pitstop.service.map_results import JournalPage


class MapHandle:
    """A map. Its values can be any objects that JSON can hold."""

    def __init__(self, service: Service, name: str) -> None:
        self._service = service
        self.name = name

    def put(self, key: str, value: Any, expected_version: int | None = None) -> None:
        """Write one entry.

        With ``expected_version``, the entry is written only if it still has that version (:meth:`entry`; 0: there is no entry).
        ConflictError if it was written meanwhile.
        """
        self._service.map_put(self.name, {key: self._text(key, value)}, expected_version)

    def put_all(self, entries: dict[str, Any]) -> None:
        """Write entries, all or none. UsageError if a value cannot be written as JSON."""
        self._service.map_put(self.name, {key: self._text(key, value) for key, value in entries.items()})

    def get(self, key: str) -> Any:
        """Return the value of an entry; None if there is no such entry."""
        value = self._service.map_get(self.name, key)
        return None if value is None else json.loads(value)

    def entry(self, key: str) -> Entry | None:
        """Return the entry with its version and times, and its value as JSON text; None if there is no such entry."""
        return self._service.map_entry(self.name, key)

    def delete(self, key: str, version: int | None = None) -> bool:
        """Delete an entry; False if there was none. With ``version``, ConflictError if the entry no longer has that version."""
        return self._service.map_delete(self.name, key, version)

    def clear(self) -> int:
        """Delete all entries; return their number. The map keeps its settings, and its journal has an event for each."""
        return self._service.map_clear(self.name)

    def entries(self, prefix: str = "") -> dict[str, Any]:
        """Return all entries whose key begins with ``prefix``, by key."""
        values: dict[str, Any] = {}
        after: str | None = None
        while page := self._service.map_entries(self.name, prefix, after, 1000):
            values |= {entry.key: json.loads(entry.value) for entry in page}
            after = page[-1].key
        return values

    def size(self) -> int:
        """Return the number of entries."""
        return self._service.map_size(self.name)

    def journal(self, after: int | None = None, limit: int = 1000) -> JournalPage:
        """Return a page of events with sequence > ``after`` (None: from the oldest that is kept). Their values are JSON text."""
        return self._service.map_journal(self.name, after, limit)

    def configure(self, journal_capacity: int | None = None, ttl_seconds: float | None = None) -> None:
        """Make the map or change its settings. None leaves a setting as it is; ``ttl_seconds`` 0 keeps entries for ever."""
        self._service.map_configure(self.name, journal_capacity, ttl_seconds)

    def _text(self, key: str, value: Any) -> str:
        return json_text(value, f"The value of '{key}' for map '{self.name}'")
