"""The answers of the service about maps and their journals."""

from __future__ import annotations

from dataclasses import dataclass

from pitstop.kit.wire import described
from pitstop.maps.model import Entry, JournalEvent


@described
@dataclass(frozen=True)
class MapFacts:
    """A map and its journal."""

    name: str
    """Its name."""
    size: int
    """The number of its entries."""
    journal_capacity: int
    """The number of events that its journal keeps."""
    ttl_seconds: float | None
    """The time after its last write at which an entry expires, in seconds; null: never."""
    oldest: int
    """The sequence of the oldest event that is kept."""
    newest: int
    """The sequence of the newest event; less than oldest if there is none."""


@described
@dataclass(frozen=True)
class FoundEntries:
    """The result of one search through a map. A search looks at a limited number of entries, for a limited time."""

    entries: list[Entry]
    """The entries that match, by key."""
    looked_at: int
    """The number of entries that were looked at, also of those that do not match."""
    stopped_at: str | None
    """The key at which it stopped: there may be more behind it; null: all to the end were looked at."""


@described
@dataclass(frozen=True)
class JournalPage:
    """A page of a map's journal."""

    events: list[JournalEvent]
    """The events, the oldest first."""
    lost: int
    """The number of events after the requested sequence that are no longer kept."""
    oldest: int
    """The sequence of the oldest event that is kept."""
    newest: int
    """The sequence of the newest event."""
