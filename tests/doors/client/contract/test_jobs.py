"""Jobs, their states and options, over every service."""

import dataclasses
import re

import pytest

from pitstop.errors import (
    ConflictError,
    NotFoundError,
    UsageError,
    WaitTimeoutError,
)
from pitstop.model.config import OPTIONS
from pitstop.model.job import JobState, Progress
from pitstop.model.operation import REQUESTS, Cancel, Configure, Restart, Resume, Suspend, Verb
from tests.doors.doors import MOMENT, brought_to, request, running

S = JobState


def test_a_submitted_job_is_found_by_name_and_by_id_with_all_that_was_asked_for(pair):
    service, _ = pair
    options = {"processing_guarantee": "exactly_once", "partitions": 3, "spark": {"a.b": "c"}}
    job = service.submit(request("käse", entry="jobs:main", args=("a", "", "b c"), options=options))
    assert (job.status, job.submission_time, job.options) == (S.NOT_RUNNING, pytest.approx(MOMENT, abs=1e-6), options)
    for asked in ("käse", job.id):
        found = service.wait_for(asked, (S.RUNNING,), 20)
        assert (found.id, found.options, found.source, found.config) == (job.id, options, job.source, job.config)
    assert (job.source.entry, job.source.args, job.config.partitions) == ("jobs:main", ("a", "", "b c"), 3)


def test_who_submits_again_with_the_same_id_gets_the_same_job_also_when_it_has_ended(pair):
    service, _ = pair
    asked = request("counts", id="0401-9f77-b9c0-00ff")
    first = service.submit(asked)
    assert first.id == "0401-9f77-b9c0-00ff"
    service.wait_for(first.id, (S.RUNNING,), 20)
    assert service.submit(asked).status is S.RUNNING
    service.do("counts", Cancel())
    assert (service.submit(asked).status, len(service.jobs(include_ended=True))) == (S.FAILED, 1)
    with pytest.raises(ConflictError, match=r"^The id 0401-9f77-b9c0-00ff belongs to job 'counts', and not to 'sums'\.$"):
        service.submit(request("sums", id=first.id))


@pytest.mark.parametrize("identity", ["", "counts", "0401-9F77-b9c0-00ff", "8401-9f77-b9c0-00ff", "04019f77b9c000ff"])
def test_an_id_that_no_job_could_have_is_refused(pair, identity):
    service, _ = pair
    with pytest.raises(UsageError, match="is no id of a job: give 16 hex digits in four groups"):
        service.submit(request("counts", id=identity))


def test_an_option_that_is_none_leaves_what_the_code_says(pair):
    service, _ = pair
    assert service.submit(request(options={"partitions": None})).options == {}


def test_a_name_is_taken_until_its_job_has_ended(pair):
    service, state = pair
    first = running(state, "x")
    with pytest.raises(ConflictError, match=rf"^Another active job with equal name \(x\) exists: {first}$"):
        service.submit(request("x"))
    service.do("x", Cancel())
    assert service.submit(request("x")).id != first


def test_ended_jobs_are_listed_only_when_asked_for(pair):
    service, state = pair
    first, second = running(state, "a"), running(state, "b")
    service.do(first, Cancel())
    assert [job.id for job in service.jobs()] == [second]
    assert {job.id for job in service.jobs(include_ended=True)} == {first, second}


def test_what_a_run_says_of_itself_comes_through_whole(pair):
    service, state = pair
    job = running(state)
    progress = Progress(7, 1_700_000_000_123, 10**12, 12.5, 250, 3, {"speed": {"rows_in": 1, "offset": '{"a":1}'}})
    state.advance(job, progress)
    assert service.job(job).progress == progress


def test_a_job_is_suspended_resumed_restarted_and_cancelled(pair):
    service, state = pair
    job = running(state)
    service.do(job, Suspend())
    found = service.job(job)
    assert (found.status, found.suspension_cause) == (S.SUSPENDED, "Requested by user")
    service.do(job, Resume())
    assert service.wait_for(job, (S.RUNNING,), 5).token == 2
    service.do(job, Restart())
    assert service.wait_for(job, (S.RUNNING,), 5).token == 3
    service.do(job, Cancel())
    found = service.job(job)
    assert (found.status, found.user_cancelled, found.completion_time) == (S.FAILED, True, pytest.approx(MOMENT, abs=1e-6))


@pytest.mark.parametrize(
    ("reached", "call", "sentence"),
    [
        (S.SUSPENDED, "suspend", "Cannot SUSPEND, job status is SUSPENDED, should be RUNNING"),
        (S.STARTING, "restart", "Cannot RESTART, job status is STARTING, should be RUNNING"),
        (S.SUSPENDED_EXPORTING_SNAPSHOT, "cancel", "Cannot cancel when job status is SUSPENDED_EXPORTING_SNAPSHOT"),
        (S.COMPLETED, "resume", "Job already completed"),
        (S.COMPLETED, "suspend", "Cannot SUSPEND job 0401-9f77-b9c0-0001 because it already has a result: COMPLETED"),
    ],
)
def test_what_a_state_forbids_is_refused_with_its_sentence(pair, reached, call, sentence):
    service, state = pair
    job = brought_to(state, reached)
    with pytest.raises(ConflictError) as refused:
        service.do(job, REQUESTS[Verb(call)]())
    assert refused.value.message == sentence
    assert service.job(job).status is reached


