"""Rows that joins, distinct and state of one's own leave out are dead letters, as those of windows are (test_late_letters.py)."""

import itertools
import json
import time
from collections import Counter

import pytest

import pitstop as ps
from pitstop.kit.waiting import wait_until
from pitstop.model.report import Verdict, Way
from pitstop.plan.diff import compare
from pitstop.spark.lowering.compile import compile_pipeline
from tests.spark.harness import Collected, Harness
from tests.spark.test_late_letters import SCHEMA, Feed, shown

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]


def step(state, row):
    state.n = (state.n or 0) + 1
    return (row.n, state.n)


def add(rows, kind, late=None):
    """Add a stage of that kind, which keeps its late rows if there is a sink for them."""
    if kind in ("pairs", "all"):
        other = rows.select("k", "n as m", "ts as seen")
        return rows.join(kind, other, on="k", within="10 seconds", how="left" if kind == "all" else "inner", late=late)
    if kind in ("seen", "first"):
        return rows.group_by("k", "n").distinct(kind, within="1 hour", late=late)
    if kind == "ever":
        return rows.group_by("k", "n").distinct(kind)
    if kind == "moments":
        return rows.group_by("n", "ts").distinct(kind, late=late)
    if kind == "state":
        return rows.group_by("k").map_stateful(kind, step, "n bigint", "m bigint, n bigint", ttl="1 hour", late=late)
    return rows.group_by("k").window(ps.tumbling("1 minute"), late=late).aggregate(kind, n=ps.count())


def texts(letters):
    """(the number of the input, n, its event time or None) of the rows in letters."""
    rows = [json.loads(row["text"]) for row in letters.rows]
    return Counter((1, row["m"], row["seen"]) if "m" in row else (0, row["n"], row["ts"]) for row in rows)


def told(rows, number=0):
    """The same of rows as they were fed."""
    times = [(n, None if at is None else f"{shown(at).replace(' ', 'T')}.000Z") for _, n, at in rows]
    return Counter((number, n, at) for n, at in times)


@pytest.mark.long
@pytest.mark.parametrize(
    ("store", "kinds", "counts"),
    [
        ("rocksdb", ("seen", "pairs", "all"), True),
        ("rocksdb", ("seen", "moments", "state", "first", "ever"), True),
        pytest.param("memory", ("state", "counts"), False, marks=pytest.mark.deep),
    ],
    ids=["joins", "others", "memory"],
)
def test_each_row_that_a_stage_leaves_out_is_a_letter(spark, tmp_path, monkeypatch, store, kinds, counts):
    monkeypatch.setenv("PITSTOP_CHECK_ROWS", "1")
    feed, now, p = Feed(tmp_path / "rows"), int(time.time()) // 60 * 60, ps.Pipeline()
    rows, letters, out = feed.stage(p), {kind: Collected() for kind in kinds}, {kind: Collected() for kind in kinds}
    for kind in kinds:
        made = add(rows, kind, None if kind == "ever" else ps.sinks.custom(letters[kind]))
        if kind == "first":  # a stage with state behind one that keeps its late rows
            made = made.group_by("k").window(ps.tumbling("1 minute")).aggregate("behind", n=ps.count())
        made.write_to(ps.sinks.custom(out[kind]), name=f"{kind}-out")
    job = ps.run(p, spark, data_dir=tmp_path / "data", state_store=store, metrics_enabled=counts)
    first = [("a", 1, now + 57), ("b", 2, None), (None, 3, now + 57)]
    feed.add(*first)
    assert wait_until(lambda: job.progress.input_rows == feed.rows, 150)
    # Rows are late by the time that an epoch has ended with.
    assert wait_until(lambda: job.progress.watermark_ms == (now + 57) * 1000, 60)
    late = [*(("a", 100 + n, now - 2 + n) for n in range(60)), (None, 200, now - 100)]
    feed.add(*late, ("a", 300, now + 58), ("a", 301, None), (None, 302, None), (None, 303, now + 59))
    assert wait_until(lambda: job.progress.input_rows == feed.rows, 150)
    assert wait_until(lambda: texts(letters[kinds[0]]).total() == 61, 60)
    job.stop()
    every = [*first, *late, ("a", 301, None), (None, 302, None), (None, 303, now + 59)]
    untimed = [row for row in every if row[2] is None]
    keyless = [row for row in every if row[0] is None and row[2] is not None]
    keyed = [row for row in late if row[0] is not None]
    missing = [*untimed, *keyless, *keyed]
    expected = {
        "pairs": told(missing) + told(missing, 1),
        "all": told(late) + told(missing, 1),
        "seen": told(late),
        "first": told(late),
        "ever": told([]),
        "moments": told(late),
        "state": told(late),
        "counts": told([*untimed, *(row for row in late if row[2] < now)]),
    }
    for kind in kinds:
        assert texts(letters[kind]) == expected[kind], kind
    if not counts:
        return
    taken = {
        "pairs": [2 * len(keyed), 2 * len(untimed), 2 * len(keyless)],
        "all": [len(late) + len(keyed), len(untimed), len(keyless)],
        "ever": [0, 0, 0],
    }
    for kind in kinds:
        stage = job.progress.stages[kind]
        figures = [stage.get(f"{reason}_rows", 0) for reason in ("late", "untimed", "keyless")]
        assert figures == taken.get(kind, [len(late), 0, 0]), kind
        assert sum(figures) == len(letters[kind].rows), kind
    if "ever" in kinds:
        assert sorted(row["n"] for row in out["ever"].rows) == sorted(n for _, n, _ in [*every, ("a", 300, None)])
        assert job.progress.stages["behind"]["untimed_rows"] == len(untimed)
        return
    of_right = {json.loads(row["text"])["m"]: row for row in letters["all"].rows if "m" in json.loads(row["text"])}
    late_one = f"late: seen is {shown(now)}, and the watermark had reached {shown(now + 57)}"
    assert (of_right[102]["stage"], of_right[102]["key"], of_right[102]["error"]) == ("all", '{"k":"a"}', late_one)
    assert of_right[2]["error"] == "its event time seen is null"
    assert (of_right[303]["key"], of_right[303]["error"]) == ('{"k":null}', "its key has a null: k")


