"""The compatibility rules C01 to C10, each as one test: version 1 runs on Spark and leaves a snapshot, version
2 starts from it, and all output of both is compared with what plain Python makes of the same events.

Stages, sources, sinks and branches come and go.
"""

from collections import defaultdict

import pytest

import pitstop as ps
from pitstop.plan.diff import Verdict
from tests.spark.reference import plain_windows
from tests.spark.rules.versions import (
    AFTER,
    ALL,
    BEFORE,
    CUT,
    ROWS,
    SLIDING,
    STEP,
    TUMBLING,
    WANTED,
    Job,
    assert_complete,
    got_windows,
    last_end,
    mapped,
    verdicts,
    window,
)

pytestmark = [pytest.mark.spark, pytest.mark.rules]


@pytest.mark.tried_on("tumbling")
def test_c01_an_added_stateful_stage_starts_empty(harness, one):
    job = Job()
    window(job, "fresh", (5_000, 5_000))
    window(job, "speed")
    report = harness.run(job.pipeline)
    assert verdicts(report)["fresh"] == (Verdict.NEW, "C01")
    assert_complete(one, job, "speed")
    assert got_windows(job.rows("fresh")) == plain_windows(AFTER, 5_000, 5_000, last_end(job.rows("fresh")))


@pytest.mark.tried_on("sliding")
def test_c02_state_of_a_removed_stage_is_ignored_and_told(harness, one):
    job = Job()
    window(job, "trend", SLIDING)
    report = harness.run(job.pipeline)
    assert verdicts(report)["speed"] == (Verdict.DROPPED, "C02")
    assert sum(line.stage == "speed" for line in report.lines) == 1
    assert_complete(one, job, "trend", SLIDING)


@pytest.mark.tried_on("tumbling, map_stateful")
def test_c03_the_same_stage_goes_on(harness, one):
    job = Job()
    window(job, "speed")
    mapped(job)
    report = harness.run(job.pipeline)
    assert verdicts(report)["speed"] == verdicts(report)["mapped"] == (Verdict.RESTORED, "C03")
    assert_complete(one, job, "speed")
    counts, expected = defaultdict(int), {}
    for seq, key, _, _ in ALL:
        counts[key] += 1
        if seq % 1000 == 0:
            expected[seq] = (key, counts[key])
    assert {row.seq: (row.key, row.n) for row in one.job.rows("mapped") + job.rows("mapped")} == expected


@pytest.mark.tried_on("source")
def test_c04_an_added_source_begins_at_its_own_start_and_the_old_one_where_it_was(harness, one):
    job = Job()
    job.to(job.source("late"), "late")
    job.to(job.numbers, "old")
    job.to(job.source("more").filter("seq % 1000 = 0"), "more")
    report = harness.run(job.pipeline)
    assert verdicts(report)["late"] == (Verdict.NEW, "C04")
    assert sorted(row.seq for row in job.rows("late")) == list(range(ROWS))
    assert sorted(row.seq for row in job.rows("old")) == list(range(CUT, ROWS))


@pytest.mark.tried_on("source, tumbling")
def test_c05_the_offset_of_a_removed_source_is_ignored(harness, one):
    job = Job()
    window(job, "speed")
    report = harness.run(job.pipeline)
    assert verdicts(report)["more"] == (Verdict.DROPPED, "C05")
    assert_complete(one, job, "speed")


@pytest.mark.tried_on("sink, tumbling")
def test_c06_an_added_sink_gets_only_what_comes_after_the_snapshot(harness, one):
    job = Job()
    window(job, "speed")
    job.to(job.numbers, "added")
    harness.run(job.pipeline)
    assert sorted(row.seq for row in job.rows("added")) == list(range(CUT, ROWS))
    assert_complete(one, job, "speed")


@pytest.mark.tried_on("sliding")
def test_c07_a_longer_window_beside_the_old_one_starts_empty_and_the_old_one_is_complete(harness, one):
    job = Job()
    window(job, "trend", SLIDING)
    window(job, "longer", (60_000, 20_000))
    harness.run(job.pipeline)
    assert_complete(one, job, "trend", SLIDING)
    assert got_windows(job.rows("longer")) == plain_windows(AFTER, 60_000, 20_000, last_end(job.rows("longer")))


@pytest.mark.tried_on("tumbling")
def test_c08_a_changed_stateless_stage_works_on_what_comes_after_the_snapshot(harness, one):
    job = Job()
    window(job, "speed", stage=job.numbers.filter("v < 5"))
    harness.run(job.pipeline)
    rows = one.job.rows("speed") + job.rows("speed")
    few = [event for event in AFTER if event[2] < 5]
    assert got_windows(rows) == plain_windows(BEFORE + few, *TUMBLING, last_end(rows))


@pytest.mark.tried_on("tumbling")
def test_c08_columns_that_a_later_stage_does_not_read_stay_in_the_state(harness, one):
    first, job = Job(), Job()
    stage = first.numbers.group_by("key").window(ps.tumbling("10 seconds")).aggregate("speed", **WANTED)
    first.to(stage.select("key", "window_start", "window_end", "n"), "speed")
    harness.run(first.pipeline, until=CUT + STEP)
    window(job, "speed")
    harness.run(job.pipeline)
    expected = plain_windows(ALL, *TUMBLING, last_end(job.rows("speed")))
    got = got_windows(job.rows("speed"))
    assert got
    assert got == {window: values for window, values in expected.items() if window in got}
    assert len(one.job.rows("speed")) + len(first.rows("speed")) + len(got) == len(expected)


@pytest.mark.tried_on("branch, tumbling")
def test_c09_an_added_branch_sees_what_comes_after_the_snapshot(harness, one):
    job = Job()
    stage = job.numbers.filter("v >= 0")
    window(job, "speed", stage=stage)
    job.to(stage.filter("seq % 2 = 0"), "branch")
    harness.run(job.pipeline)
    assert sorted(row.seq for row in job.rows("branch")) == list(range(CUT, ROWS, 2))
    assert_complete(one, job, "speed")


@pytest.mark.tried_on("source")
def test_c10_other_parameters_of_a_source_keep_its_offset(harness, one):
    job = Job()
    job.to(job.source("numbers", step=7_000), "rows")
    harness.run(job.pipeline)
    assert sorted(row.seq for row in job.rows("rows")) == list(range(CUT, ROWS))
