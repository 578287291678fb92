"""How often, and after how long, a job is started again whose runs fail (option restart)."""

import dataclasses

import pytest

from pitstop.control.life import Due, decide, is_due
from pitstop.control.seeing import AWAY_SECONDS, MOST_ATTEMPTS
from pitstop.errors import Problem
from pitstop.model.config import JobConfig
from pitstop.model.job import Job, JobSource, JobState, Starting, Update, Version, Watched
from pitstop.model.run import Died, EngineLoss, EpochCommitted, Failed, Observation, Running

NOW = 1_000_000.0
PASSES = Failed(Problem("ENGINE", "db is down"), "trace", restartable=True, passing=True)
UNKNOWN = Failed(Problem("ENGINE", "odd"), "trace", restartable=True)
RESTED, WORKED = (Failed(Problem("ENGINE", "the engine has ended"), "trace", engine_loss=loss) for loss in EngineLoss)
WRONG = Failed(Problem("ENGINE", "no column 'x'"), "trace")


def running(restart="exponential-delay jitter-factor=0", **fields):
    version = Version(1, JobSource("a.py"), {}, JobConfig.from_options({"restart": restart}), lineage="one")
    return dataclasses.replace(Job("id", "job", NOW - 100, version, JobState.RUNNING, start_time=NOW - 50, token=3), **fields)


def fail(job, fact=PASSES, now=NOW):
    return decide(job, Observation(job.id, job.token, fact), now).job


def again(job, fact=PASSES, times=1, now=NOW, up=False):
    """The job after so many failures; how long it waited before each further start."""
    waits = []
    for _ in range(times):
        job = fail(job, fact, now)
        if job.state is not JobState.NOT_RUNNING or job.due is None:
            break
        waits.append(job.due - now)
        now = job.due
        job = decide(job, Due(), now).job
        if up:
            job = decide(job, Observation(job.id, job.token, Running(-1)), now).job
    return job, waits


def test_what_passes_is_tried_for_as_long_as_it_takes_and_waits_longer_each_time():
    job, waits = again(running(), times=1000)
    assert job.state is JobState.STARTING
    assert waits[:4] == pytest.approx([1.0, 1.5, 2.25, 3.375])
    assert set(waits[11:]) == {60.0}
    assert job.attempts == 1000


def test_what_cannot_pass_ends_the_job_at_once():
    ended = fail(running(), WRONG)
    assert (ended.state, ended.failure) == (JobState.FAILED, "no column 'x'")


@pytest.mark.parametrize("fact", [UNKNOWN, Died("gone")])
def test_what_may_lie_in_the_job_is_tried_a_few_times_the_first_at_once(fact):
    job, waits = again(running(), fact, times=10)
    assert waits == pytest.approx([0.0, 1.0, 1.5, 2.25])
    assert job.state is JobState.FAILED
    assert job.failure.endswith(f", {MOST_ATTEMPTS} times in a row without progress")
    assert not job.state_dropped


@pytest.mark.parametrize("fact", [PASSES, UNKNOWN, Died("gone")])
def test_a_number_of_attempts_holds_for_all_that_may_pass(fact):
    job, waits = again(running("fixed-delay attempts=7 delay=2s"), fact, times=20)
    assert len(waits) == 7
    assert set(waits[1:]) == {2.0}
    assert job.failure.endswith(", 8 times in a row without progress")


@pytest.mark.parametrize("fact", [PASSES, UNKNOWN, Died("gone")])
def test_without_a_strategy_the_first_failure_is_the_last(fact):
    ended = fail(running("none"), fact)
    assert ended.state is JobState.FAILED
    assert ended.failure in ("db is down", "odd", "gone")


def test_a_store_that_is_away_is_waited_for_also_without_a_strategy():
    away = Failed(Problem("STORE", "busy"), away=True)
    assert fail(running("none"), away).due == NOW + AWAY_SECONDS


def test_an_epoch_is_progress():
    job, _ = again(running(), times=5)
    assert decide(job, Observation("id", job.token, EpochCommitted(4)), NOW).job.attempts == 0


