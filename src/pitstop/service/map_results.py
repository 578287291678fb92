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
    """Entries."""
    journal_capacity: int
    """Events its journal keeps."""
    ttl_seconds: float | None
    """Entries expire so long after their last write; null: never."""
    oldest: int
    """Sequence of the oldest event kept."""
    newest: int
    """Sequence of the newest event; less than oldest if there is none."""


@described
@dataclass(frozen=True)
class FoundEntries:
    """The result of one search through a map. A search looks at a limited number of entries, for a limited time."""

    entries: list[Entry]
    """The entries that match, by key."""
    looked_at: int
    """Entries that were looked at, those of other values included."""
    stopped_at: str | None
    """The key at which it stopped: there may be more behind it; null: all to the end were looked at."""


@described
@dataclass(frozen=True)
class JournalPage:
    """A page of a map's journal."""

    events: list[JournalEvent]
    """Oldest first."""
    lost: int
    """Events after the asked sequence that are no longer kept."""
    oldest: int
    """Sequence of the oldest event kept."""
    newest: int
    """Sequence of the newest event."""
