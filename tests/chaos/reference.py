"""What the jobs' sinks must hold, in plain Python over the same events (docs/stages.md)."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping

from tests.chaos.events import Event, events, key_name

Row = tuple[int | str | None, ...]
Rows = Counter[Row]
SIZE_MS, SLIDE_MS, TIMEOUT_MS, WITHIN_MS = 10_000, 5_000, 5_000, 20_000
COLUMNS = {
    "rolled": ("seq", "n", "total"),
    "mapped": ("seq", "n", "seen"),
    "owned": ("key", "start", "n", "total"),
    "windows": ("key", "start", "n", "total"),
    "sessions": ("key", "start", "until", "n", "most"),
    "distinct": ("grp", "of"),
    "named": ("seq", "name"),
    "joined": ("pair", "seq", "other", "v", "w"),
}
"""Of each folder that is written."""
WATCHED = ("seq", "n", "total")
"""Of the folder that a sink of one's own writes: epochs that it did not take are missing there, but what is there is right."""
MAPS = ("files-buckets", "objects-buckets")


def expected(count: int) -> Mapping[str, Rows]:
    """The rows of each folder, if each feed had so many events before those that close all windows."""
    return {
        "rolled": _rolled(count),
        "mapped": _mapped(count),
        "owned": _windows(count, SIZE_MS),
        "windows": _windows(count, SLIDE_MS),
        "sessions": _sessions(count),
        # Of the rows of a group that come in one epoch, from two files when one was rotated, any may be the one.
        "distinct": Counter({(group, group): 1 for group in {event.seq // 3 for event in events(count)}}),
        "named": Counter((event.seq, key_name(event.key)) for event in events(count)),
        "joined": _joined(count),
    }


def in_buckets(count: int) -> Mapping[str, int]:
    """The entries of each map, if each feed had so many events in all."""
    return Counter(str(seq % 50) for seq in range(count))


def rolled_of_keys(count: int) -> Rows:
    """Return the rows of ``rolled`` with their keys."""
    seqs = {row[0]: row for row in _rolled(count)}
    return Counter((event.seq, event.key, *seqs[event.seq][1:]) for event in events(count))


def totals(count: int) -> Rows:
    """Return the number of events of each key and their sum."""
    held: dict[int, tuple[int, int]] = defaultdict(lambda: (0, 0))
    for event in events(count):
        held[event.key] = held[event.key][0] + 1, held[event.key][1] + event.v
    return Counter((key, *sums) for key, sums in held.items())


def windows(count: int) -> Rows:
    """Return the rows of ``windows``."""
    return _windows(count, SLIDE_MS)


def _rolled(count: int) -> Rows:
    held: dict[int, tuple[int, int]] = defaultdict(lambda: (0, 0))
    rows: Rows = Counter()
    for event in events(count):
        n, total = held[event.key]
        held[event.key] = n + 1, total + event.v
        rows[(event.seq, *held[event.key])] += 1
    return rows


def _mapped(count: int) -> Rows:
    held: dict[int, tuple[int, int | None]] = defaultdict(lambda: (0, None))
    rows: Rows = Counter()
    for event in events(count):
        n, seen = held[event.key]
        held[event.key] = n + 1, event.seq
        rows[(event.seq, n + 1, seen)] += 1
    return rows


def _windows(count: int, slide: int) -> Rows:
    held: dict[tuple[int, int], tuple[int, int]] = defaultdict(lambda: (0, 0))
    for event in events(count):
        newest = event.ms - event.ms % slide
        for start in range(newest, newest - SIZE_MS, -slide):
            n, total = held[event.key, start]
            held[event.key, start] = n + 1, total + event.v
    return Counter((*at, *sums) for at, sums in held.items())


def _sessions(count: int) -> Rows:
    rows: Rows = Counter()
    held: dict[int, list[Event]] = defaultdict(list)
    for event in events(count):
        session = held[event.key]
        if session and event.ms - session[-1].ms >= TIMEOUT_MS:
            rows[_session(session)] += 1
            session.clear()
        session.append(event)
    rows.update(_session(session) for session in held.values())
    return rows


def _session(found: list[Event]) -> Row:
    return found[0].key, found[0].ms, found[-1].ms + TIMEOUT_MS, len(found), max(event.v for event in found)


def _joined(count: int) -> Rows:
    others: dict[int, list[Event]] = defaultdict(list)
    for event in events(count):
        if event.seq % 5 == 0:
            others[event.seq // 10].append(event)
    rows: Rows = Counter()
    for event in events(count):
        for other in others.get(event.seq // 10, ()) if event.seq % 5 == 0 else ():
            assert abs(event.ms - other.ms) <= WITHIN_MS, "what belongs together comes together"
            rows[(event.seq // 10, event.seq, other.seq, event.v, other.v)] += 1
    return rows