def version(folder, keep, sinks):
    """A version of a job with a join, distinct and state of its own, which keep their late rows or not."""
    p = ps.Pipeline()
    rows = p.read_from(ps.sources.csv_tail(folder, schema=SCHEMA), name="rows")
    timed = rows.with_columns(ts="timestamp_seconds(at)").with_timestamps("ts", name="timed")
    for kind in ("pairs", "seen", "state"):
        late = ps.sinks.custom(sinks[f"{kind}-late-rows"]) if keep else None
        add(timed, kind, late).write_to(ps.sinks.custom(sinks[kind]), name=f"{kind}-out")
    return p


def collecting():
    return {name: Collected() for kind in ("pairs", "seen", "state") for name in (kind, f"{kind}-late-rows")}


def test_beginning_or_ending_to_keep_late_rows_changes_no_state(spark, tmp_path):
    folder = Feed(tmp_path / "rows").folder
    plans = [compile_pipeline(spark, version(folder, keep, collecting())) for keep in (False, True, False)]
    for old, new in itertools.pairwise(plans):
        report = compare(old.to_dict(), new.to_dict())
        assert report.way is Way.RESUME
        verdicts = {line.stage: line.verdict for line in report.lines}
        assert {verdicts[kind] for kind in ("pairs", "seen", "state")} == {Verdict.RESTORED}
        assert old.stateful == new.stateful
        assert old.operators == new.operators


