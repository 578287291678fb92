"""A chain: versions of one job, each of which goes on from the snapshot of the one before. Pure values, made of a seed."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from tests.spark.sequence import START_MS

KEYS, BURST, PAUSE, LAG = 20, 2_000, 5_000, 2_000
"""Of the events: how many keys; after each ``BURST`` events, ``PAUSE`` ms without one; the watermark's lag in ms."""
TABLE_KEYS = 12
"""The table of hash joins has the keys below this one, so an inner join drops the others."""
BUCKET = 700
"""Rows of this many events in a row are one group of a distinct stage."""


class Kind(StrEnum):
    WINDOW = "window"
    SESSION = "session"
    ROLLING = "rolling"
    MAPPED = "mapped"
    DISTINCT = "distinct"
    JOIN = "join"
    OWN = "own"
    BRANCH = "branch"
    """Stateless."""
    LINE = "line"
    """Several stages with state, one behind the other: its links."""


@dataclass(frozen=True)
class Link:
    """A stage of a line. It takes rows (key, v, time) and gives such rows. Times in ms."""

    name: str
    kind: Kind
    """Of the kinds with state, all but those of the users' own Spark code."""
    size: int = 0
    slide: int = 0
    timeout: int | None = None
    """As of a stage."""


@dataclass(frozen=True)
class Stage:
    """One named stage and the sink that its rows go to. Times in ms."""

    name: str
    kind: Kind
    sink: str = "files"
    """files, map or custom."""
    sink_name: str | None = None
    below: int = 10
    """It reads the events with v < below."""
    enriched: bool = False
    """It reads them through an inner hash join."""
    doubled: bool = False
    """It reads them twice and drops the repetitions in a distinct stage before it, ``<name>-seen``."""
    other: str | None = None
    """The second source, of a join or a co-aggregation."""
    key: str = "key"
    aggregates: tuple[str, ...] = ()
    size: int = 0
    slide: int = 0
    timeout: int | None = None
    """Of a session; the time to live of mapped state; the bound of distinct and join."""
    early: bool = False
    how: str = "inner"
    seen: bool = False
    """Mapped state has a second field."""
    every: int = 1
    """A branch and a line keep, and what follows row-by-row stages keeps, each so manieth event."""
    links: tuple[Link, ...] = ()

    @property
    def out(self) -> str:
        """Name of the sink; another kind of sink is another sink."""
        return self.sink_name or f"{self.name}-{self.sink}"


@dataclass(frozen=True)
class Refusal:
    """A change that the rules refuse, tried before the version starts."""

    text: str
    rule: str
    stages: tuple[Stage, ...]


@dataclass(frozen=True)
class Kill:
    """SIGKILL of the process ``delay`` ms after it began to write epoch ``epoch`` of the version (None: to restore)."""

    epoch: int | None
    delay: int


@dataclass(frozen=True)
class Version:
    stages: tuple[Stage, ...]
    changes: tuple[str, ...]
    epochs: int
    step: int
    """Events that each source gives an epoch."""
    partitions: int | None
    renamed: tuple[tuple[str, str], ...] = ()
    """(new name, old name)."""
    refusals: tuple[Refusal, ...] = ()
    kills: tuple[Kill, ...] = ()
    state_store: str = "rocksdb"

    @property
    def events(self) -> int:
        return self.epochs * self.step


@dataclass(frozen=True)
class Chain:
    seed: int
    versions: tuple[Version, ...]

    def first(self, number: int) -> int:
        """The first event that version ``number`` reads; all sources go side by side."""
        return sum(version.events for version in self.versions[:number])

    @property
    def total(self) -> int:
        return self.first(len(self.versions))


def time_of(seq: int) -> int:
    """Event time in ms."""
    return seq + START_MS + seq // BURST * PAUSE
