"""Each kind of stage as an engine of its own, in plain Python: what it keeps, and the rows that it gives."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.soak.accumulators import Event, Held, events, finished, lifted, merged, only, reads
from tests.soak.chain import BUCKET, KEYS, LAG, Stage, time_of
from tests.spark.reference import ceiling

Row = tuple[tuple[str, Any], ...]
NEAR = 2
"""A row of an outer join may be told an epoch later if its time is up within so many ms of the watermark."""


@dataclass
class Expected:
    """Rows of one stage in one version."""

    rows: Counter[Row] = field(default_factory=Counter)
    perhaps: Counter[Row] = field(default_factory=Counter)
    """Rows that may come in this version or in the next."""

    def add(self, **columns: Any) -> None:
        self.rows[row_of(columns)] += 1

    def differs(self, got: Counter[Row]) -> str | None:
        """How the rows that came differ, None if they do not."""
        missing, more = self.rows - got, got - self.rows - self.perhaps
        if not missing and not more:
            return None
        parts = [f"{sum(rows.values())} {what}, such as {dict(min(rows, key=repr))}" for rows, what in (
            (missing, "missing"), (more, "too many")) if rows]  # fmt: skip
        return "; ".join(parts)


def row_of(columns: dict[str, Any]) -> Row:
    return tuple(sorted(columns.items()))


@dataclass(frozen=True)
class Epoch:
    """Which events an epoch reads, from ``first`` to before ``last``; the watermark before it, and that with which it ends."""

    first: int
    last: int
    before: int
    watermark: int


class State:
    """What a stage keeps. ``become`` makes it that of a new version; the watermark is the last one before."""

    def become(self, stage: Stage, watermark: int) -> None:
        pass

    def read(self, stage: Stage, found: list[Event], out: Expected) -> None:
        raise NotImplementedError

    def end(self, stage: Stage, before: int, watermark: int, out: Expected) -> None:
        pass

    def run(self, stage: Stage, epochs: Sequence[Epoch], out: Expected) -> None:
        """All epochs of a version; where one ends makes no difference but to stages behind one another."""
        self.read(stage, list(events(epochs[0].first, epochs[-1].last)), out)
        self.end(stage, epochs[0].before, epochs[-1].watermark, out)


class Windows(State):
    """(key, frame end) -> accumulators. A window is what the frames in it come to."""

    def __init__(self) -> None:
        self.frames: dict[tuple[int, int], Held] = {}
        self.spans: tuple[int, int] | None = None

    def become(self, stage: Stage, watermark: int) -> None:
        spans = (stage.size, stage.slide)
        held = {at: only(stage, own) for at, own in self.frames.items()}
        if self.spans is not None and self.spans != spans:
            size, slide = self.spans
            oldest = (watermark - size) // slide * slide + slide
            held = {at: own for at, own in held.items() if (at[1] - slide >= oldest if size > slide else at[1] > watermark)}
            self.frames = {}
            for (key, end), own in held.items():
                self._add((key, ceiling(end, stage.slide)), own)
        else:
            self.frames = held
        self.spans = spans

    def _add(self, at: tuple[int, int], own: Held) -> None:
        self.frames[at] = merged(self.frames.get(at, {}), own)

    def read(self, stage: Stage, found: list[Event], out: Expected) -> None:
        for event in found:
            own = lifted(stage, event)
            if own is not None:
                self._add((event[1], event[3] - event[3] % stage.slide + stage.slide), own)

    def end(self, stage: Stage, before: int, watermark: int, out: Expected) -> None:
        windows: dict[tuple[int, int], Held] = {}
        for (key, frame), own in self.frames.items():
            for end in range(frame, frame + stage.size, stage.slide):
                if before < end <= watermark:
                    windows[(key, end)] = merged(windows.get((key, end), {}), own)
        for (key, end), own in windows.items():
            out.add(key=key, start=end - stage.size, end=end, **finished(stage, own))


class Own(Windows):
    """The users' own code counts each event once."""

    def become(self, stage: Stage, watermark: int) -> None:
        self.frames, self.spans = self.frames, (stage.size, stage.slide)

    def read(self, stage: Stage, found: list[Event], out: Expected) -> None:
        for event in found:
            if reads(stage, event):
                self._add((event[1], event[3] - event[3] % stage.slide + stage.slide), {"n": 1})

    def end(self, stage: Stage, before: int, watermark: int, out: Expected) -> None:
        for (key, end), own in self.frames.items():
            if before < end <= watermark:
                out.add(key=key, start=end - stage.size, end=end, n=own["n"])


