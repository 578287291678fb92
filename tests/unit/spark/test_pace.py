"""The pace of epochs follows from the latency that a job may have."""

from pathlib import Path

import pytest

from pitstop.model.config import JobConfig, ProcessingGuarantee
from pitstop.spark.base.environment import Environment
from pitstop.spark.running.pace import Pace


def pace_ms(options, in_engine=False, job_id="0401-9f77-b9c0-0001"):
    environment = Environment(
        job_id, "job", "", ProcessingGuarantee.EXACTLY_ONCE, Path("/work"), lambda *_: None, in_engine=in_engine
    )
    return Pace(environment.by_options(JobConfig.from_options(options)).latency_ms, job_id).interval_ms


def paced(latency_ms, *epochs_ms):
    """Return the interval after epochs of these durations, in milliseconds."""
    pace = Pace(latency_ms, "0401-9f77-b9c0-0001")
    for epoch_ms in epochs_ms:
        pace.note(epoch_ms)
    return pace.interval_ms


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


def test_the_shorter_epochs_are_the_longer_is_the_time_between_them():
    assert 900 * 0.9 <= paced(1_000, 20) <= 900
    assert 700 * 0.9 <= paced(1_000, 200) <= 700
    assert 500 * 0.9 <= paced(1_000, 400) <= 500, "epochs that take longer than they may begin as often as ever"
    assert 500 * 0.9 <= paced(1_000, 5_000) <= 500


def test_the_longest_of_the_last_epochs_counts():
    assert paced(1_000, 20, 300, 20) == paced(1_000, 300)
    assert paced(1_000, 300, *[20] * 8) == paced(1_000, 20)


def test_a_change_too_small_to_matter_is_none():
    pace = Pace(1_000, "0401-9f77-b9c0-0001")
    assert pace.note(100)
    assert not pace.note(110)