@pytest.mark.long
def test_a_version_that_begins_or_ends_to_keep_late_rows_goes_on_with_all_state(spark, tmp_path):
    feed, now, sinks, options = Feed(tmp_path / "rows"), int(time.time()) // 60 * 60, collecting(), {}
    for number, keep in enumerate([False, True, False]):
        job = ps.run(version(feed.folder, keep, sinks), spark, data_dir=tmp_path / "data", **options)
        feed.add(("a", number, now + number))
        assert wait_until(lambda job=job, at=now + number: job.progress.watermark_ms == at * 1000, 60)
        feed.add(("a", 10 + number, now - 7200), ("b", 20 + number, None), ("a", 0, now + number + 1))
        assert wait_until(lambda job=job: job.progress.stages["state"].get("late_rows"), 60)
        options = {"initial_snapshot": job.cancel_and_export_snapshot(f"s{number}").name}
    late, untimed = [("a", 11, now - 7200)], [("b", 21, None)]
    assert texts(sinks["pairs-late-rows"]) == told(late + untimed) + told(late + untimed, 1)
    assert texts(sinks["seen-late-rows"]) == texts(sinks["state-late-rows"]) == told(late)
    # The rows of "a" that are on time have n 0, 0, 1, 0, 2, 0.
    assert len(sinks["pairs"].rows) == 6 * 6
    assert sorted(row["n"] for row in sinks["seen"].rows if row["k"] == "a") == [0, 1, 2]
    assert [row["n"] for row in sinks["state"].rows if row["k"] == "a"] == [1, 2, 3, 4, 5, 6]


class Attempts(Collected):
    """A sink that keeps what each attempt at an epoch gives it; the first with rows fails if it is to."""

    def __init__(self, fails):
        super().__init__()
        self.fails, self.attempts = fails, {}

    def write(self, rows, info):
        found = rows.collect()
        self.attempts.setdefault(info.epoch, []).append(sorted(row["text"] for row in found))
        if found and self.fails:
            self.fails = False
            raise ValueError("no room")
        super().write(rows, info)


@pytest.mark.long
@pytest.mark.parametrize("failing", ["pairs", "state"])
def test_an_epoch_that_runs_again_gives_the_same_letters(spark, tmp_path, failing):
    feed, now, sinks = Feed(tmp_path / "rows"), int(time.time()) // 60 * 60, collecting()
    late = {kind: Attempts(kind == failing) for kind in ("pairs", "seen", "state")}
    sinks |= {f"{kind}-late-rows": sink for kind, sink in late.items()}
    harness, built = Harness(spark, tmp_path), version(feed.folder, True, sinks)
    running = harness.start(built, tmp_path / "checkpoint", 2)
    feed.add(("a", 1, now))
    assert wait_until(lambda: running.checkpoint.committed() >= 0, 60)
    harness.settle(running)
    feed.add(*[("a", n, now - n) for n in range(100)], ("b", 1, None), ("a", 1, now + 7200))
    assert wait_until(lambda: not running.active, 60)
    assert "no room" in str(running.failure())
    again = harness.start(built, tmp_path / "checkpoint", 2)
    assert wait_until(lambda: len(late["state"].rows) == 100, 60)
    harness.settle(again)
    feed.add(("a", 1, now))
    assert wait_until(lambda: len(late["state"].rows) == 101, 60)
    again.stop(60)
    assert {kind: len(sink.rows) for kind, sink in late.items()} == {"pairs": 204, "seen": 101, "state": 101}
    assert len(max(late[failing].attempts.values(), key=len)) == 2
    for sink in late.values():
        assert all(attempt == attempts[0] for attempts in sink.attempts.values() for attempt in attempts)


@pytest.mark.long
def test_in_a_batch_no_row_is_late_but_those_that_a_join_leaves_out_are_letters(spark, tmp_path):
    p, kinds, out = ps.Pipeline(), ("pairs", "all", "seen", "state"), Collected()
    letters = {kind: Collected() for kind in kinds}
    items = ps.sources.items([("a", 1, 7200), ("a", 2, None), (None, 3, 0), ("b", 4, 0)], SCHEMA)
    rows = p.read_from(items, name="rows").with_columns(ts="timestamp_seconds(at)").with_timestamps("ts")
    for kind in kinds:
        sink = ps.sinks.custom(out) if kind == "all" else ps.sinks.noop()
        add(rows, kind, ps.sinks.custom(letters[kind])).write_to(sink, name=f"{kind}-out")
    ps.run(p, spark, data_dir=tmp_path / "data")
    missing = [("a", 2, None), (None, 3, 0)]
    assert texts(letters["pairs"]) == told(missing) + told(missing, 1)
    assert texts(letters["all"]) == told(missing, 1)
    assert not texts(letters["seen"]) + texts(letters["state"])
    assert Counter((row["n"], row["m"]) for row in out.rows) == Counter([(1, 1), (2, None), (3, None), (4, 4)])
