"""Python code with state of its own, as users bring it: one that Spark calls for a key's rows, and its plain-Python meaning.

A key's rows are counted; every hundredth event tells the count, every five-hundredth also all that the key's list and map hold.
"""

from collections import defaultdict

import pandas as pd
from pyspark.sql import Row
from pyspark.sql.streaming import StatefulProcessor

COLUMNS = ["key", "seq", "n", "note"]
OUTPUT = "key bigint, seq bigint, n bigint, note string"
TIMER_AFTER_MS, TIMEOUT_AFTER_MS = 20_000, 31_000
"""After a key's first event. Both come due long after the snapshot, the second one in the last epoch, which has no data."""
HOUR_MS = 3_600_000


def note(marks, values):
    return f"{sorted(marks)} {sorted(values.items())}"


def step(key, rows, n, marks, values):
    """What rows (seq, v) of a key give; ``marks`` and ``values`` are changed. The count comes last."""
    given = []
    for seq, v in sorted(rows):
        n += 1
        values[v] = values.get(v, 0) + 1
        if seq % 500 == 0:
            marks.append(seq)
        if seq % 100 == 0:
            given.append((key, seq, n, note(marks, values) if seq % 500 == 0 else ""))
    return given, n


def expected_counts(events, at_end=None):
    """All rows of the processors below over (seq, key, v, ms); ``at_end``: what each key's timer tells of its count."""
    own, found = defaultdict(lambda: [0, [], {}]), []
    for seq, key, v, _ in events:
        n, marks, values = own[key]
        given, own[key][0] = step(key, [(seq, v)], n, marks, values)
        found += given
    return found + [(key, -1, *at_end(n)) for key, (n, _, _) in own.items() if at_end is not None]


class Counting(StatefulProcessor):
    """Over Rows, with a timer in event time that is set at a key's first row."""

    ttl = None

    def init(self, handle):
        self.handle = handle
        self.n = handle.getValueState("n", "n bigint", self.ttl)
        self.marks = handle.getListState("marks", "seq bigint", self.ttl)
        self.values = handle.getMapState("values", "v bigint", "n bigint", self.ttl)

    def handleInputRows(self, key, rows, timerValues):
        yield from (Row(**dict(zip(COLUMNS, given, strict=True))) for given in self.taken(key, list(rows)))

    def handleExpiredTimer(self, key, timerValues, expiredTimerInfo):
        yield Row(**dict(zip(COLUMNS, self.told(key), strict=True)))

    def taken(self, key, rows):
        fresh = not self.n.exists()
        marks, values = [seq for (seq,) in self.marks.get()], {v: n for (v,), (n,) in self.values.iterator()}
        known = len(marks)
        given, n = step(key[0], [(row.seq, row.v) for row in rows], 0 if fresh else self.n.get()[0], marks, values)
        self.n.update((n,))
        for seq in marks[known:]:
            self.marks.appendValue((seq,))
        for v, count in values.items():
            self.values.updateValue((v,), (count,))
        if fresh:
            self.set_timer(min(row.ms for row in rows))
        return given

    def set_timer(self, first):
        self.handle.registerTimer(first + TIMER_AFTER_MS)

    def told(self, key):
        # Not the count: an epoch without data may come between two files, and the timer in it.
        return (key[0], -1, 0, f"timer {self.n.exists()}")

    def close(self):
        pass


class CountingFrames(Counting):
    """The same over pandas frames."""

    def handleInputRows(self, key, rows, timerValues):
        found = [row for frame in rows for row in frame[["seq", "v", "ms"]].itertuples(index=False)]
        yield pd.DataFrame(self.taken(key, found), columns=COLUMNS)

    def handleExpiredTimer(self, key, timerValues, expiredTimerInfo):
        yield pd.DataFrame([self.told(key)], columns=COLUMNS)


class CountingForAnHour(Counting):
    """The same in processing time: every state lives for an hour, and there is no timer."""

    ttl = HOUR_MS

    def set_timer(self, first):
        pass


def counted(key, frames, state):
    """For applyInPandasWithState: state is (count, deadline); at the time-out the count is told."""
    n, deadline = state.get if state.exists else (0, None)
    if state.hasTimedOut:
        state.remove()
        yield pd.DataFrame([(key[0], -1, n, "")], columns=COLUMNS)
        return
    found = pd.concat(list(frames)).sort_values("seq")
    deadline = deadline or int(found.ms.min()) + TIMEOUT_AFTER_MS
    found["n"] = range(n + 1, n + 1 + len(found))
    state.update((n + len(found), deadline))
    state.setTimeoutTimestamp(deadline)
    told = found[found.seq % 100 == 0]
    yield pd.DataFrame({"key": told.key, "seq": told.seq, "n": told.n, "note": ""}, columns=COLUMNS)


class OnlyTimers(StatefulProcessor):
    """Keeps nothing but a timer a key, of which nothing comes."""

    def init(self, handle):
        self.handle = handle

    def handleInputRows(self, key, rows, timerValues):
        self.handle.registerTimer(timerValues.getCurrentWatermarkInMs() + HOUR_MS)
        yield from ()

    def handleExpiredTimer(self, key, timerValues, expiredTimerInfo):
        yield from ()

    def close(self):
        pass
