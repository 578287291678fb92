"""The pace of epochs follows from the latency that a job may have."""

from pathlib import Path

import pytest

from pitstop.model.config import JobConfig, ProcessingGuarantee
from pitstop.spark.base.environment import Environment


def pace_ms(options, in_engine=False, job_id="0401-9f77-b9c0-0001"):
    environment = Environment(
        job_id, "job", "", ProcessingGuarantee.EXACTLY_ONCE, Path("/work"), lambda *_: None, in_engine=in_engine
    )
    return environment.by_options(JobConfig.from_options(options)).pace_ms


def test_a_job_of_its_own_does_not_wait_between_epochs_unless_it_says_so():
    assert pace_ms({}) == 0
    assert 1_800 <= pace_ms({"max_latency": "4 seconds"}) <= 2_000


def test_jobs_of_one_engine_begin_an_epoch_twice_a_second_unless_they_say_otherwise():
    assert 450 <= pace_ms({}, in_engine=True) <= 500
    assert pace_ms({"max_latency": 0}, in_engine=True) == 0


def test_jobs_of_one_latency_do_not_begin_their_epochs_at_the_same_moments():
    paces = {pace_ms({}, in_engine=True, job_id=f"0401-9f77-b9c0-{number:04x}") for number in range(20)}
    assert len(paces) > 10


@pytest.mark.parametrize("latency_ms", [1, 2, 3, 10, 19, 20, 21])
def test_the_shortest_latencies_have_a_pace_too(latency_ms):
    assert 0 <= pace_ms({"max_latency_ms": latency_ms}) <= latency_ms // 2
