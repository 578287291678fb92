"""An epoch is computed because it is an epoch: sinks that read none or part of its rows leave its state whole."""

import functools
from collections import Counter, defaultdict

import pytest

import pitstop as ps
from pitstop.kit.waiting import wait_until
from pitstop.snapshots.state_files import StateFiles
from pitstop.spark.base.failures import EpochBoundaryError
from tests.spark.harness import Harness, numbers

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]

ROWS, STEP, KEYS = 1_200, 200, 5


class Reads:
    """A sink of a user's own: reads each epoch in its own way, and keeps the rows of those that it reads whole."""

    def __init__(self, way):
        self.way, self.rows, self.partial = way, {}, 0

    def write(self, rows, info):
        if self.way == "part" and info.epoch % 2:
            self.partial += rows.head(1) is not None
        elif self.way == "none" and info.epoch % 2:
            self.partial += 1
        else:
            self.rows[info.epoch] = rows.collect()


@pytest.fixture(autouse=True)
def rows_that_nobody_reads(monkeypatch):
    """No sink counts them, so they do not add up."""
    monkeypatch.setenv("PITSTOP_CHECK_ROWS", "0")


STATES = {
    "rolling": lambda rows: rows.group_by("key").rolling_aggregate("counted", n=ps.count()).select("key", "n"),
    "window": lambda rows: rows.group_by("key").window(ps.tumbling("10 seconds")).aggregate("counted", n=ps.count()),
    "session": lambda rows: rows.group_by("key").window(ps.session("1 second")).aggregate("counted", n=ps.count()),
    "distinct": lambda rows: rows.group_by("key").distinct("counted"),
}


def pipeline(state, sink, *more):
    p = ps.Pipeline()
    stage = STATES[state](numbers(p, rows=ROWS, step=STEP, keys=KEYS))
    stage.write_to(sink, name="sink")
    for number, other in enumerate(more):
        stage.write_to(other, name=f"other-{number}")
    return p


def operators(running):
    return len(running.checkpoint.facts()["plan"]["operators"])


def expected_counts():
    """(key, running count) of every row, by plain Python."""
    counts, rows = defaultdict(int), Counter()
    for seq in range(ROWS):
        key = seq * 7919 % KEYS
        counts[key] += 1
        rows[key, counts[key]] += 1
    return rows


@pytest.mark.long
@pytest.mark.parametrize(
    "beside", [pytest.param(False, id="alone"), pytest.param(True, id="beside-another", marks=pytest.mark.long)]
)
@pytest.mark.parametrize("way", [pytest.param("none", marks=pytest.mark.long), "part"])
def test_a_sink_that_does_not_read_all_rows_loses_no_state(spark, tmp_path, way, beside):
    lazy, whole = Reads(way), Reads("all")
    Harness(spark, tmp_path).run(pipeline("rolling", ps.sinks.custom(lazy), *([ps.sinks.custom(whole)] if beside else [])))
    assert lazy.partial >= 2
    highest = max(n for rows in lazy.rows.values() for _, n in rows)
    assert highest in (ROWS // KEYS, (ROWS - STEP) // KEYS), "no count begins anew behind an epoch that was not read"
    assert {(key, n) for rows in lazy.rows.values() for key, n in rows} <= expected_counts().keys()
    if beside:
        assert Counter((key, n) for rows in whole.rows.values() for key, n in rows) == expected_counts()


@pytest.mark.parametrize("state", [pytest.param(state, marks=[pytest.mark.long]) for state in STATES])
def test_state_of_each_kind_is_whole_though_no_sink_reads_a_row(spark, tmp_path, state):
    harness = Harness(spark, tmp_path)
    running = harness.start(pipeline(state, ps.sinks.custom(Reads("none"))), tmp_path / "checkpoint-0", 2)
    harness.wait_for(running, None)
    running.stop(60)
    epoch = running.checkpoint.committed()
    assert epoch >= ROWS // STEP - 1
    assert StateFiles(running.checkpoint, operators(running)).missing(epoch) == ()


@pytest.mark.long
def test_a_function_with_state_runs_once_for_a_row_however_often_the_sink_reads(spark, tmp_path):
    rows = []

    class Thrice:
        def write(self, epoch, info):
            if not epoch.isEmpty() and epoch.count() > 0:
                rows.extend(epoch.collect())

    def count(calls, state, row):
        with open(calls, "a") as file:
            file.write(".")
        state.n = (state.n or 0) + 1
        return state.n

    p = ps.Pipeline()
    counted = (
        numbers(p, rows=ROWS, step=STEP, keys=KEYS)
        .group_by("key")
        .map_stateful("counted", functools.partial(count, str(tmp_path / "calls")), state="n bigint", output="n bigint")
    )
    counted.write_to(ps.sinks.custom(Thrice()), name="sink")
    Harness(spark, tmp_path).run(p)
    assert Counter((row.key, row.n) for row in rows) == expected_counts()
    assert (tmp_path / "calls").stat().st_size == ROWS


@pytest.mark.parametrize(
    ("state", "state_is_left"),
    [
        ("rolling", True),
        pytest.param("rolling", False, marks=pytest.mark.long),
        pytest.param("window", True, marks=pytest.mark.long),
    ],
)
def test_an_epoch_that_files_have_and_spark_has_not_committed_is_computed_again(spark, tmp_path, state, state_is_left):
    harness = Harness(spark, tmp_path)
    built = pipeline(state, ps.sinks.files(tmp_path / "out", format="json"))
    running = harness.start(built, tmp_path / "checkpoint-0", 2)
    running.writer.after_epoch(lambda epoch: _die() if epoch == 2 else None)
    assert wait_until(lambda: not running.active, 120)
    assert (running.checkpoint.planned(), running.checkpoint.committed()) == (2, 1)
    for path in (tmp_path / "checkpoint-0" / "state").rglob("3.*"):
        if "_metadata" not in path.parts and not state_is_left:
            path.unlink()
    again = harness.start(built, tmp_path / "checkpoint-0", 2)
    harness.wait_for(again, None)
    again.stop(60)
    if state == "rolling":
        written = spark.read.json(str(tmp_path / "out")).collect()
        assert Counter((row.key, row.n) for row in written) == expected_counts()
    assert StateFiles(again.checkpoint, operators(again)).missing(again.checkpoint.committed()) == ()


def _die():
    raise EpochBoundaryError("the process dies here")
