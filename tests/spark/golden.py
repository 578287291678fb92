"""The job of the golden snapshots: a stage of every kind, small. ``python -m tests.spark.golden`` writes one in today's format.

A golden snapshot, once released, is never written again: a new format adds a file.
"""

import json
import tarfile
import tempfile
from collections import defaultdict
from pathlib import Path

import pitstop as ps
from pitstop.model.snapshot import MANIFEST_VERSION
from tests.spark.harness import Collected, Harness, numbers
from tests.spark.reference import plain_windows
from tests.spark.sequence import events, expected_sessions, millis

GOLDEN = Path(__file__).parents[1] / "golden"
ROWS, CUT, STEP, KEYS, BURST, PAUSE = 4_000, 2_000, 2_000, 5, 500, 3_000
EVENTS = list(events(ROWS, KEYS, BURST, PAUSE))
TUMBLING, SLIDING, TIMEOUT_MS = (1_000, 1_000), (2_000, 500), 200


def golden_file(version):
    return GOLDEN / f"snapshot-{version}.tar.gz"


def count_rows(state, row):
    state.n = (state.n or 0) + 1
    return None if row.seq % 100 else (row.seq, state.n)


def pipeline(sinks, more=None):
    """The job, with a stage of every kind; ``more(pipeline, numbers)`` adds to it."""
    p = ps.Pipeline()

    def source(name):
        return numbers(p, name, rows=ROWS, step=STEP, keys=KEYS, burst=BURST, pause=PAUSE)

    def to(stage, name):
        sinks[name] = Collected()
        stage.write_to(ps.sinks.custom(sinks[name]), name=f"{name}-out")

    one, other = source("one"), source("other")
    if more is not None:
        to(more(one), "more")
    by_key = one.group_by("key")
    sums = {"n": ps.count(), "total": ps.sum("v")}
    to(by_key.window(ps.tumbling(1)).aggregate("tumbling", **sums), "tumbling")
    to(by_key.window(ps.sliding(2, slide=0.5)).aggregate("sliding", **sums), "sliding")
    to(by_key.window(ps.session(TIMEOUT_MS / 1000)).aggregate("session", **sums), "session")
    to(by_key.window(ps.tumbling(1)).aggregate("collected", seen=ps.collect_set("v")), "collected")
    to(by_key.rolling_aggregate("rolling", n=ps.count()), "rolling")
    to(by_key.map_stateful("mapped", count_rows, "n bigint", "seq bigint, n bigint", ttl="1 hour"), "mapped")
    to(one.group_by("key", "v").distinct("distinct"), "distinct")
    to(one.group_by("key", "v").distinct("within", within="1 hour"), "within")
    few = other.filter("seq % 50 = 0").select("key", "ts as at", "seq as second")
    to(one.filter("seq % 50 = 0").join("join", few, on="key", within=0.1), "join")
    both = ps.co_group(a=by_key, b=other.group_by("key"))
    to(both.window(ps.tumbling(1)).aggregate("together", a={"n": ps.count()}, b={"total": ps.sum("v")}), "together")
    to(one.stateful("own", lambda rows: rows.dropDuplicates(["key", "v"])), "own")
    return p


def _windows(rows, *columns):
    return sorted((r["key"], _ms(r["window_start"]), _ms(r["window_end"]), *(r[c] for c in columns)) for r in rows)


def _ms(moment):
    return moment if isinstance(moment, int) else millis(moment)


def _plain(size, slide, rows):
    until = max(_ms(row["window_end"]) for row in rows)
    return sorted((*window, *values) for window, values in plain_windows(EVENTS, size, slide, until).items())


def _sets(rows):
    until, found = max(_ms(row["window_end"]) for row in rows), defaultdict(set)
    for _, key, v, ms in EVENTS:
        found[(key, ms - ms % 1000, ms - ms % 1000 + 1000)].add(v)
    return sorted((*window, sorted(seen)) for window, seen in found.items() if window[2] <= until)


def _counted():
    counts = defaultdict(int)
    for seq, key, _, _ in EVENTS:
        counts[key] += 1
        yield key, seq, counts[key]


def _sessions(rows):
    until = max(_ms(row["window_end"]) for row in rows)
    return sorted(s for s in expected_sessions(EVENTS, TIMEOUT_MS) if s[2] <= until)


def _pairs():
    few = [(seq, key, ms) for seq, key, _, ms in EVENTS if seq % 50 == 0]
    return sorted((a, b) for a, key, at in few for b, other, to in few if key == other and abs(at - to) <= 100)


CHECKS = {
    "tumbling": lambda rows: (_windows(rows, "n", "total"), _plain(*TUMBLING, rows)),
    "sliding": lambda rows: (_windows(rows, "n", "total"), _plain(*SLIDING, rows)),
    "session": lambda rows: (_windows(rows, "n", "total"), _sessions(rows)),
    "collected": lambda rows: (sorted((*w[:3], sorted(w[3])) for w in _windows(rows, "seen")), _sets(rows)),
    "rolling": lambda rows: (sorted((r["key"], r["seq"], r["n"]) for r in rows), sorted(_counted())),
    "mapped": lambda rows: (
        sorted((r["key"], r["seq"], r["n"]) for r in rows),
        sorted(found for found in _counted() if found[1] % 100 == 0),
    ),
    "distinct": lambda rows: (sorted((r["key"], r["v"]) for r in rows), sorted({(key, v) for _, key, v, _ in EVENTS})),
    "within": lambda rows: (sorted((r["key"], r["v"]) for r in rows), sorted({(key, v) for _, key, v, _ in EVENTS})),
    "join": lambda rows: (sorted((r["seq"], r["second"]) for r in rows), _pairs()),
    "together": lambda rows: (_windows(rows, "n", "total"), _plain(*TUMBLING, rows)),
    "own": lambda rows: (sorted((r["key"], r["v"]) for r in rows), sorted({(key, v) for _, key, v, _ in EVENTS})),
}
"""Sink -> its rows over the whole life of the job, and what plain Python makes of the same events."""


def plain_rows(sink):
    return [{name: _plain_value(value) for name, value in row.asDict().items()} for row in sink.rows]


def _plain_value(value):
    return millis(value) if hasattr(value, "isoformat") else value


def main():
    from pitstop.model.cluster import ClusterSettings
    from pitstop.spark.base.session import build_session
    from pitstop.spark.sources import register

    with tempfile.TemporaryDirectory() as folder:
        spark, sinks = build_session(ClusterSettings("local[2]"), Path(folder) / "work"), {}
        register(spark)
        Harness(spark, Path(folder)).run(pipeline(sinks), until=CUT)
        (Path(folder) / "outputs.json").write_text(json.dumps({name: plain_rows(sink) for name, sink in sinks.items()}))
        with tarfile.open(golden_file(MANIFEST_VERSION), "w:gz") as archive:
            archive.add(Path(folder) / "snapshots" / "saved", "saved")
            archive.add(Path(folder) / "outputs.json", "outputs.json")
        spark.stop()


if __name__ == "__main__":
    main()