def test_resume_of_what_runs_and_cancel_of_what_has_ended_change_nothing(pair):
    service, state = pair
    job = running(state)
    service.do(job, Resume())
    assert service.job(job).status is S.RUNNING
    ended = brought_to(state, S.COMPLETED, "ended")
    service.do(ended, Cancel())
    assert service.job(ended).status is S.COMPLETED


def test_a_wait_ends_with_the_state_or_with_a_sentence(pair):
    service, state = pair
    job = brought_to(state, S.STARTING, "slow")
    with pytest.raises(WaitTimeoutError, match=r"^Job 'slow' is STARTING, not RUNNING or FAILED, after 0 seconds\.$"):
        service.wait_for("slow", (S.RUNNING, S.FAILED), 0.05)
    service.do(job, Cancel())
    assert service.wait_for(job, (S.RUNNING, S.FAILED), 5).status is S.FAILED


def test_options_of_a_suspended_job_change_and_its_next_run_has_them(pair):
    service, state = pair
    job = running(state)
    with pytest.raises(ConflictError, match=r"^Cannot CONFIGURE, job status is RUNNING, should be SUSPENDED$"):
        service.do(job, Configure({"snapshot_interval": "1 second"}))
    service.do(job, Suspend())
    service.do(job, Configure({"snapshot_interval": "1 second", "suspend_on_failure": "true"}))
    config = service.job(job).config
    assert (config.snapshot_interval_ms, config.suspend_on_failure, service.job(job).version) == (1000, True, 1)
    service.do(job, Resume())
    assert service.wait_for(job, (S.RUNNING,), 20).config == config


@pytest.mark.parametrize("stored", [True, False])
def test_the_figures_of_stages_stay_with_the_result_if_that_is_wished(pair, stored):
    service, state = pair
    job = running(state, options={"store_metrics_after_completion": stored})
    figures = Progress(epoch=5, input_rows=1000, stages={"speed": {"state_rows": 40}})
    state.advance(job, figures)
    assert service.job(job).progress == figures
    service.do(job, Cancel())
    after = service.job(job).progress
    assert (after.input_rows, after.stages) == (1000, figures.stages if stored else {})


@pytest.mark.parametrize("off", [-1, "none"])
def test_options_are_taken_back(pair, off):
    service, state = pair
    job = running(state, options={"timeout": "2 hours", "max_accumulated_records": 1000})
    service.do(job, Suspend())
    service.do(job, Configure({"timeout": off, "max_accumulated_records": off}))
    config = service.job(job).config
    assert (config.timeout_ms, config.max_accumulated_records) == (None, None)
    service.do(job, Resume())
    assert service.wait_for(job, (S.RUNNING,), 20).config == config
    service.update(job, request(text="# limited", options={"timeout": "2 hours", "max_accumulated_records": 1000}))
    assert service.job(job).config.timeout_ms == 2 * 3_600_000
    service.update(job, request(text="# without limits", options={"timeout": off, "max_accumulated_records": off}))
    assert service.job(job).config.to_dict() == config.to_dict() | {"initial_snapshot": "hello-world-before-3"}


def test_each_option_that_only_an_update_may_change_is_refused_for_a_suspended_job(pair):
    service, state = pair
    job = running(state)
    service.do(job, Suspend())
    before = service.job(job).config
    values = {
        "requirements": ["six"],
        "spark": {"spark.sql.ansi.enabled": "false"},
        "renamed": {"new": "old"},
        "seek": {"orders": "latest"},
        "max_latency": "1 second",
        "engine": "own",
    }
    for option in OPTIONS:
        value = values.get(option.name, option.default if option.default is not None else "7")
        if option.fixed is None:
            service.do(job, Configure({option.name: value}))
            continue
        with pytest.raises(UsageError) as refused:
            service.do(job, Configure({option.name: value}))
        assert refused.value.message == f"{option.name} is not supported for configure: {option.fixed}."
    changed = {"max_latency_ms": 1_000, "engine": "own"}
    after = service.job(job).config
    assert after == (dataclasses.replace(before, **changed) if dataclasses.is_dataclass(before) else before | changed)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"partitions": 4}, "partitions is not supported for configure: saved state depends on it: update the job"),
        ({"processing_guarantee": "none"}, "processing_guarantee is not supported for configure: its checkpoint and its sinks"),
        ({"initial_snapshot": "s"}, "initial_snapshot is not supported for configure: a job starts from a snapshot once"),
        ({"snapshot_interval": "soon"}, "'soon' is no snapshot_interval"),
        ({"snapshots": 1}, "Unknown job option: snapshots. There are: "),
        ({}, "Name the options that are to change"),
    ],
)
def test_what_a_suspended_job_cannot_be_configured_with_is_told(pair, options, message):
    service, state = pair
    job = running(state)
    service.do(job, Suspend())
    before = service.job(job).config
    with pytest.raises(UsageError, match=f"^{re.escape(message)}"):
        service.do(job, Configure(options))
    assert service.job(job).config == before


@pytest.mark.parametrize("name", ["nosuch", "", ".", "..", "a/b", "a b?c#d%2F", "jobs/../x"])
def test_what_there_is_not_is_told_by_its_name_whatever_the_name(pair, name):
    service, _ = pair
    with pytest.raises(NotFoundError) as missing:
        service.job(name)
    assert missing.value.message == f"No job with name or id '{name}' was found"
    for call in (service.snapshot, service.delete_snapshot):
        with pytest.raises(NotFoundError) as missing:
            call(name)
        assert missing.value.message == f"Didn't find a snapshot named '{name}'"
