"""The events as a stage's aggregates take them in, in plain Python."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from tests.soak.chain import KEYS, TABLE_KEYS, Stage, time_of

Event = tuple[int, int, int, int]
"""seq, key, v, ms."""


def events(first: int, last: int) -> Iterator[Event]:
    for seq in range(first, last):
        yield seq, (seq * 7919) % KEYS, seq % 10, time_of(seq)


def reads(stage: Stage, event: Event) -> bool:
    """Whether the event gets to the stage's first input."""
    return event[2] < stage.below and (not stage.enriched or event[1] < TABLE_KEYS)


# name -> (the input it reads, what a row brings, combine, finish)
AGGREGATES: dict[str, tuple[int, Callable[[Event], Any], Callable[[Any, Any], Any], Callable[[Any], Any]]] = {
    "n": (0, lambda e: 1, lambda a, b: a + b, lambda n: n or 0),
    "total": (0, lambda e: e[2], lambda a, b: a + b, lambda total: total),
    "high": (0, lambda e: e[0], max, lambda high: high),
    "low": (0, lambda e: e[0], min, lambda low: low),
    "mean": (0, lambda e: (e[2], 1), lambda a, b: (a[0] + b[0], a[1] + b[1]), lambda m: m and m[0] / m[1]),
    "b_n": (1, lambda e: 1, lambda a, b: a + b, lambda n: n or 0),
    "b_high": (1, lambda e: e[0], max, lambda high: high),
}
Held = dict[str, Any]
"""Aggregate -> accumulator; one that is not there is the neutral element."""


def lifted(stage: Stage, event: Event) -> Held | None:
    """What an event brings to a stage's aggregates, None if it does not get there."""
    inputs = {number for number, gets in ((0, reads(stage, event)), (1, stage.other is not None and event[2] < 3)) if gets}
    if not inputs:
        return None
    return {name: AGGREGATES[name][1](event) for name in stage.aggregates if AGGREGATES[name][0] in inputs}


def merged(a: Held, b: Held) -> Held:
    return {
        name: AGGREGATES[name][2](a[name], b[name]) if name in a and name in b else a.get(name, b.get(name)) for name in {*a, *b}
    }


def finished(stage: Stage, held: Held) -> dict[str, Any]:
    return {name: AGGREGATES[name][3](held.get(name)) for name in stage.aggregates}


def only(stage: Stage, held: Held) -> Held:
    return {name: value for name, value in held.items() if name in stage.aggregates}
