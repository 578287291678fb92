"""How a job did over time, over every service."""

import time

import pytest

from pitstop.errors import NotFoundError
from pitstop.model.job import Progress
from pitstop.service.history import Step
from tests.doors.doors import running


def test_the_history_of_a_job_is_what_it_has_told_of_its_epochs(pair):
    service, state = pair
    job = running(state)
    stages = {"speed": {"rows_in": 1_000, "rows_out": 10, "state_rows": 7, "state_bytes": 4_096}}
    before = time.time()
    state.advance(job, Progress(5, round(before * 1000) - 2_500, 1_000, 12.5, 250, 2, stages, parts_ms={"addBatch": 240}))
    found = service.history("hello-world")
    (at,) = found.times
    assert (found.step, at) == (Step.SECOND, int(at))
    assert before - 1 <= at <= time.time()
    (lag,) = found.job.pop("watermark_lag_ms")
    assert 2_500 <= lag <= 2_500 + 1000 * (time.time() - before)
    assert {name: column[0] for name, column in found.job.items()} == {
        "run": state.job(job).token,
        "epoch": 5,
        "input_rows": 1_000,
        "rows_per_second": None,
        "bad_rows": 2,
        "epoch_ms": 250,
        "late_rows": 0,
        "state_rows": 7,
        "state_bytes": 4_096,
    }
    assert found.parts_ms == {"addBatch": [240]}
    assert found.stages["speed"]["rows_out"] == [10]
    assert service.history(job, Step.MINUTE).times == [at // 60 * 60]
    assert service.history(job, after=at).times == []


def test_there_is_no_history_of_a_job_that_nobody_knows(pair):
    with pytest.raises(NotFoundError, match="No job with name or id 'x' was found"):
        pair[0].history("x")
