"""Stages that follow one another: each kind of stage with state, from rows (key, v, ts) to such rows, and in plain Python.

The sources count milliseconds, so what plain Python makes of all events is what a job has given once its watermark has passed
them; where it ends, open windows and sessions are left.
"""

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass

import pitstop as ps
from tests.spark.harness import numbers
from tests.spark.sequence import START_MS, events, millis

ROWS, KEYS, BURST, PAUSE, STEP = 31_500, 6, 6_000, 9_000, 6_300
OTHERS_STEP = 15_400
"""The other side of joins is a little ahead of the rows, so a row finds its match in its own epoch."""
SIZE, SLIDE, GAP, TTL, WITHIN, REMEMBERED = 2_000, 1_000, 3_000, 4_000, 70, 3_000
EVERY, OTHER = 35, 25
"""Every so manieth event is used, and on the other side of joins: there those of a key are 150 ms apart, so a row finds one."""

START = "window_start"
Rows = list[tuple[int, int, int]]
"""(key, v, time in ms)"""


def all_rows(read=ROWS, burst=BURST) -> Rows:
    return [(key, v, ms) for seq, key, v, ms in events(read, KEYS, burst, PAUSE) if seq % EVERY == 0]


def other_rows(until) -> Rows:
    """Those that joins find: they come without a pause, and are there up to that time."""
    return [(key, v, ms) for seq, key, v, ms in events(until - START_MS + 1, KEYS) if seq % OTHER == 0]


def by_key(rows: Rows):
    found = defaultdict(list)
    for key, v, ms in sorted(rows, key=lambda row: row[2]):
        found[key].append((v, ms))
    return found


def shaped(stage, v, ts):
    """The columns that every stage here reads, with their event time."""
    return stage.select("key", f"cast({v} as bigint) as v", f"{ts} as ts")


