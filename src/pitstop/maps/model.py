"""Maps and their event journals: the values."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from pitstop.errors import ConflictError, UsageError
from pitstop.kit.durations import LONGEST_MS
from pitstop.kit.wire import JsonText, Moment, described

MOST_EVENTS = 1_000_000_000
"""The largest journal."""
LONGEST_SECONDS = LONGEST_MS / 1000
"""The longest time to live."""
SHOWN = 40
"""The number of letters that are shown of a key that is too long."""


@dataclass(frozen=True)
class MapConfig:
    """Capacity and expiry of a map; UsageError if they make no sense."""

    name: str
    journal_capacity: int = 10_000
    """Events kept; 0 keeps none (the map then has no journal to read from)."""
    ttl_seconds: float | None = None
    """Entries expire this long after their last write; None keeps them."""

    def __post_init__(self) -> None:
        if self.journal_capacity < 0:
            raise UsageError(f"The journal capacity of map '{self.name}' can't be negative: {self.journal_capacity}.")
        if self.journal_capacity > MOST_EVENTS:
            raise UsageError(f"The journal of map '{self.name}' keeps {MOST_EVENTS:,} events at most: {self.journal_capacity}.")
        if self.ttl_seconds is not None and not self.ttl_seconds > 0:
            raise UsageError(f"The time to live of map '{self.name}' must be more than 0 seconds: {self.ttl_seconds}.")
        if self.ttl_seconds is not None and self.ttl_seconds > LONGEST_SECONDS:
            raise UsageError(f"The time to live of map '{self.name}' is a hundred years at most: {self.ttl_seconds} seconds.")

    @classmethod
    def kept(cls, name: str, journal_capacity: int, ttl_seconds: float | None) -> MapConfig:
        """As it stands in a store, into which an older release has let larger numbers."""
        return cls(name, min(journal_capacity, MOST_EVENTS), min(ttl_seconds, LONGEST_SECONDS) if ttl_seconds else None)


@described
@dataclass(frozen=True)
class Entry:
    """One entry of a map."""

    key: str
    """Its key."""
    value: JsonText
    """Its value."""
    created: Moment
    """First write."""
    updated: Moment
    """Last write."""
    expires: Moment | None
    """The time at which it expires; null: never."""
    version: int
    """The number of times that it was written since it is there."""


def is_too_long(key: str, longest: int | None) -> bool:
    """Return True if the key has more bytes than ``longest``, the most that a store can keep."""
    return longest is not None and len(key) > longest // 4 and len(key.encode("utf-8", "replace")) > longest


def check_keys(name: str, keys: Iterable[str], longest: int | None) -> None:
    """Raise UsageError if one of these keys for the map ``name`` is longer than its store can keep."""
    for key in keys:
        if is_too_long(key, longest):
            raise UsageError(
                f"A key for map '{name}' has {len(key.encode('utf-8', 'replace')):,} bytes, and this store takes {longest:,} at "
                f"most: make it shorter ('{key[:SHOWN]}...')."
            )


def check_version(name: str, key: str, entry: Entry | None, version: int) -> None:
    """Raise ConflictError unless the key's entry in the map ``name`` has that version; 0 stands for no entry."""
    actual = entry.version if entry is not None else 0
    if actual != version:
        raise ConflictError(
            f"Somebody else has written entry '{key}' of map '{name}' meanwhile: it has {_version_text(actual)}, and was "
            f"expected to have {_version_text(version)}. Read it again.",
            key=key,
            found=actual,
            expected=version,
        )


def _version_text(version: int) -> str:
    return f"version {version}" if version else "version 0, which is none"


class EventKind(StrEnum):
    """The kind of a change to an entry."""

    ADDED = "ADDED"
    UPDATED = "UPDATED"
    REMOVED = "REMOVED"
    EXPIRED = "EXPIRED"


@described
@dataclass(frozen=True)
class JournalEvent:
    """One change of a map."""

    sequence: int
    """From 1, without gaps."""
    kind: EventKind
    """The kind of the change."""
    key: str
    """Of the entry."""
    old_value: JsonText | None
    """Value before; null if there was none."""
    new_value: JsonText | None
    """Value after; null if there is none."""
    at: Moment
    """When."""


@dataclass(frozen=True)
class JournalBounds:
    """The range of a journal that can still be read: sequences ``oldest .. newest``; empty if newest < oldest."""

    incarnation: str
    """Changes when the map is dropped and made anew, so that old offsets mean nothing."""
    oldest: int
    newest: int


@dataclass(frozen=True)
class MapOverview:
    """A map without its entries and events."""

    config: MapConfig
    size: int
    """Entries that have not expired."""
    bounds: JournalBounds


@dataclass(frozen=True)
class JournalSlice:
    events: tuple[JournalEvent, ...]
    lost: int
    """The number of events after the requested position that had already been dropped."""
    bounds: JournalBounds
