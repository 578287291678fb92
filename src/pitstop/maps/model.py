"""Maps and their event journals: the values."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


@dataclass(frozen=True)
class MapConfig:
    """Capacity and expiry of a map."""

    name: str
    journal_capacity: int = 10_000
    """Events kept; 0 keeps none (the map then has no journal to read from)."""
    ttl_seconds: float | None = None
    """Entries expire this long after their last write; None keeps them."""


@dataclass(frozen=True)
class Entry:
    key: str
    value: str
    """JSON text."""
    created: float
    updated: float
    expires: float | None
    version: int
    """How often it was written."""


class EventKind(StrEnum):
    ADDED = "ADDED"
    UPDATED = "UPDATED"
    REMOVED = "REMOVED"
    EXPIRED = "EXPIRED"


@dataclass(frozen=True)
class JournalEvent:
    sequence: int
    """From 1, without gaps."""
    kind: EventKind
    key: str
    old_value: str | None
    new_value: str | None
    at: float


@dataclass(frozen=True)
class JournalBounds:
    """What of a journal can still be read: sequences ``oldest .. newest``; empty if newest < oldest."""

    incarnation: str
    """Changes when the map is dropped and made anew: old offsets then mean nothing."""
    oldest: int
    newest: int


@dataclass(frozen=True)
class JournalSlice:
    events: tuple[JournalEvent, ...]
    lost: int
    """How many events after the asked position had already been dropped."""
    bounds: JournalBounds