def test_with_a_threshold_only_a_run_that_has_gone_well_for_so_long_is():
    strategy = "exponential-delay jitter-factor=0 reset-backoff-threshold=1min"
    job = running(strategy, attempts=5, start_time=NOW - 59)
    assert decide(job, Observation("id", 3, EpochCommitted(4)), NOW).job.attempts == 5
    assert fail(job).attempts == 6
    assert fail(dataclasses.replace(job, start_time=NOW - 61)).attempts == 1
    assert fail(dataclasses.replace(job, start_time=NOW - 61, state=JobState.STARTING)).attempts == 6


def test_failures_are_counted_within_their_time():
    strategy = "failure-rate max-failures-per-interval=3 failure-rate-interval=1min delay=5s"
    job, waits = again(running(strategy), times=10, up=True)
    assert waits == [5.0, 5.0, 5.0]
    assert job.failure == "db is down, 4 times within 1 minute (option restart)"
    rare, now = running(strategy), NOW
    for _ in range(20):
        rare = fail(rare, now=now)
        assert rare.state is JobState.NOT_RUNNING
        assert len(rare.failures) <= 3
        rare, now = decide(rare, Due(), rare.due).job, now + 25
        assert rare.state is JobState.STARTING


@pytest.mark.parametrize("phase", [Starting(running().version, NOW - 10), Watched(running().version, NOW - 10)])
def test_a_new_version_that_cannot_go_on_gives_way_to_the_one_before(phase):
    state = JobState.RUNNING if isinstance(phase, Watched) else JobState.STARTING
    job = running(update=Update(9, 1e6, phase), state=state)
    new = dataclasses.replace(job.version, number=2, options={"initial_snapshot": "s"}, lineage="two")
    back, waits = again(dataclasses.replace(job, version=new), times=10)
    assert len(waits) == MOST_ATTEMPTS - 1
    assert (back.state, back.version.number) == (JobState.NOT_RUNNING, 1)
    assert "db is down" in back.update_failure


@pytest.mark.parametrize("phase", [Starting(running().version, NOW - 10), Watched(running().version, NOW - 10)])
def test_a_new_version_of_whose_error_nobody_knows_gives_way_at_once(phase):
    unclear = dataclasses.replace(UNKNOWN, unclear=True)
    assert fail(running(), unclear).state is JobState.NOT_RUNNING, "without an update it is tried again"
    state = JobState.RUNNING if isinstance(phase, Watched) else JobState.STARTING
    job = running(update=Update(9, 1e6, phase), state=state)
    new = dataclasses.replace(job.version, number=2, options={"initial_snapshot": "s"}, lineage="two")
    back = fail(dataclasses.replace(job, version=new), unclear)
    assert (back.version.number, back.attempts) == (1, 0)


def test_jobs_that_fail_at_one_moment_do_not_come_back_at_one():
    dues = {fail(running("exponential-delay", id=f"job-{number}")).due for number in range(20)}
    assert len(dues) > 15
    assert all(NOW + 0.9 <= due <= NOW + 1.1 for due in dues)
    first = running("exponential-delay")
    assert fail(first).due == fail(first).due, "decided twice, it is the same"


def test_a_long_wait_is_waited_for_and_a_clock_that_was_set_back_is_not():
    job = fail(running("fixed-delay attempts=3 delay=1h"))
    assert not is_due(job, NOW + 3599)
    assert is_due(job, NOW + 3600)
    assert is_due(job, NOW - 10)


def test_a_shared_engine_that_ends_costs_its_jobs_no_attempt_and_no_time():
    job, waits = again(running(restart="none"), RESTED, times=20)
    assert (job.state, job.attempts, job.version.config.engine) == (JobState.STARTING, 0, None)
    assert waits == [0.0] * 20


def test_a_job_at_whose_epochs_two_shared_engines_have_ended_goes_on_in_its_own():
    job, waits = again(running(), WORKED, times=2)
    assert (job.state, waits) == (JobState.STARTING, [0.0, 0.0])
    assert (job.version.config.engine, job.version.options["engine"]) == ("own", "own")
    once = fail(fail(running(), WORKED), RESTED)
    assert once.version.config.engine is None
    moved = fail(dataclasses.replace(running(), engine_losses=1), WORKED)
    assert "an engine of its own (option engine=own)" in moved.interruption


def test_an_epoch_that_is_committed_in_between_speaks_for_a_job():
    job = running()
    for _ in range(5):
        job = dataclasses.replace(fail(job, WORKED), state=JobState.RUNNING)
        job = decide(job, Observation(job.id, job.token, EpochCommitted(1)), NOW).job
    assert job.version.config.engine is None