class Sessions(State):
    """Key -> its last session [start, end, accumulators]; closed ones in a list."""

    def __init__(self) -> None:
        self.open: dict[int, tuple[int, int, Held]] = {}
        self.past: list[tuple[int, int, int, Held]] = []

    def become(self, stage: Stage, watermark: int) -> None:
        self.open = {key: (start, end, only(stage, own)) for key, (start, end, own) in self.open.items()}
        self.past = [(key, start, end, only(stage, own)) for key, start, end, own in self.past]

    def read(self, stage: Stage, found: list[Event], out: Expected) -> None:
        for event in found:
            own = lifted(stage, event)
            if own is None:
                continue
            key, ms, until = event[1], event[3], event[3] + (stage.timeout or 0)
            last = self.open.get(key)
            if last is not None and ms < last[1]:
                self.open[key] = (last[0], max(last[1], until), merged(last[2], own))
                continue
            if last is not None:
                self.past.append((key, *last))
            self.open[key] = (ms, until, own)

    def end(self, stage: Stage, before: int, watermark: int, out: Expected) -> None:
        whole = [*self.past, *((key, *session) for key, session in self.open.items())]
        for key, start, end, own in whole:
            if end <= watermark:
                out.add(key=key, start=start, end=end, **finished(stage, own))
        self.open = {key: session for key, session in self.open.items() if session[1] > watermark}
        self.past = [session for session in self.past if session[2] > watermark]


class Rolling(State):
    def __init__(self) -> None:
        self.held: dict[int, Held] = {}

    def become(self, stage: Stage, watermark: int) -> None:
        self.held = {key: only(stage, own) for key, own in self.held.items()}

    def read(self, stage: Stage, found: list[Event], out: Expected) -> None:
        for event in found:
            if reads(stage, event):
                seq, key, _, _ = event
                self.held[key] = merged(self.held.get(key, {}), lifted(stage, event) or {})
                if seq % stage.every == 0:
                    out.add(seq=seq, key=key, **finished(stage, self.held[key]))


class Mapped(State):
    """Key -> (count, last event seen, time of the last event)."""

    def __init__(self) -> None:
        self.held: dict[int, tuple[int, int | None, int]] = {}

    def read(self, stage: Stage, found: list[Event], out: Expected) -> None:
        for event in found:
            if not reads(stage, event):
                continue
            seq, key, _, ms = event
            n, seen, last = self.held.get(key, (0, None, ms))
            if stage.timeout is not None and key in self.held and last + stage.timeout <= ms:
                self._evict(stage, key, out)
                n, seen = 0, None
            self.held[key] = (n + 1, seq if stage.seen else None, ms)
            if seq % stage.every == 0:
                out.add(key=key, seq=seq, n=n + 1, **({"before": seen} if stage.seen else {}))

    def end(self, stage: Stage, before: int, watermark: int, out: Expected) -> None:
        for key, (_, _, last) in list(self.held.items()):
            if stage.timeout is not None and last + stage.timeout < watermark:
                self._evict(stage, key, out)
                del self.held[key]

    def _evict(self, stage: Stage, key: int, out: Expected) -> None:
        n, seen, last = self.held[key]
        out.add(key=key, seq=-(last + (stage.timeout or 0)), n=n, **({"before": seen} if stage.seen else {}))


class Distinct(State):
    """A group of events lies within less time than any bound, so none is forgotten too early."""

    def __init__(self) -> None:
        self.seen: set[tuple[int, int]] = set()

    def read(self, stage: Stage, found: list[Event], out: Expected) -> None:
        for event in found:
            group = (event[1], event[0] // BUCKET)
            if reads(stage, event) and group not in self.seen:
                self.seen.add(group)
                out.add(key=group[0], bucket=group[1])


class Join(State):
    """Rows of both sides; of the left ones, whether they had a match."""

    def __init__(self) -> None:
        self.left: dict[int, bool] = {}
        self.right: list[int] = []
        self.perhaps: list[int] = []

    def read(self, stage: Stage, found: list[Event], out: Expected) -> None:
        within = stage.timeout or 0
        for event in found:
            if event[0] % 150 == 30:
                self.left[event[0]] = False
                self._pair(stage, within, [event[0]], self.right, out)
            if event[0] % 100 == 10:
                self.right.append(event[0])
                self._pair(stage, within, list(self.left), [event[0]], out)

    def _pair(self, stage: Stage, within: int, left: list[int], right: list[int], out: Expected) -> None:
        for mine in left:
            for other in right:
                key = (mine * 7919) % KEYS
                if key == (other * 7919) % KEYS and abs(time_of(mine) - time_of(other)) <= within:
                    self.left[mine] = True
                    out.add(key=key, seq=mine, visit=other)

    def end(self, stage: Stage, before: int, watermark: int, out: Expected) -> None:
        out.perhaps.update(row_of(columns_of(seq)) for seq in self.perhaps)
        self.perhaps = []
        for seq, matched in list(self.left.items()):
            over = watermark - (time_of(seq) + (stage.timeout or 0))
            if over < -NEAR:
                continue
            del self.left[seq]
            if matched or stage.how != "left":
                continue
            if over > NEAR:
                out.add(**columns_of(seq))
            else:
                out.perhaps[row_of(columns_of(seq))] += 1
                self.perhaps.append(seq)
        self.right = [seq for seq in self.right if time_of(seq) + (stage.timeout or 0) + LAG > watermark]


def columns_of(seq: int) -> dict[str, Any]:
    return {"key": (seq * 7919) % KEYS, "seq": seq, "visit": None}


class Branch(State):
    def read(self, stage: Stage, found: list[Event], out: Expected) -> None:
        for event in found:
            if reads(stage, event) and event[0] % stage.every == 0:
                out.add(key=event[1], seq=event[0])
