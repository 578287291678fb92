"""What changes, as events: for those who show it while it happens.

Nothing writes events down. A look at all that is shown is compared with the look before; what differs is an event. So events
tell what is, not all that was in between, and a reader who has missed some reads everything anew.
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
"""Events that a reader can catch up with."""


class FeedKind(StrEnum):
    """What an event is about; its key is in brackets."""

    JOB = "job"
    """A job without its progress (its id)."""
    PROGRESS = "progress"
    """The progress of a job's run (the job's id)."""
    SNAPSHOT = "snapshot"
    """A named snapshot (its name)."""
    MAP = "map"
    """A map and its journal (its name)."""
    OPERATION = "operation"
    """What was asked of a job, until a minute after it was answered (its number)."""
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
    """As it is now; None if it is there no more."""

    @cached_property
    def json(self) -> str:
        """``key`` and ``value`` as they travel: made once for all who read it."""
        value = "null" if self.value is None else _form(cast(Any, type(self.value))).dump_json(self.value).decode()
        return f'{{"key":{json.dumps(self.key, ensure_ascii=False)},"value":{value}}}'


class Feed:
    """The newest events, numbered without gaps."""

    def __init__(self, most: int = MOST_KEPT) -> None:
        self._events: deque[FeedEvent] = deque(maxlen=most)
        self._seen: dict[Key, Any] | None = None
        self.newest = 0
        """The number of the last event; 0 before the first."""

    def look(self, world: Mapping[Key, Any]) -> int:
        """Take over what there is now; how many events that were. The first look is compared with nothing, and makes none."""
        before, self._seen = self._seen, dict(world)
        if before is None:
            return 0
        changed = [key for key, value in world.items() if key not in before or _differs(before[key], value)]
        gone = [key for key in before if key not in world]
        for kind, key in (*changed, *gone):
            self.newest += 1
            self._events.append(FeedEvent(self.newest, kind, key, world.get((kind, key))))
        return len(changed) + len(gone)

    def after(self, number: int, most: int = MOST_KEPT) -> list[FeedEvent] | None:
        """The first events after one; None if some of them are kept no more, or there has been none of that number."""
        kept, missed = len(self._events), self.newest - number
        if not 0 <= missed <= kept:
            return None
        # By their places from the newest on: whoever follows is near it, and there are many who do.
        return [self._events[place] for place in range(kept - missed, min(kept, kept - missed + most))]


@cache
def _form(kind: Any) -> TypeAdapter[Any]:
    """How values of this kind travel, as in every other answer."""
    from pydantic import TypeAdapter  # the command line has no use for it

    return TypeAdapter(kind)


def _differs(before: Any, now: Any) -> bool:
    """Most of what is looked at is the very same object as before."""
    return before is not now and bool(before != now)
