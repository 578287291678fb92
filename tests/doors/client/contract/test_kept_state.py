"""What an ended job keeps, over every service."""

import re

import pytest

from pitstop.errors import (
    ConflictError,
)
from pitstop.model.job import JobState
from pitstop.model.operation import Cancel, Discard, Export, Resume
from tests.doors.doors import MOMENT, request, running, until

S = JobState


def test_a_cancelled_job_keeps_its_state_for_a_day_and_is_brought_back(pair):
    service, state = pair
    job = running(state, text="# stage: speed bigint")
    service.do(job, Cancel())
    cancelled = service.job(job)
    assert (cancelled.status, cancelled.has_state, cancelled.state_kept_until) == (S.FAILED, True, MOMENT + 86_400)
    kept = service.kept_states()
    assert [(each.id, each.name, each.user_cancelled, each.until) for each in kept] == [
        (job, "hello-world", True, MOMENT + 86_400)
    ]
    assert kept[0].bytes > 0
    assert service.do(job, Export("of the ended")).job_id == job
    assert service.job(job) == cancelled, "it stays as it was"
    service.do(job, Resume())
    back = service.wait_for(job, (S.RUNNING,), 20)
    assert (back.failure, back.completion_time, back.user_cancelled) == (None, None, False)
    assert back.lineage == cancelled.lineage


def test_a_failed_job_keeps_its_state_as_long_as_its_result_and_is_updated_like_a_suspended_one(pair):
    service, state = pair
    job = running(state, text="# stage: speed bigint")
    state.put(job, state=S.FAILED, failure="no column 'x'", completion_time=MOMENT)
    assert service.job(job).state_kept_until == MOMENT + 604_800
    assert service.update(job, request(text="# stage: speed bigint")).gap_seconds is None
    updated = service.job(job)
    assert (updated.status, updated.suspension_cause) == (S.SUSPENDED, "Execution failure:\nno column 'x'")
    service.do(job, Resume())
    assert service.wait_for(job, (S.RUNNING,), 20).version == 2


def test_a_job_is_not_brought_back_while_another_one_has_its_name(pair):
    service, state = pair
    first = running(state)
    service.do(first, Cancel())
    second = running(state)
    with pytest.raises(ConflictError, match=re.escape(f"Another active job with equal name (hello-world) exists: {second}")):
        service.do(first, Resume())
    assert service.job(first).status is S.FAILED
    service.do(second, Cancel())
    service.do(first, Resume())
    service.wait_for(first, (S.RUNNING,), 20)


def test_what_an_ended_job_keeps_is_removed_on_request(pair):
    service, state = pair
    job = running(state, text="# stage: speed bigint")
    with pytest.raises(ConflictError, match=r"^Cannot DISCARD, job status is RUNNING: cancel the job first$"):
        service.do(job, Discard())
    service.do(job, Cancel())
    service.do(job, Discard())
    found = service.job(job)
    assert (found.has_state, found.state_kept_until, service.kept_states()) == (False, None, [])
    until(lambda: not list(state._data.job(job).root.glob("checkpoint*")), "its files are gone as well")
    with pytest.raises(ConflictError, match=r"its state was removed$"):
        service.do(job, Resume())
