"""The compatibility rules C11 to C17, each as one test: version 1 runs on Spark and leaves a snapshot, version
2 starts from it, and all output of both is compared with what plain Python makes of the same events.

Windows, sessions, times to live and aggregates get other parameters.
"""

import pytest

import pitstop as ps
from pitstop.plan.diff import Verdict
from tests.spark.reference import plain_windows, reframed_windows, sessions_of
from tests.spark.rules.versions import (
    AFTER,
    ALL,
    BEFORE,
    CUT,
    SLIDING,
    TUMBLING,
    Job,
    assert_complete,
    assert_reframed,
    got_windows,
    last_end,
    mapped,
    refused,
    session,
    tell,
    verdicts,
    window,
)
from tests.spark.sequence import expected_sessions, millis

pytestmark = [pytest.mark.spark, pytest.mark.rules]


@pytest.mark.tried_on("tumbling, sliding")
def test_c11_early_results_come_and_final_ones_stay_the_same(harness, one):
    job = Job()
    window(job, "speed", early="1 ms")
    window(job, "trend", SLIDING, early="1 ms")
    report = harness.run(job.pipeline)
    assert verdicts(report)["speed"] == (Verdict.RESTORED, "C03")
    for name, size in (("speed", TUMBLING), ("trend", SLIDING)):
        final = [row for row in job.rows(name) if not row.is_early]
        rows = one.job.rows(name) + final
        assert got_windows(rows) == plain_windows(ALL, *size, last_end(rows))
        early = [row for row in job.rows(name) if row.is_early]
        expected = plain_windows(ALL, *size, float("inf"))
        assert early
        for row in early:
            whole = expected[(row.key, millis(row.window_start), millis(row.window_end))]
            assert 0 < row.n <= whole[0]
        assert any((row.n, row.total) == expected[(row.key, millis(row.window_start), millis(row.window_end))] for row in early)


@pytest.mark.tried_on("session")
def test_c12_open_sessions_go_on_under_another_timeout(harness, one):
    job = Job()
    session(job, timeout=5)
    report = harness.run(job.pipeline)
    assert verdicts(report)["visits"] == (Verdict.RESTORED, "C12")
    rows = one.job.rows("visits") + job.rows("visits")
    got = [(r.key, millis(r.window_start), millis(r.window_end), r.n, r.total) for r in rows]
    closed = max(end for _, _, end, _, _ in got)
    expected = sessions_of(ALL, lambda seq: 3000 if seq < CUT else 5000)
    assert sorted(got) == sorted(session for session in expected if session[2] <= closed)


@pytest.mark.tried_on("sliding")
@pytest.mark.parametrize("size", [20_000, 60_000], ids=["smaller", "larger"])
def test_c13_another_size_keeps_the_frames(harness, one, size):
    job = Job()
    window(job, "trend", (size, 10_000))
    report = harness.run(job.pipeline)
    assert verdicts(report)["trend"] == (Verdict.CONVERTED, "C13")
    until = last_end(job.rows("trend"))
    expected = reframed_windows(BEFORE, AFTER, SLIDING, (size, 10_000), one.watermark, until)
    assert got_windows(job.rows("trend")) == expected
    whole = {w: v for w, v in plain_windows(ALL, size, 10_000, until).items() if w[2] > one.watermark + size}
    assert whole.items() <= expected.items()


@pytest.mark.tried_on("tumbling, sliding")
def test_c14_frames_of_another_length_count_where_they_end(harness, one):
    changes = {"speed": (TUMBLING, (15_000, 15_000)), "trend": (SLIDING, (40_000, 20_000))}
    assert_reframed(harness, one, "C14", changes)


@pytest.mark.tried_on("map_stateful with ttl")
def test_c15_another_time_to_live_counts_from_the_last_event(harness, one):
    job = Job()
    mapped(job, "visitors", ttl=5, evict=tell)
    report = harness.run(job.pipeline)
    assert verdicts(report)["visitors"] == (Verdict.CONVERTED, "C15")
    got = sorted((row.key, -row.seq, row.n) for row in job.rows("visitors") if row.seq < 0)
    evicted = {(row.key, -row.seq) for row in one.job.rows("visitors") if row.seq < 0}
    ended = [(key, end + 2000, n) for key, _, end, n, _ in expected_sessions(ALL, 3000) if (key, end) not in evicted]
    expected = sorted(ended)
    closed = max(at for _, at, _ in got)
    assert got == [item for item in expected if item[1] <= closed]


@pytest.mark.tried_on("min_by")
def test_c16_an_aggregate_that_compares_by_something_else_is_refused_under_its_name(harness, one):
    """Jet goes on, since its accumulator is an item; here it is an item and what it was compared by, which would be of both."""
    job = Job()
    window(job, "best", low=ps.min_by("seq", "9 - v"), n=ps.count())
    message = refused(harness, one, job, "C20")
    assert "aggregate 'low' took in min_by(seq, v) and now takes in min_by(seq, " in message


@pytest.mark.tried_on("count, sum")
def test_c17_another_result_of_the_same_accumulator_keeps_the_history(harness, one):
    job = Job()
    window(job, "speed", n=ps.count(), total=ps.all_of(of_all=ps.sum("v")))
    report = harness.run(job.pipeline)
    assert verdicts(report)["speed"] == (Verdict.RESTORED, "C03")
    until = last_end(job.rows("speed"))
    got = {(r.key, millis(r.window_start), millis(r.window_end)): (r.n, r.total.of_all) for r in job.rows("speed")}
    assert got == {w: v for w, v in plain_windows(ALL, *TUMBLING, until).items() if w[2] > one.watermark}


@pytest.mark.tried_on("count, sum")
def test_c17_aggregates_that_change_their_names_among_each_other_are_refused(harness, one):
    job = Job()
    window(job, "speed", n=ps.sum("v"), total=ps.count())
    assert "aggregate 'n' took in count() and now takes in sum(v)" in refused(harness, one, job, "C20")


@pytest.mark.tried_on("count, sum, max")
def test_c17_aggregates_come_and_go_beside_those_that_keep_their_state(harness, one):
    job = Job()
    window(job, "speed", total=ps.sum("v"), high=ps.max("seq"), n=ps.count())
    report = harness.run(job.pipeline)
    assert verdicts(report)["speed"] == (Verdict.CONVERTED, "C17")
    assert_complete(one, job, "speed")
    assert min(row.high for row in job.rows("speed") if row.high is not None) >= CUT
