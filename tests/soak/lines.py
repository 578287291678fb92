"""Lines of stages with state, one behind the other, epoch by epoch in plain Python: what one gives is what the next one reads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from tests.soak.accumulators import Event, events, reads
from tests.soak.chain import Kind, Link, Stage
from tests.soak.states import Branch, Distinct, Epoch, Expected, Join, Mapped, Own, Rolling, Sessions, State, Windows

Rows = list[tuple[int, int, int]]
"""(key, v, ms), by ms."""
OTHER, OTHER_AT = 201, 5
"""Joins find each so manieth event: those of a key are further apart than twice any bound, so a row finds at most one."""
IMMEDIATE = (Kind.ROLLING, Kind.DISTINCT, Kind.JOIN)
"""What gives its rows in the epoch in which their input comes; behind a join the watermark lags, by how much is not told."""


class LinkState:
    """What a link keeps."""

    def become(self, link: Link, watermark: int) -> None:
        pass

    def epoch(self, link: Link, rows: Rows, epoch: Epoch) -> Rows:
        """The rows that it gives for these."""
        raise NotImplementedError


class OfStage(LinkState):
    """Windows and sessions, as they are without a line; the event time of their rows is the end."""

    def __init__(self, state: State) -> None:
        self._state = state

    def become(self, link: Link, watermark: int) -> None:
        self._state.become(_as_stage(link), watermark)

    def epoch(self, link: Link, rows: Rows, epoch: Epoch) -> Rows:
        out, stage = Expected(), _as_stage(link)
        found: list[Event] = [(0, *row) for row in rows]
        self._state.read(stage, found, out)
        self._state.end(stage, epoch.before, epoch.watermark, out)
        made = [dict(row) for row in out.rows.elements()]
        return [(row["key"], row["total"], row["end"]) for row in made]


def _as_stage(link: Link) -> Stage:
    everything = 10**9
    return Stage(
        link.name, link.kind, below=everything, aggregates=("total",), size=link.size, slide=link.slide, timeout=link.timeout
    )


class RollingLink(LinkState):
    """Sum, count and highest so far, in one number."""

    def __init__(self) -> None:
        self._held: dict[int, tuple[int, int, int]] = {}

    def epoch(self, link: Link, rows: Rows, epoch: Epoch) -> Rows:
        made = []
        for key, v, ms in rows:
            total, n, high = self._held.get(key, (0, 0, v))
            self._held[key] = total + v, n + 1, max(high, v)
            made.append((key, sum(self._held[key]), ms))
        return made


class PairsLink(LinkState):
    """State for ever: each second row of a key, with what the one before had."""

    def __init__(self) -> None:
        self._waiting: dict[int, int] = {}

    def epoch(self, link: Link, rows: Rows, epoch: Epoch) -> Rows:
        made = []
        for key, v, ms in rows:
            if key in self._waiting:
                made.append((key, self._waiting.pop(key) + v, ms))
            else:
                self._waiting[key] = v
        return made


class DyingLink(LinkState):
    """State with time to live: the sum of a key's rows when it dies."""

    def __init__(self) -> None:
        self._held: dict[int, tuple[int, int]] = {}

    def epoch(self, link: Link, rows: Rows, epoch: Epoch) -> Rows:
        assert link.timeout is not None
        ttl, made, seen = link.timeout, [], set()
        for key, v, ms in rows:
            total, last = self._held.get(key, (0, ms))
            if last + ttl <= ms:
                made.append((key, total, last + ttl))
                total = 0
            self._held[key] = total + v, ms
            seen.add(key)
        for key, (total, last) in list(self._held.items()):
            # Of a key with rows Pitstop looks whether its time has come, of another one Spark does, which waits 1 ms longer.
            if last + ttl < epoch.watermark + (key in seen):
                made.append((key, total, last + ttl))
                del self._held[key]
        return made


class DistinctLink(LinkState):
    """Each row comes to it twice."""

    def epoch(self, link: Link, rows: Rows, epoch: Epoch) -> Rows:
        return list(dict.fromkeys(rows))


class JoinLink(LinkState):
    """Pairs of its rows with some of the events themselves."""

    def __init__(self) -> None:
        self._left: Rows = []
        self._right: Rows = []

    def epoch(self, link: Link, rows: Rows, epoch: Epoch) -> Rows:
        others = [(key, v, ms) for seq, key, v, ms in events(epoch.first, epoch.last) if seq % OTHER == OTHER_AT]
        made = self._pairs(link, rows, self._right) + self._pairs(link, [*self._left, *rows], others)
        oldest = epoch.watermark - 10 * (link.timeout or 0)
        self._left = [row for row in (*self._left, *rows) if row[2] > oldest]
        self._right = [row for row in (*self._right, *others) if row[2] > oldest]
        return made

    def _pairs(self, link: Link, left: Rows, right: Rows) -> Rows:
        within = link.timeout or 0
        return [(key, v + w, ms) for key, v, ms in left for other, w, at in right if other == key and abs(at - ms) <= within]


LINKS: dict[Kind, Callable[[Link], LinkState]] = {
    Kind.WINDOW: lambda link: OfStage(Windows()),
    Kind.SESSION: lambda link: OfStage(Sessions()),
    Kind.ROLLING: lambda link: RollingLink(),
    Kind.MAPPED: lambda link: PairsLink() if link.timeout is None else DyingLink(),
    Kind.DISTINCT: lambda link: DistinctLink(),
    Kind.JOIN: lambda link: JoinLink(),
}


@dataclass
class Line(State):
    """The states of its links, by their names."""

    links: dict[str, LinkState] = field(default_factory=dict)

    def become(self, stage: Stage, watermark: int) -> None:
        self.links = {link.name: self.links.get(link.name) or LINKS[link.kind](link) for link in stage.links}
        for link in stage.links:
            self.links[link.name].become(link, watermark)

    def run(self, stage: Stage, epochs: Sequence[Epoch], out: Expected) -> None:
        for epoch in epochs:
            found = [event for event in events(epoch.first, epoch.last) if reads(stage, event) and event[0] % stage.every == 0]
            rows: Rows = [(key, v, ms) for _, key, v, ms in found]
            for link in stage.links:
                rows = sorted(self.links[link.name].epoch(link, rows, epoch), key=lambda row: row[2])
            for key, v, ms in rows:
                out.add(key=key, v=v, ms=ms)


STATES: dict[Kind, Callable[[], State]] = {
    Kind.WINDOW: Windows,
    Kind.SESSION: Sessions,
    Kind.ROLLING: Rolling,
    Kind.MAPPED: Mapped,
    Kind.DISTINCT: Distinct,
    Kind.JOIN: Join,
    Kind.OWN: Own,
    Kind.BRANCH: Branch,
    Kind.LINE: Line,
}
"""Each kind of stage as an engine of its own."""
