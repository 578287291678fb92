"""Late rows and rows of state are counted for the stage that they are of."""

import pytest

import pitstop as ps
from pitstop.kit.waiting import wait_until
from pitstop.model.job import Progress
from pitstop.spark.lowering.compile import compile_pipeline
from pitstop.spark.running.progress import ProgressTracker
from tests.spark.harness import Collected, Harness, check
from tests.spark.tail import LAG, Tail

pytestmark = [pytest.mark.spark, pytest.mark.rules, pytest.mark.timeout(600)]

SIZE, SLIDE, TIMEOUT, WITHIN = 40, 10, 4, 6
ON_TIME = [(f"k{n % 5}", n, at) for n, at in enumerate(range(61, 101))]
WATERMARK = 100 - LAG
LATE = [(f"z{n % 8}", n, 1 + n) for n in range(24)] + [("z1", 3, 95), ("z2", 3, 99)]
"""Some are still on time for one stage or another."""


def late_rows(limit):
    """(key, n) of the rows with n below a limit that are behind the watermark."""
    return {(key, n) for key, n, at in LATE if n < limit and at <= WATERMARK}


def frames(rows):
    """(key, end) of the frames of all rows."""
    return {(key, at - at % SLIDE + SLIDE) for key, _, at in rows}


def windows(frames):
    return {(key, end + later) for key, end in frames for later in range(0, SIZE, SLIDE)}


def closed(spans):
    return {(key, end) for key, end in spans if end <= WATERMARK}


def opened(spans):
    return spans - closed(spans)


def test_late_rows_and_rows_of_state_are_counted_for_their_stage(spark, tmp_path):
    harness, sinks = Harness(spark, tmp_path), []
    tail = Tail(tmp_path, "rows")
    p = ps.Pipeline()
    rows = tail.stage(p)

    def to(stage):
        sinks.append(Collected())
        stage.write_to(ps.sinks.custom(sinks[-1]), name=f"{stage.name}-out")

    to(rows.group_by("key").window(ps.sliding(SIZE, SLIDE)).aggregate("trend", n=ps.count()))
    to(rows.filter("n < 12").group_by("key").window(ps.session(TIMEOUT)).aggregate("visits", n=ps.count()))
    other = rows.filter("n < 3").select("key", "n as m", "ts as seen")
    to(rows.filter("n < 7").join("pairs", other, on="key", within=WITHIN))
    seen = rows.filter("n < 5").group_by("key", "n").distinct("seen", within="1 hour")
    to(seen.group_by("key").window(ps.tumbling(SLIDE)).aggregate("counts", n=ps.count()))
    to(rows.group_by("key").map_stateful("kept", count, "n bigint", "n bigint"))
    plan = compile_pipeline(spark, p)
    tracker = ProgressTracker(plan, Progress(), lambda *_: None)
    tail.feed(*ON_TIME)
    running = harness.start(p, tmp_path / "checkpoint", 2)
    running.writer.before_epoch(lambda: tracker.look(running.query))

    def reached(condition):
        check(running)
        tracker.look(running.query)
        return condition(tracker.progress)

    tail.wait_until_read(running)
    assert wait_until(lambda: reached(lambda now: now.watermark_ms == WATERMARK * 1000), 120)
    epoch = running.checkpoint.committed()
    tail.feed(*LATE)
    tail.wait_until_read(running)
    assert wait_until(lambda: reached(lambda now: now.epoch > epoch), 120)
    harness.settle(running)
    running.stop(60)
    tracker.look(running.query)
    stages = tracker.progress.stages
    late = {name: facts["late_rows"] for name, facts in stages.items() if "late_rows" in facts}
    assert late == {
        "trend": sum(len(closed(frames([row]))) for row in LATE),
        "visits": len([row for row in LATE if row[1] < 12 and row[2] + TIMEOUT <= WATERMARK]),
        "pairs": len(late_rows(7)) + len(late_rows(3)),
        "seen": len(late_rows(5)),
        "counts": 0,
        "kept": 0,
    }
    taken = [row for row in ON_TIME + LATE if row[:2] not in late_rows(5)]
    assert {name: stages[name]["state_rows"] for name in late} == {
        "trend": len(opened(frames(ON_TIME + LATE))) + len(opened(windows(closed(frames(ON_TIME))))),
        "visits": len({row for row in ON_TIME + LATE if row[1] < 12 and row[2] + TIMEOUT > WATERMARK}),
        "pairs": sum(at > WATERMARK for limit in (7, 3) for _, n, at in ON_TIME + LATE if n < limit),
        "seen": len({row[:2] for row in taken if row[1] < 5}),
        "counts": len(opened(frames([row for row in taken if row[1] < 5]))),
        "kept": len({key for key, _, _ in ON_TIME + LATE}),
    }


def count(state, row):
    state.n = (state.n or 0) + 1
    return (state.n,)
