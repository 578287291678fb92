"""What befalls a job of a real server, made of a seed: the same seed makes the same story."""

from __future__ import annotations

import random
from dataclasses import dataclass
from enum import StrEnum

from tests.soak.generator import STATE_STORES
from tests.soak.served.job import Line
from tests.spark.chains import KINDS

STEPS = 5


class Step(StrEnum):
    """One thing that befalls the job while its events go on."""

    UPDATED = "updated"
    """A sound version, of another structure, takes its place."""
    FAILS_AND_RESUMED = "fails, mended from outside, resumed"
    FAILS_AND_UPDATED = "fails, updated to a sound version"
    CANCELLED = "cancelled and brought back"
    SNAPSHOT_DELETED = "its snapshot deleted while it goes on"
    SNAPSHOT_NEEDED = "another job starts from its snapshot, which is deleted too early and later"
    LOCKED = "the store locked"
    CLOCK = "the clock stepped"
    KILLED = "its process killed"
    JAVA_KILLED = "its Java killed: its own, or the engine's that it shares"
    SERVER_KILLED = "the server killed and started again"
    LOADS = "an update that loads for ever"
    HANGS = "an update that hangs in its first epoch"
    FAILS_LATE = "an update that fails late"
    ROLLED_BACK = "an update that is rolled back late"


@dataclass(frozen=True)
class Story:
    seed: int
    lines: tuple[Line, ...]
    steps: tuple[Step, ...]
    numbers: tuple[int, ...]
    """One random number for each step: seconds of a lock, of a clock step ..."""
    state_store: str
    """Where the job keeps its state until an update moves it."""

    @property
    def text(self) -> str:
        lines = "; ".join(" -> ".join(line) for line in self.lines)
        return f"{lines} | state in {self.state_store} | {'; '.join(self.steps)}"


def story(seed: int, steps: int = STEPS) -> Story:
    """The story of a seed. Seeds that follow one another share out the steps, so that each comes as often as the others."""
    drawn = random.Random(f"story {seed}")
    lines = tuple(tuple(drawn.choice(list(KINDS)) for _ in range(drawn.choice((2, 2, 3)))) for _ in range(2))
    numbers = tuple(drawn.randrange(10**6) for _ in range(steps))
    return Story(seed, lines, dealt(seed, steps), numbers, drawn.choice(STATE_STORES))


def dealt(seed: int, count: int) -> tuple[Step, ...]:
    """So many steps from a row of shuffled decks, as the seed-th hand."""
    first, found = seed * count, []
    for place in range(first, first + count):
        deck = list(Step)
        random.Random(f"deck {place // len(deck)}").shuffle(deck)
        found.append(deck[place % len(deck)])
    return tuple(found)
