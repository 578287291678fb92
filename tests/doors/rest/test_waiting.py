"""Those who wait need no thread, keep nobody waiting, and are seen to go away."""

import asyncio
import socket
import threading
import time

import httpx2
import pytest

from pitstop.model.job import JobState
from pitstop.model.operation import Cancel, Suspend
from pitstop.rest.waiting import Waiters
from pitstop.service.asked import LOOK_SECONDS
from tests.doors.doors import brought_to, request, running, serving, until

TOKEN = "the-long-token"
HEADERS = {"Authorization": f"Bearer {TOKEN}"}
MANY = 300


@pytest.fixture
def url(state):
    with serving(state, TOKEN) as url:
        yield url


@pytest.fixture
def waiting(monkeypatch):
    """How many have begun to wait."""
    counts = [0]
    wait = Waiters.wait

    def counted(*arguments):
        counts[0] += 1
        return wait(*arguments)

    monkeypatch.setattr(Waiters, "wait", counted)
    return counts


async def asked_by_many(url, path, count, meanwhile):
    limits = httpx2.Limits(max_connections=None)
    async with httpx2.AsyncClient(base_url=url, headers=HEADERS, timeout=60, limits=limits) as http:
        many = [asyncio.create_task(http.get(path)) for _ in range(count)]
        await asyncio.to_thread(meanwhile)
        return [(answer.status_code, answer.json()) for answer in await asyncio.gather(*many)]


@pytest.mark.long
def test_many_wait_without_threads_while_others_are_served(state, url, waiting):
    job, threads = brought_to(state, JobState.STARTING, "slow"), [threading.active_count()]

    def meanwhile():
        until(lambda: waiting[0] == MANY, "all of them wait")
        threads.append(threading.active_count())
        began = time.monotonic()
        with httpx2.Client(base_url=url, headers=HEADERS) as http:
            assert http.get("/api/v1/snapshots").json() == []
            assert http.get("/readyz").status_code == 200
        assert time.monotonic() - began < 10
        state.do(job, Cancel())

    path = f"/api/v1/jobs/{job}?wait_for=FAILED&timeout=60"
    answers = asyncio.run(asked_by_many(url, path, MANY, meanwhile))
    assert {(status, found["status"]) for status, found in answers} == {(200, "FAILED")}
    assert threads[1] - threads[0] < MANY / 6


def test_many_wait_for_changes_of_a_job_without_threads_and_all_hear_the_next_one(state, url, waiting):
    job, threads = running(state), [threading.active_count()]
    newest = state.job_events(job).next

    def meanwhile():
        until(lambda: waiting[0] == MANY, "all of them wait")
        threads.append(threading.active_count())
        state.do(job, Suspend())

    path = f"/api/v1/jobs/{job}/events?after={newest}&wait_seconds=60"
    answers = asyncio.run(asked_by_many(url, path, MANY, meanwhile))
    assert [status for status, _ in answers] == [200] * MANY
    assert {change["new"] for _, found in answers for change in found["events"]} == {"SUSPENDED"}
    assert {found["next"] for _, found in answers} == {newest + 1}
    assert threads[1] - threads[0] < MANY / 6


def test_a_client_that_has_hung_up_is_not_waited_for_any_more(state, url):
    """256 waiting requests once blocked every call on a job, for 20 s even after they had hung up."""
    brought_to(state, JobState.STARTING, "slow")
    signs = []
    shown = state.shown
    state.shown = lambda wanted: signs.append(set(wanted)) or shown(wanted)
    port = int(url.rsplit(":", 1)[1])
    head = "GET /api/v1/jobs/slow?wait_for=RUNNING&timeout=600 HTTP/1.1\r\nHost: localhost\r\n"
    head += f"Authorization: Bearer {TOKEN}\r\n\r\n"
    with socket.create_connection(("127.0.0.1", port)) as client:
        client.sendall(head.encode())
        until(lambda: signs, "it is waited for")
    until(lambda: nobody_looks(signs), "nobody looks for what nobody waits for")


def nobody_looks(signs):
    before = len(signs)
    threading.Event().wait(2 * LOOK_SECONDS)
    return len(signs) == before


def test_a_verb_waits_without_a_thread_and_tells_its_error(state, url):
    job = running(state)
    with httpx2.Client(base_url=url, headers=HEADERS, timeout=60) as http:
        assert http.post(f"/api/v1/jobs/{job}/suspend").json()["status"] == "SUSPENDED"
        told = http.post(f"/api/v1/jobs/{job}/restart")
        assert (told.status_code, told.json()["code"]) == (409, "CONFLICT")


def test_those_who_wait_are_told_when_the_server_ends(state, url, waiting):
    brought_to(state, JobState.STARTING, "slow")

    def meanwhile():
        until(lambda: waiting[0] == 3, "all of them wait")
        state.changes.close()

    answers = asyncio.run(asked_by_many(url, "/api/v1/jobs/slow?wait_for=RUNNING&timeout=60", 3, meanwhile))
    assert {(status, found["code"]) for status, found in answers} == {(503, "UNREACHABLE")}


def test_writers_that_wait_for_the_store_keep_no_probe_and_no_reader_waiting(state, url):
    """45 of them once made /readyz take 10 s."""
    job = running(state)
    answers = []

    def put(number):
        with httpx2.Client(base_url=url, headers=HEADERS, timeout=60) as http:
            answers.append(http.post("/api/v1/maps/m/entries", json={"entries": {str(number): 1}}).status_code)

    writers = [threading.Thread(target=put, args=(number,)) for number in range(45)]
    with state.registry.transaction():
        for writer in writers:
            writer.start()
        began = time.monotonic()
        with httpx2.Client(base_url=url, headers=HEADERS, timeout=60) as http:
            for path in ("/readyz", f"/api/v1/jobs/{job}", "/api/v1/jobs", "/metrics"):
                assert http.get(path).status_code == 200
        assert time.monotonic() - began < 10
        assert answers == []
    for writer in writers:
        writer.join(30)
    assert answers == [204] * 45


def test_a_submitted_job_is_there_at_once(state, url):
    """Lists are kept as they were made, but never shown when they are old."""
    with httpx2.Client(base_url=url, headers=HEADERS) as http:
        for number in range(3):
            state.submit(request(f"job-{number}", "# hangs"))
            assert {job["name"] for job in http.get("/api/v1/jobs").json()} == {f"job-{n}" for n in range(number + 1)}