class Chain:
    """A pipeline in the making; names of stages are numbered."""

    def __init__(self):
        self.pipeline, self.name, self.count, self.sources = ps.Pipeline(), "", 0, {}

    def source(self):
        return self._source("numbers", EVERY, rows=ROWS, step=STEP, burst=BURST, pause=PAUSE)

    def others(self):
        return self._source("others", OTHER, rows=ROWS // STEP * OTHERS_STEP, step=OTHERS_STEP)

    def _source(self, name, every, **options):
        if name not in self.sources:
            timed = numbers(self.pipeline, name, keys=KEYS, **options)
            self.sources[name] = timed.filter(f"seq % {every} = 0").select("key", "v", "ts")
        return self.sources[name]

    def named(self, kind):
        self.count += 1
        return f"{self.name}{kind}-{self.count}"


@dataclass(frozen=True)
class Kind:
    """A kind of stage: ``add`` puts one behind a stage with rows (key, v, ts); ``plain`` is the same in plain Python."""

    name: str
    add: Callable
    plain: Callable[[Rows], Rows]
    open_ms: int
    """How long before the watermark its last result may be."""
    time: str = "ts"
    """The column that is the event time of its rows."""
    sets_time: bool = False
    """True if its rows need with_timestamps to have it."""


def windows(window, time="window_end"):
    def add(chain, stage):
        made = stage.group_by("key").window(window).aggregate(chain.named("window"), total=ps.sum("v"))
        return made.select("key", "total as v", START) if time == START else shaped(made, "total", time)

    return add


def plain_windows(size, slide, time_of=lambda start, end: end):
    def plain(rows):
        found = defaultdict(int)
        for key, v, ms in rows:
            start = ms - ms % slide
            while start + size > ms:
                found[(key, start)] += v
                start -= slide
        return [(key, total, time_of(start, start + size)) for (key, start), total in found.items()]

    return plain


def plain_sessions(time_of=lambda start, end: end):
    def plain(rows):
        found = []
        for key, own in by_key(rows).items():
            start, last, total = own[0][1], own[0][1], 0
            for v, ms in own:
                if ms >= last + GAP:
                    found.append((key, total, time_of(start, last + GAP)))
                    start, total = ms, 0
                total, last = total + v, ms
            found.append((key, total, time_of(start, last + GAP)))
        return found

    return plain


def rolling(chain, stage):
    made = stage.group_by("key").rolling_aggregate(chain.named("rolling"), total=ps.sum("v"), n=ps.count(), high=ps.max("v"))
    return made.select("key", "total + n + high as v", "ts")


def plain_rolling(rows):
    found = []
    for key, own in by_key(rows).items():
        total, high = 0, own[0][0]
        for n, (v, ms) in enumerate(own, 1):
            total, high = total + v, max(high, v)
            found.append((key, total + n + high, ms))
    return found


def step(state, row):
    before, state.last, state.n = state.last or 0, row.v, (state.n or 0) + 1
    return None if state.n % 2 else (before + row.v, row.ts)


def state(chain, stage):
    return stage.group_by("key").map_stateful(chain.named("state"), step, "n bigint, last bigint", "v bigint, ts timestamp")


def plain_state(rows):
    pairs = [(key, own[n - 1 : n + 1]) for key, own in by_key(rows).items() for n in range(1, len(own), 2)]
    return [(key, first + second, ms) for key, ((first, _), (second, ms)) in pairs]


def keep(state, row):
    state.total = (state.total or 0) + row.v


def evict(state, key, time):
    return (state.total, time)


def dying(ttl):
    def add(chain, stage):
        name, output = chain.named("dying"), "v bigint, at bigint"
        made = stage.group_by("key").map_stateful(name, keep, "total bigint", output, ttl=ttl / 1000, on_evict=evict)
        return made.select("key", "v", "timestamp_millis(at) as ts")

    return add


def plain_dying(rows):
    found = []
    for key, own in by_key(rows).items():
        total, last = own[0]
        for v, ms in own[1:]:
            if ms >= last + TTL:
                found.append((key, total, last + TTL))
                total = 0
            total, last = total + v, ms
        found.append((key, total, last + TTL))
    return found


def distinct(**options):
    def add(chain, stage):
        twins = stage.select("key", "v", "ts", "explode(array(1, 2)) as twin")
        return twins.group_by("key", "v", "ts").distinct(chain.named("distinct"), **options).select("key", "v", "ts")

    return add


def plain_distinct(rows):
    return list(dict.fromkeys(rows))


def join(within):
    def add(chain, stage):
        other = chain.others().select("key", "v as w", "ts as at")
        made = stage.join(chain.named("join"), other, on="key", within=within / 1000)
        return made.select("key", "v + w as v", "ts")

    return add


def plain_join(rows):
    others, found = by_key(other_rows(max(ms for _, _, ms in rows) + WITHIN)), []
    times = {key: [at for _, at in own] for key, own in others.items()}
    for key, v, ms in rows:
        near = slice(bisect_left(times[key], ms - WITHIN), bisect_right(times[key], ms + WITHIN))
        found += [(key, v + w, ms) for w, _ in others[key][near]]
    return found


def outer_join(within):
    """Rows of odd keys find no match: they come an epoch later, and those of one key come in the order of their times."""

    def add(chain, stage):
        other = chain.others().filter("key % 2 = 0").select("key", "v as w", "ts as at")
        made = stage.join(chain.named("outer"), other, on="key", within=within / 1000, how="left")
        return made.select("key", "v + coalesce(w, -1) as v", "ts")

    return add


def plain_outer_join(rows):
    upto = max(ms for _, _, ms in rows) + WITHIN
    others, found = by_key([row for row in other_rows(upto) if row[0] % 2 == 0]), []
    times = {key: [at for _, at in others[key]] for key in range(KEYS)}
    for key, v, ms in rows:
        near = slice(bisect_left(times[key], ms - WITHIN), bisect_right(times[key], ms + WITHIN))
        found += [(key, v + w, ms) for w, _ in others[key][near]] or [(key, v - 1, ms)]
    return found


def early(chain, stage):
    """Early results go to a sink, once a run; where a stage with state follows there are none to leave out."""
    name = chain.named("early")
    made = stage.group_by("key").window(TUMBLING).early_results("1 hour").aggregate(name, total=ps.sum("v"))
    made.write_to(ps.sinks.noop(), name=f"{name}-told")
    return shaped(made.filter("not is_early"), "total", "window_end")


def by_start(start, end):
    return start


TUMBLING, SLIDING, SESSION = ps.tumbling(SIZE / 1000), ps.sliding(SIZE / 1000, SLIDE / 1000), ps.session(GAP / 1000)
KINDS = {
    kind.name: kind
    for kind in (
        Kind("window", windows(TUMBLING), plain_windows(SIZE, SIZE), SIZE, sets_time=True),
        Kind("sliding window", windows(SLIDING), plain_windows(SIZE, SLIDE), SIZE, sets_time=True),
        Kind("session", windows(SESSION), plain_sessions(), GAP, sets_time=True),
        Kind("rolling aggregate", rolling, plain_rolling, 0),
        Kind("state of one's own", state, plain_state, 0, sets_time=True),
        Kind("state with time to live", dying(TTL), plain_dying, TTL, sets_time=True),
        Kind("distinct", distinct(), plain_distinct, 0),
        Kind("distinct within", distinct(within=REMEMBERED / 1000), plain_distinct, 0),
        Kind("join", join(WITHIN), plain_join, WITHIN),
        Kind("left outer join", outer_join(WITHIN), plain_outer_join, WITHIN),
        Kind("window with early results", early, plain_windows(SIZE, SIZE), SIZE, sets_time=True),
    )
}
"""Those that can be first and second, by their names."""
STARTS = {
    kind.name: kind
    for kind in (
        Kind("window by its start", windows(TUMBLING, START), plain_windows(SIZE, SIZE, by_start), SIZE, START, sets_time=True),
        Kind(
            "sliding window by its start",
            windows(SLIDING, START),
            plain_windows(SIZE, SLIDE, by_start),
            SIZE,
            START,
            sets_time=True,
        ),
        Kind("session by its start", windows(SESSION, START), plain_sessions(by_start), BURST + GAP, START, sets_time=True),
    )
}
"""The same windows, with their start as the event time of their rows; not every stage may stand behind them."""
FIRST = KINDS | STARTS


def follow(chain, stage, kinds):
    """Stages of these kinds, one behind the other, each with the event time of the one before.

    PipelineError if they cannot stand behind one another.
    """
    for place, kind in enumerate(kinds):
        stage = kind.add(chain, stage)
        if kind.sets_time and place < len(kinds) - 1:
            stage = stage.with_timestamps(kind.time, name=chain.named("time")).select("key", "v", f"{kind.time} as ts")
    return stage


def plain(rows, kinds):
    for kind in kinds:
        rows = kind.plain(rows)
    return sorted(rows)


def got(rows):
    return sorted((row.key, row.v, millis(row.ts)) for row in rows)


def check(rows, kinds, watermark, read=ROWS):
    """That a chain that has read so many events gave what plain Python says, but for what is open still at the watermark."""
    found, expected = got(rows), plain(all_rows(read), kinds)
    until = watermark - sum(kind.open_ms for kind in kinds)
    wanted = [row for row in expected if row[2] <= until]
    closed = [row for row in found if row[2] <= until]
    assert wanted or found, "nothing is compared"
    differs = {"missing": Counter(wanted) - Counter(closed), "too much": Counter(closed) - Counter(wanted)}
    assert not any(differs.values()), f"{differs} as of {until}"
    assert set(found) <= set(expected)
    assert len(found) == len(set(found)) or len(set(expected)) < len(expected)
