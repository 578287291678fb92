"""What happened to a job, over every service."""

import threading
import time

import pytest

from pitstop.errors import (
    NotFoundError,
)
from pitstop.model.job import JobState
from pitstop.model.job_event import StateChange
from pitstop.model.operation import Cancel, Restart, Resume, Suspend
from pitstop.model.retention import USUAL
from pitstop.service.job_results import JobEvents
from tests.doors.doors import MOMENT, brought_to, request, running

S = JobState


def told(page):
    return [event.text for event in page.events]


def test_the_events_of_a_job_tell_each_change_in_order_with_its_reason(pair):
    service, state = pair
    job = running(state)
    for verb in (Suspend(), Resume(), Restart()):
        service.do(job, verb)
        service.wait_for(job, (S.RUNNING, S.SUSPENDED), 20)
    service.wait_for(job, (S.RUNNING,), 20)
    service.do("hello-world", Cancel())
    page = service.job_events("hello-world")
    up = ["Pitstop: NOT_RUNNING -> STARTING (A run is started)", "Pitstop: STARTING -> RUNNING (The run is up)"]
    assert told(page) == [
        *up,
        "User: RUNNING -> SUSPENDED (Suspend)",
        "User: SUSPENDED -> NOT_RUNNING (Resume)",
        *up,
        "User: RUNNING -> NOT_RUNNING (Restart)",
        *up,
        "User: RUNNING -> CANCELLED (Cancel)",
    ]
    assert [event.sequence for event in page.events] == list(range(1, 11))
    assert [event.at for event in page.events] == [pytest.approx(MOMENT, abs=1e-6)] * 10
    assert (page.next, page.lost, page.ended) == (10, 0, True)
    middle = service.job_events(job, after=2, limit=2)
    assert (middle.events, middle.next, middle.ended) == (page.events[2:4], 4, False)


def test_the_events_tell_why_a_run_ended_by_itself(pair):
    service, state = pair
    state.submit(request("a", "# fails: No such column: vin"))
    state.wait_for("a", (S.FAILED,), 20)
    assert told(service.job_events("a"))[-1] == "Pitstop: STARTING -> FAILED (No such column: vin)"
    state.submit(request("b", "# fails: No such column: vin", options={"suspend_on_failure": True}))
    state.wait_for("b", (S.SUSPENDED,), 20)
    assert told(service.job_events("b"))[-1] == "Pitstop: STARTING -> SUSPENDED (No such column: vin)"


def test_who_waits_for_the_next_change_has_it_at_once_and_nothing_if_none_comes(pair):
    service, state = pair
    job = running(state)
    newest = service.job_events(job).next
    assert service.job_events(job, newest, wait_seconds=0.05) == JobEvents([], newest, 0, False)
    later = threading.Timer(0.1, lambda: state.do(job, Suspend()))
    later.start()
    began = time.monotonic()
    assert told(service.job_events(job, newest, wait_seconds=60)) == ["User: RUNNING -> SUSPENDED (Suspend)"]
    assert time.monotonic() - began < 30
    later.join()


def test_nobody_waits_for_changes_of_a_job_that_has_ended_and_one_that_is_brought_back_has_more(pair):
    service, state = pair
    job = brought_to(state, S.FAILED)
    newest = service.job_events(job).next
    assert service.job_events(job, newest, wait_seconds=600) == JobEvents([], newest, 0, True)
    state.do(job, Resume())
    assert told(service.job_events(job, newest, limit=1)) == ["User: CANCELLED -> NOT_RUNNING (Resume)"]
    assert not service.job_events(job, newest).ended


def test_changes_that_are_kept_no_more_are_counted(pair):
    service, state = pair
    job = running(state)
    with state.registry.transaction():
        for _ in range(USUAL.events + 3):
            state.registry.add_event(job, StateChange(MOMENT, S.RUNNING, S.NOT_RUNNING, "again", False))
    page = service.job_events(job, after=2, limit=1)
    assert (page.lost, page.events[0].sequence) == (3, 6)
    assert service.job_events(job, after=5, limit=1).lost == 0


def test_there_are_no_events_of_a_job_that_nobody_knows(pair):
    service, _ = pair
    with pytest.raises(NotFoundError, match=r"^No job with name or id 'x' was found$"):
        service.job_events("x")
