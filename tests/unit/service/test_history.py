"""How samples become the columns of a history."""

import dataclasses

from pitstop.model.job import Progress
from pitstop.model.sample import Sample
from pitstop.service.history import Step, history_of

BASE = 1_763_783_520
"""A whole minute."""


def progress(rows, epoch=0, **more):
    stages = {
        "numbers": {"rows_out": rows, "offset": "{}"},
        "counts": {"rows_in": rows, "rows_out": rows // 10, "state_rows": 4, "state_bytes": 400, "late_rows": rows // 100},
        "out": {"rows_in": rows // 10},
    }
    parts = {"addBatch": 100, "walCommit": 20}
    return Progress(epoch, (BASE - 2) * 1000, rows, 0.0, 120, 0, stages, parts_ms=parts, **more)


def sample(rows, at, token=1, step=1):
    return Sample.of(progress(rows), token, BASE + at, step)


def test_a_progress_belongs_to_the_second_and_the_minute_in_which_it_is_reported():
    assert sample(10, 59.9).at == BASE + 59
    assert sample(10, 59.9, step=60).at == BASE
    assert sample(10, 3.25).watermark_lag_ms == 5_250
    assert Sample.of(Progress(), 1, BASE, 1).watermark_lag_ms is None


def test_of_two_epochs_in_one_minute_the_newer_totals_and_the_longer_duration_count():
    long = dataclasses.replace(sample(10, 1, step=60), epoch_ms=900, parts_ms={"addBatch": 880})
    newer = sample(30, 50, step=60)
    assert newer.after(long) == dataclasses.replace(newer, epoch_ms=900, parts_ms={"addBatch": 880})
    assert newer.after(dataclasses.replace(long, at=BASE - 60)) == newer
    assert sample(30, 50, step=60).after(dataclasses.replace(long, epoch_ms=1)) == newer


def test_totals_come_with_their_growth_a_second_since_the_time_before():
    found = history_of([sample(100, 0), sample(400, 1), sample(1_000, 4, token=2)], Step.SECOND)
    assert found.times == [BASE, BASE + 1, BASE + 4]
    assert found.job["input_rows"] == [100, 400, 1_000]
    assert found.job["rows_per_second"] == [None, 300.0, 200.0]
    assert found.job["run"] == [1, 1, 2]
    assert found.job["watermark_lag_ms"] == [2_000, 3_000, 6_000]
    assert (found.job["state_rows"], found.job["late_rows"]) == ([4, 4, 4], [1, 4, 10])
    assert found.parts_ms == {"addBatch": [100, 100, 100], "walCommit": [20, 20, 20]}
    assert found.stages["counts"]["rows_in_per_second"] == [None, 300.0, 200.0]
    assert found.stages["counts"]["rows_out_per_second"] == [None, 30.0, 20.0]
    assert set(found.stages["numbers"]) == {"rows_out", "rows_out_per_second"}


def test_a_stage_that_an_update_has_brought_has_no_figures_before_it():
    before = dataclasses.replace(sample(100, 0), stages={})
    found = history_of([before, sample(400, 1)], Step.SECOND)
    assert found.stages["counts"]["rows_in"] == [None, 400]
    assert found.stages["counts"]["rows_in_per_second"] == [None, None]
    assert found.job["state_rows"] == [0, 4]


def test_a_job_that_has_never_run_has_an_empty_history():
    found = history_of([], Step.MINUTE)
    assert (found.times, found.stages, found.job["input_rows"]) == ([], {}, [])
