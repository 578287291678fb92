"""Journal rules, as pure functions: what a list of changes does to entries, and the events it leaves.

Both stores (SQL and in memory) apply changes by these functions, so that their journals agree.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import repeat

from pitstop.maps.model import EventKind
from pitstop.maps.order import is_older

Update = Callable[[str | None, str | None], str | None]
"""``update(old value, new value)`` gives the value to store; None removes the entry."""

Stored = tuple[str, float, int, str | None]
"""(value, created, version, order) of an entry. Plain tuples: they are made a hundred thousand times a second."""

Event = tuple[int, str, str, str | None, str | None, float]
"""(sequence, kind, key, old value, new value, seconds since the epoch), as JournalEvent without its cost."""

_ADDED, _UPDATED, _REMOVED = EventKind.ADDED.value, EventKind.UPDATED.value, EventKind.REMOVED.value
_EXPIRED = EventKind.EXPIRED.value


def apply_changes(
    changes: Iterable[tuple[str, str | None]],
    stored: dict[str, Stored | None],
    newest: int,
    at: float,
    update: Update | None = None,
    orders: Sequence[str] | None = None,
) -> tuple[list[Event], int]:
    """Apply changes in order. Return their events, numbered from ``newest + 1`` without gaps, and the number of older changes.

    ``orders`` has the order of each change (maps.order): one that is older than the entry leaves it as it is, and leaves no
    event. Without orders, an entry has none afterwards.

    ``stored`` holds what the map has of the keys that change (a missing key or None: no entry); it is brought up to
    date in place, None standing for a removed entry. Afterwards its keys are just those that changed. Removing what is not
    there leaves no event.
    """
    events: list[Event] = []
    emit, find, sequence, older = events.append, stored.get, newest, 0
    for (key, value), order in zip(changes, repeat(None) if orders is None else orders):  # noqa: B905 (one has no end)
        old = find(key)
        if order is not None and old is not None and is_older(order, old[3]):
            older += 1
            continue
        before = None if old is None else old[0]
        after = value if update is None else update(before, value)
        if after is not None:
            sequence += 1
            if old is None:
                stored[key] = (after, at, 1, order)
                emit((sequence, _ADDED, key, None, after, at))
            else:
                stored[key] = (after, old[1], old[2] + 1, order)
                emit((sequence, _UPDATED, key, before, after, at))
        elif old is not None:
            sequence += 1
            stored[key] = None
            emit((sequence, _REMOVED, key, before, None, at))
    if orders is not None:
        changed_keys = {event[2] for event in events}
        for key in [key for key in stored if key not in changed_keys]:
            del stored[key]
    return events, older


def change_of(sequence: int, key: str, before: str | None, after: str | None, at: float) -> Event:
    """Return the event of an entry that has another value now; None stands for no entry."""
    if after is None:
        return (sequence, _REMOVED, key, before, None, at)
    return (sequence, _ADDED if before is None else _UPDATED, key, before, after, at)


def removals(entries: Iterable[tuple[str, str]], newest: int, at: float) -> list[Event]:
    """Return the events of entries (key, value) that are removed, in the order given."""
    return [(sequence, _REMOVED, key, value, None, at) for sequence, (key, value) in enumerate(entries, newest + 1)]


def expirations(entries: Iterable[tuple[str, str, float]], newest: int) -> list[Event]:
    """Return the events of entries (key, value, time of expiry) whose time has run out, in the order given."""
    return [(sequence, _EXPIRED, key, value, None, at) for sequence, (key, value, at) in enumerate(entries, newest + 1)]


def lost(after: int, oldest: int) -> int:
    """Return the number of events after sequence ``after`` that are gone from a journal whose oldest event is ``oldest``."""
    return max(0, oldest - 1 - after)


def past_prefix(prefix: str) -> str | None:
    """Return the least text above all texts with that prefix, in the order of their code points; None if there is none."""
    last = prefix.rstrip("\U0010ffff")
    if not last:
        return None
    code = ord(last[-1]) + 1
    return last[:-1] + chr(0xE000 if code == 0xD800 else code)  # surrogates are no characters
