"""Changes as events, for pages that show them while they happen.

Events are not stored. Each look at the shown values is compared with the look before, and each difference is an event. Events
therefore tell the present values, not every value in between. A reader that has missed some reads everything anew.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from pydantic import TypeAdapter

MOST_KEPT = 10_000
"""The number of events that a reader can catch up with."""


class FeedKind(StrEnum):
    """The subject of an event; its key is in brackets."""

    JOB = "job"
    """A job without its progress (its id)."""
    PROGRESS = "progress"
    """The progress of a job's run (the job's id)."""
    SNAPSHOT = "snapshot"
    """A named snapshot (its name)."""
    MAP = "map"
    """A map and its journal (its name)."""
    OPERATION = "operation"
    """A request to a job, until a minute after its answer (its number)."""
    CLUSTER = "cluster"
    """State, members and leader of the cluster ("cluster")."""


Key = tuple[FeedKind, str]


@dataclass(frozen=True)
class FeedEvent:
    """One change."""

    number: int
    kind: FeedKind
    key: str
    value: Any
    """The present value; None if it is gone."""

    @cached_property
    def json(self) -> str:
        """``key`` and ``value`` as JSON, made once for all readers."""
        value = "null" if self.value is None else _form(cast(Any, type(self.value))).dump_json(self.value).decode()
        return f'{{"key":{json.dumps(self.key, ensure_ascii=False)},"value":{value}}}'


class Feed:
    """The newest events, numbered without gaps."""

    def __init__(self, most: int = MOST_KEPT) -> None:
        self._events: deque[FeedEvent] = deque(maxlen=most)
        self._values: dict[Key, Any] | None = None
        self.newest = 0
        """The number of the last event; 0 before the first event."""

    def look(self, world: Mapping[Key, Any]) -> int:
        """Take over the present values, and return the number of new events. The first look makes none."""
        before, self._values = self._values, dict(world)
        if before is None:
            return 0
        changed_keys = [key for key, value in world.items() if key not in before or _differs(before[key], value)]
        missing_keys = [key for key in before if key not in world]
        for kind, key in (*changed_keys, *missing_keys):
            self.newest += 1
            self._events.append(FeedEvent(self.newest, kind, key, world.get((kind, key))))
        return len(changed_keys) + len(missing_keys)

    def after(self, number: int, most: int = MOST_KEPT) -> list[FeedEvent] | None:
        """Return the first events after a number; None if some of them are no longer kept, or the number is yet to come."""
        count, distance = len(self._events), self.newest - number
        if not 0 <= distance <= count:
            return None
        # Counted from the newest event: readers that follow are near it, and there are many.
        return [self._events[place] for place in range(count - distance, min(count, count - distance + most))]


@cache
def _form(kind: Any) -> TypeAdapter[Any]:
    """Return the adapter that writes values of this kind as JSON, as in every other answer."""
    from pydantic import TypeAdapter  # the command line has no use for it

    return TypeAdapter(kind)


def _differs(before: Any, now: Any) -> bool:
    """True if two values differ. Most values are the very same object as before."""
    return before is not now and bool(before != now)
