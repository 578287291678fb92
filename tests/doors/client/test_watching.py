"""Who waits for a job follows the server's stream of events."""

import threading

import pytest

from pitstop.client.http import HttpService
from pitstop.client.watching import job_in
from pitstop.errors import UnreachableError, WaitTimeoutError
from pitstop.model.job import JobState
from pitstop.model.operation import Suspend
from pitstop.service.changes import Changes
from tests.doors.conftest import TOKEN
from tests.doors.doors import brought_to, running, serving

OVER = (JobState.SUSPENDED, JobState.FAILED)


def test_who_waits_is_told_of_the_job_s_change_and_not_of_another_s(state):
    with serving(state, TOKEN) as url:
        service, waited = HttpService(url, TOKEN), threading.Event()
        other, job = running(state, "other"), running(state)
        changes = service.job_changes

        def followed(seconds=None):
            for changed in changes(seconds):
                yield changed
                waited.set()  # what was there at first has been looked at

        service.job_changes = followed
        found = []
        thread = threading.Thread(target=lambda: found.append(job_in(service, job, OVER, 30)))
        thread.start()
        assert waited.wait(20)
        state.do(other, Suspend())
        state.do(job, Suspend())
        thread.join(20)
    assert [(each.id, each.status) for each in found] == [(job, JobState.SUSPENDED)]


def test_what_is_so_already_needs_no_change(state):
    with serving(state, TOKEN) as url:
        job = brought_to(state, JobState.SUSPENDED)
        assert job_in(HttpService(url, TOKEN), job, OVER, 20).status is JobState.SUSPENDED


def test_who_waits_too_long_is_told_how_the_job_is(state):
    with serving(state, TOKEN) as url:
        job = running(state)
        with pytest.raises(WaitTimeoutError, match=f"^Job '{job}' is RUNNING, not SUSPENDED or FAILED, after 0 seconds"):
            job_in(HttpService(url, TOKEN), job, OVER, 0.3)


def test_who_waits_for_a_server_that_ends_is_told_so_at_once(state):
    with serving(state, TOKEN) as url:
        service, job = HttpService(url, TOKEN), running(state)
        state.changes.close()  # as a server does that ends, which may answer for a while yet
        with pytest.raises(UnreachableError, match="has ended"):
            job_in(service, job, OVER, 20)
    state.changes = Changes()
