"""The history of a job, over every service."""

import threading
import time

import pytest

from pitstop.errors import (
    NotFoundError,
)
from pitstop.model.history import KEEP_CHANGES, StateChange
from pitstop.model.job import JobState
from pitstop.service.results import JobHistory
from tests.doors.doors import MOMENT, brought_to, request, running

S = JobState


def told(page):
    return [change.text for change in page.changes]


def test_the_history_of_a_job_tells_each_change_in_order_with_its_reason(pair):
    service, state = pair
    job = running(state)
    for verb in (service.suspend, service.resume, service.restart):
        verb(job)
        service.wait_for(job, (S.RUNNING, S.SUSPENDED), 20)
    service.wait_for(job, (S.RUNNING,), 20)
    service.cancel("hello-world")
    page = service.history("hello-world")
    up = ["Pitstop: NOT_RUNNING -> STARTING (A run is started)", "Pitstop: STARTING -> RUNNING (The run is up)"]
    assert told(page) == [
        *up,
        "User: RUNNING -> SUSPENDED (Suspend)",
        "User: SUSPENDED -> NOT_RUNNING (Resume)",
        *up,
        "User: RUNNING -> NOT_RUNNING (Restart)",
        *up,
        "User: RUNNING -> FAILED (Cancel)",
    ]
    assert [change.sequence for change in page.changes] == list(range(1, 11))
    assert [change.at for change in page.changes] == [pytest.approx(MOMENT, abs=1e-6)] * 10
    assert (page.next, page.lost, page.ended) == (10, 0, True)
    middle = service.history(job, after=2, limit=2)
    assert (middle.changes, middle.next, middle.ended) == (page.changes[2:4], 4, False)


def test_the_history_tells_why_a_run_ended_by_itself(pair):
    service, state = pair
    state.submit(request("a", "# fails: No such column: vin"))
    state.wait_for("a", (S.FAILED,), 20)
    assert told(service.history("a"))[-1] == "Pitstop: STARTING -> FAILED (No such column: vin)"
    state.submit(request("b", "# fails: No such column: vin", options={"suspend_on_failure": True}))
    state.wait_for("b", (S.SUSPENDED,), 20)
    assert told(service.history("b"))[-1] == "Pitstop: STARTING -> SUSPENDED (No such column: vin)"


def test_who_waits_for_the_next_change_has_it_at_once_and_nothing_if_none_comes(pair):
    service, state = pair
    job = running(state)
    newest = service.history(job).next
    assert service.history(job, newest, wait_seconds=0.05) == JobHistory([], newest, 0, False)
    later = threading.Timer(0.1, lambda: state.suspend(job))
    later.start()
    began = time.monotonic()
    assert told(service.history(job, newest, wait_seconds=60)) == ["User: RUNNING -> SUSPENDED (Suspend)"]
    assert time.monotonic() - began < 30
    later.join()


def test_nobody_waits_for_changes_of_a_job_that_has_ended_and_one_that_is_brought_back_has_more(pair):
    service, state = pair
    job = brought_to(state, S.FAILED)
    newest = service.history(job).next
    assert service.history(job, newest, wait_seconds=600) == JobHistory([], newest, 0, True)
    state.resume(job)
    assert told(service.history(job, newest, limit=1)) == ["User: FAILED -> NOT_RUNNING (Resume)"]
    assert not service.history(job, newest).ended


def test_changes_that_are_kept_no_more_are_counted(pair):
    service, state = pair
    job = running(state)
    with state.registry.transaction():
        for _ in range(KEEP_CHANGES + 3):
            state.registry.add_change(job, StateChange(MOMENT, S.RUNNING, S.NOT_RUNNING, "again", False))
    page = service.history(job, after=2, limit=1)
    assert (page.lost, page.changes[0].sequence) == (3, 6)
    assert service.history(job, after=5, limit=1).lost == 0


def test_there_is_no_history_of_a_job_that_nobody_knows(pair):
    service, _ = pair
    with pytest.raises(NotFoundError, match=r"^No job with name or id 'x' was found$"):
        service.history("x")
