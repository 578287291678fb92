"""What happens: event n of a feed is the same for whoever asks, so how many there were says what must come of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass

START_MS, STEP_MS = 1_700_000_000_000, 100
KEYS, BURST = 8, 40
"""So many events of one key, then of the next: a session ends long before its key comes again."""
LAST_KEY, AFTER_MS = 99, 3_600_000
"""Of the events that come after all others, and close all windows."""
WILD_KEY, WILD_MS = 98, 7_258_118_400_000
"""Of the events of the year 2200."""


@dataclass(frozen=True)
class Event:
    """An event of any feed. ``ms``: event time."""

    seq: int
    key: int
    v: int
    ms: int

    def values(self) -> dict[str, int]:
        return asdict(self)


def event(seq: int) -> Event:
    return Event(seq, seq // BURST % KEYS, seq * 7919 % 1000, START_MS + seq * STEP_MS)


def closing(seq: int) -> Event:
    """One that comes after all others."""
    return Event(seq, LAST_KEY, 0, START_MS + seq * STEP_MS + AFTER_MS)


def wild(number: int) -> Event:
    """One whose time cannot be: it is left out by whoever asks for its time."""
    return Event(-1 - number, WILD_KEY, 0, WILD_MS)


def key_name(key: int) -> str:
    """What the table of keys says."""
    return f"key {key}"


def events(count: int) -> Iterator[Event]:
    return map(event, range(count))
