"""Functions that hear each change of a job's state."""

import logging
import threading

import pytest

from pitstop.client import connect
from pitstop.client import listener as listeners
from pitstop.errors import NotFoundError
from pitstop.model.job import JobState
from pitstop.model.operation import Restart, Resume
from tests.doors.conftest import TOKEN
from tests.doors.doors import brought_to, running, serving, until

S = JobState
SECONDS = 20
UP = ["Pitstop: NOT_RUNNING -> STARTING (A run is started)", "Pitstop: STARTING -> RUNNING (The run is up)"]


@pytest.fixture
def client(serve, state):
    with connect(serve(state), TOKEN) as client:
        yield client


class Heard(list):
    """The texts of the changes that were heard."""

    def __call__(self, change):
        self.append(change.text)


def test_whoever_asks_for_events_gets_more_than_one_page_of_them(client, state, monkeypatch):
    monkeypatch.setattr(listeners, "MOST_AT_ONCE", 2)
    job = client.job(running(state))
    job.restart()
    job.wait_started()
    assert [event.sequence for event in job.events()] == [1, 2, 3, 4, 5]
    assert [event.sequence for event in job.events(after=3)] == [4, 5]
    heard = Heard()
    listener = job.add_status_listener(heard)
    job.cancel()
    assert listener.join(SECONDS)
    assert heard == ["User: RUNNING -> CANCELLED (Cancel)"], "from now on, whatever was before"


def test_a_restart_is_heard_change_by_change_and_the_end_of_the_job_is_the_last(client, state):
    job, heard = client.job(running(state)), Heard()
    listener = job.add_status_listener(heard)
    job.restart()
    job.wait_started()
    job.cancel()
    assert listener.join(SECONDS)
    assert heard == ["User: RUNNING -> NOT_RUNNING (Restart)", *UP, "User: RUNNING -> CANCELLED (Cancel)"]


def test_changes_are_heard_while_they_happen(client, state):
    job, heard = client.job(running(state)), Heard()
    listener = job.add_status_listener(heard)
    job.suspend()
    until(lambda: heard == ["User: RUNNING -> SUSPENDED (Suspend)"], "it is heard before the next one")
    job.resume()
    until(lambda: heard[1:] == ["User: SUSPENDED -> NOT_RUNNING (Resume)", *UP], "and so are those that follow")
    listener.remove()


def test_a_listener_may_begin_anywhere_among_the_events(client, state):
    job = client.job(brought_to(state, S.FAILED))
    history = [change.text for change in job.events()]
    for after, expected in ((0, history), (2, history[2:]), (None, [])):
        heard = Heard()
        assert job.add_status_listener(heard, after).join(SECONDS)
        assert heard == expected
    assert history == [*UP, "User: RUNNING -> CANCELLED (Cancel)"]


def test_what_happens_while_the_server_is_away_is_heard_when_it_is_back(state, monkeypatch, caplog):
    monkeypatch.setattr(listeners, "POLL_SECONDS", 0.2)
    caplog.set_level(logging.INFO, "pitstop.client")
    heard = Heard()
    with serving(state, TOKEN) as url:
        job = connect(url, TOKEN).job(running(state))
        listener = job.add_status_listener(heard)
        job.suspend()
        until(lambda: len(heard) == 1, "the first change is heard")
    until(lambda: "waits for the server: No Pitstop server answers" in caplog.text, "it asks a server that is not there")
    state.do(job.id, Resume())
    state.wait_for(job.id, (S.RUNNING,), SECONDS)
    state.do(job.id, Restart())
    state.wait_for(job.id, (S.RUNNING,), SECONDS)
    with serving(state, TOKEN, port=int(url.rsplit(":", 1)[1])):
        job.cancel()
        assert listener.join(SECONDS)
    assert heard == [
        "User: RUNNING -> SUSPENDED (Suspend)",
        "User: SUSPENDED -> NOT_RUNNING (Resume)",
        *UP,
        "User: RUNNING -> NOT_RUNNING (Restart)",
        *UP,
        "User: RUNNING -> CANCELLED (Cancel)",
    ]


def test_a_function_that_fails_hears_the_next_change_all_the_same(client, state, caplog):
    job, heard = client.job(running(state)), Heard()

    def fails_once(change):
        heard(change)
        if len(heard) == 1:
            raise ValueError("no such colour")

    listener = job.add_status_listener(fails_once)
    with caplog.at_level(logging.ERROR, "pitstop.client"):
        job.suspend()
        job.cancel()
        assert listener.join(SECONDS)
    assert heard == ["User: RUNNING -> SUSPENDED (Suspend)", "User: SUSPENDED -> CANCELLED (Cancel)"]
    told = f"a status listener of job {job.id} failed at User: RUNNING -> SUSPENDED (Suspend)"
    assert [(record.getMessage(), str(record.exc_info[1])) for record in caplog.records] == [(told, "no such colour")]


def test_a_listener_that_was_removed_hears_nothing_more(client, state, monkeypatch):
    monkeypatch.setattr(listeners, "POLL_SECONDS", 0.2)
    job, heard, stays = client.job(running(state)), Heard(), Heard()
    listener, other = job.add_status_listener(heard), job.add_status_listener(stays)
    listener.remove()
    listener.remove()
    job.cancel()
    assert listener.join(SECONDS)
    assert other.join(SECONDS)
    assert (heard, stays) == ([], ["User: RUNNING -> CANCELLED (Cancel)"])


def test_a_function_may_remove_its_own_listener(client, state):
    job, heard, known = client.job(running(state)), Heard(), threading.Event()

    def hears_one(change):
        heard(change)
        assert known.wait(SECONDS)
        listener.remove()

    listener = job.add_status_listener(hears_one)
    known.set()
    job.restart()
    job.wait_started()
    job.cancel()
    assert listener.join(SECONDS)
    assert heard == ["User: RUNNING -> NOT_RUNNING (Restart)"]


@pytest.mark.parametrize("how", ["the job is forgotten", "the client is closed"])
def test_a_listener_ends_with_what_it_listens_to(state, monkeypatch, how):
    monkeypatch.setattr(listeners, "POLL_SECONDS", 0.2)
    with serving(state, TOKEN) as url:
        client = connect(url, TOKEN)
        job, heard = client.job(running(state)), Heard()
        listener = job.add_status_listener(heard)
        if how == "the client is closed":
            client.close()
        else:
            state.put(job.id, state=S.COMPLETED, completion_time=0.0)
            state.registry.delete_ended(0, 0.0)
        assert listener.join(SECONDS)
        assert heard == []


def test_a_listener_of_a_job_that_nobody_knows_is_refused_at_once(client, state):
    job = client.job(brought_to(state, S.FAILED))
    state.registry.delete_ended(0, 0.0)
    with pytest.raises(NotFoundError, match=rf"^No job with name or id '{job.id}' was found$"):
        job.add_status_listener(print)
