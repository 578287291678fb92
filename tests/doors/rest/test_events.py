"""Server-sent events over real HTTP: what changes comes at once, in order, once, or the reader is told to read anew."""

import asyncio
import contextlib
import itertools
import json
import threading

import httpx2
import pytest

from pitstop.errors import ConflictError
from pitstop.model.job import JobState, Progress
from pitstop.model.operation import Discard, Export, Suspend
from pitstop.rest import events
from pitstop.service import reads
from pitstop.service.feed import Feed, FeedKind
from tests.doors.doors import running, serving, until
from tests.doubles import http
from tests.doubles.runs import ScriptedQuery

TOKEN = "the-long-token"
HEADERS = {"Authorization": f"Bearer {TOKEN}"}
MANY = 200


@pytest.fixture
def url(state):
    with serving(state, TOKEN) as url:
        yield url


@contextlib.contextmanager
def following(url, query="", last=None):
    """An iterator of (id, event, data)."""
    headers = HEADERS | ({"Last-Event-ID": last} if last else {})
    with httpx2.stream("GET", f"{url}/api/v1/events{query}", headers=headers, timeout=30) as response:
        assert (response.status_code, response.headers["content-type"]) == (200, "text/event-stream; charset=utf-8")
        yield read(response.iter_lines())


def read(lines):
    fields = {}
    for line in lines:
        if line:
            name, _, value = line.partition(": ")
            fields[name] = value
        else:
            yield fields["id"], fields["event"], json.loads(fields["data"])
            fields = {}


def test_a_value_of_an_event_is_what_a_read_answers_moments_included(state, url):
    with following(url, "?kind=job&kind=snapshot&kind=cluster") as told:
        next(told)
        job = running(state)
        state.do(job, Export("one"))
        newest = {}
        while not {("job", job), ("snapshot", "one")} <= newest.keys():
            _, kind, data = next(told)
            newest[kind, data["key"]] = data["value"]
    read_job, taken = (httpx2.get(f"{url}/api/v1/{path}", headers=HEADERS).json() for path in (f"jobs/{job}", "snapshots"))
    assert newest["job", job] | {"progress": None} == read_job | {"progress": None}
    assert [newest["snapshot", "one"]] == taken
    assert taken[0]["created"].startswith("20")


def test_changes_of_jobs_snapshots_and_maps_come_with_what_is_there_now(state, url):
    with following(url) as told:
        assert next(told)[1:] == ("ready", {})
        job = running(state)
        wanted = [("job", job, lambda value: value["status"] == "RUNNING")]
        state.do(job, Export("one"))
        wanted.append(("snapshot", "one", lambda value: value["job_id"] == job))
        state.map_put("cars", {"a": 1})
        wanted.append(("map", "cars", lambda value: value["size"] == 1))
        for _, kind, data in told:
            wanted = [(k, key, holds) for k, key, holds in wanted if (k, key) != (kind, data["key"]) or not holds(data["value"])]
            if not wanted:
                break
        state.delete_snapshot("one")
        assert next(data for _, kind, data in told if kind == "snapshot") == {"key": "one", "value": None}


def test_what_is_asked_of_a_job_is_told_as_begun_and_as_done(state, url, monkeypatch):
    job, goes_on, export = running(state), threading.Event(), ScriptedQuery.export

    def slow(query, name, at_rest):
        assert goes_on.wait(20)
        return export(query, name, at_rest)

    monkeypatch.setattr(ScriptedQuery, "export", slow)
    with following(url, "?kind=operation") as told:
        next(told)
        asking = threading.Thread(target=state.do, args=(job, Export("one")))
        asking.start()
        seen = []
        for _, kind, data in told:
            value = data["value"] if kind == "operation" else None
            if value is None or value["verb"] != "export":
                continue
            assert data["key"] == str(value["id"])
            assert (value["job_id"], value["snapshot"], value["error"], value["code"]) == (job, "one", None, None)
            seen.append(value)
            if value["state"] == "running":
                assert value["answered"] is None
                goes_on.set()
            if value["state"] == "done":
                break
        asking.join()
    assert [value["state"] for value in seen][-2:] == ["running", "done"]
    assert {value["id"] for value in seen} == {seen[0]["id"]}
    assert seen[-1]["submitted"] <= seen[-1]["answered"]


def test_what_was_refused_is_told_with_its_sentence_and_forgotten_after_a_while(state, url, monkeypatch):
    monkeypatch.setattr(reads, "ANSWERED_SECONDS", 1.0)
    job = running(state)
    with following(url, "?kind=operation") as told:
        next(told)
        with pytest.raises(ConflictError) as refused:
            state.do(job, Discard())
        of_it = (
            data for _, kind, data in told if kind == "operation" and (not data["value"] or data["value"]["verb"] == "discard")
        )
        value = next(data["value"] for data in of_it if data["value"] and data["value"]["state"] == "failed")
        assert (value["error"], value["code"]) == (refused.value.message, "CONFLICT")
        assert next(data["value"] for data in of_it if data["key"] == str(value["id"])) is None
    assert state.operations() == []


def test_only_the_kinds_that_are_asked_for_come(state, url):
    with following(url, "?kind=snapshot") as told:
        next(told)
        job = running(state)
        state.do(job, Export("one"))
        assert next(told)[1] == "snapshot"
    assert httpx2.get(f"{url}/api/v1/events?kind=nosuch", headers=HEADERS).status_code == 400


def test_who_comes_back_misses_nothing_and_gets_nothing_twice(state, url):
    with following(url, "?kind=snapshot") as told:
        next(told)
        job = running(state)
        state.do(job, Export("one"))
        last, _, data = next(told)
        assert data["key"] == "one"
    for name in ("two", "three"):
        state.do(job, Export(name))
    with following(url, "?kind=snapshot", last) as told:
        assert next(told)[1] == "ready"
        assert {next(told)[2]["key"], next(told)[2]["key"]} == {"two", "three"}


@pytest.mark.parametrize("last", ["another.1", "nonsense", "x.-1", ".", "\xe4.1"])
def test_who_comes_from_another_server_or_too_late_is_told_to_read_anew(url, last):
    with following(url, last=last.encode("latin-1")) as told:
        assert next(told)[1:] == ("resync", {})


@pytest.mark.parametrize("number", ["7", "9" * 5000, "1.0", "\u0661"])
def test_an_event_that_has_not_been_is_told_to_read_anew(state, number):
    with http.serving(state, TOKEN) as url:  # a feed of its own, which has told nothing yet
        with following(url) as told:
            incarnation = next(told)[0].partition(".")[0]
        with following(url, last=f"{incarnation}.{number}".encode()) as told:
            assert next(told)[1] == "resync"


def test_a_reader_that_takes_nothing_for_long_is_told_to_read_anew(state):
    async def read_slowly():
        kept = Feed(most=5)
        stream = events.Streams(state, kept).stream(list(FeedKind), None)
        found = [await anext(stream)]
        for size in range(20):  # meanwhile its reader takes nothing, so nobody asks for the next part
            kept.look({(FeedKind.MAP, "cars"): size})
        found += [await anext(stream)]
        await stream.aclose()
        return [part.decode().splitlines()[1] for part in found]

    assert asyncio.run(read_slowly()) == ["event: ready", "event: resync"]


def test_a_quiet_stream_has_a_heart_beat(url, monkeypatch):
    monkeypatch.setattr(events, "HEART_BEAT_SECONDS", 0.05)
    with following(url) as told:
        ready, _, _ = next(told)
        assert next(told) == (ready, "heartbeat", {})


def test_a_stream_has_a_heart_beat_while_only_other_things_change(state, url, monkeypatch):
    monkeypatch.setattr(events, "HEART_BEAT_SECONDS", 0.5)
    monkeypatch.setattr(events, "LOOK_SECONDS", 0.02)
    over, numbers = threading.Event(), itertools.count()

    def change():
        while not over.is_set():
            state.map_put("cars", {str(next(numbers)): 1})

    with following(url, "?kind=map") as of_maps, following(url, "?kind=job") as of_jobs:
        next(of_maps), next(of_jobs)
        changing = threading.Thread(target=change)
        changing.start()
        try:
            place, kind, _ = next(of_jobs)
            assert kind == "heartbeat"
            assert int(place.partition(".")[2]) > 0, "it has passed what others were told"
            assert next(of_maps)[1] == "map"
        finally:
            over.set()
            changing.join()


def test_many_streams_need_no_threads_and_all_hear(state, url):
    job, before = running(state), threading.active_count()
    counts = []

    async def one(client, ready):
        async with client.stream("GET", f"{url}/api/v1/events?kind=job", headers=HEADERS) as response:
            assert response.status_code == 200
            async for line in response.aiter_lines():
                if line == "event: ready":  # from here on nothing is missed
                    ready.release()
                if line.startswith("data: ") and '"status":"SUSPENDED"' in line:
                    return True

    async def all_of_them():
        limits = httpx2.Limits(max_connections=MANY)
        async with httpx2.AsyncClient(timeout=60, limits=limits) as client:
            ready = asyncio.Semaphore(0)
            following = [asyncio.create_task(one(client, ready)) for _ in range(MANY)]
            async with asyncio.timeout(120):
                for _ in range(MANY):
                    await ready.acquire()
                counts.append(threading.active_count())
                await asyncio.to_thread(state.do, job, Suspend())
                return await asyncio.gather(*following)

    assert asyncio.run(all_of_them()) == [True] * MANY
    assert counts[0] - before < MANY / 6
    until(lambda: httpx2.get(f"{url}/healthz").status_code == 200, "others are served")
    assert state.job(job).status is JobState.SUSPENDED


def test_streams_end_with_the_server(state):
    with contextlib.ExitStack() as server:
        url = server.enter_context(serving(state, TOKEN))
        with following(url) as told:
            next(told)
            state.changes.close()
            assert [kind for _, kind, _ in told if kind not in ("cluster", "progress", "job")] == []


def test_what_changed_last_before_the_server_ends_is_told(state):
    with contextlib.ExitStack() as server:
        url = server.enter_context(serving(state, TOKEN))
        with following(url, "?kind=job") as told:
            next(told)
            job = running(state)
            state.changes.close()
            assert (job, "RUNNING") in [(data["key"], data["value"]["status"]) for _, kind, data in told if kind == "job"]


def test_a_stream_ends_when_its_reader_wants(url):
    with following(url, "?seconds=0.1") as told:
        assert {kind for _, kind, _ in told} <= {"ready", "heartbeat", "cluster"}


def test_nobody_follows_without_the_token(url):
    assert httpx2.get(f"{url}/api/v1/events").status_code == 401


def test_progress_that_a_run_reports_is_told_at_once_and_not_at_the_next_look(state, url, monkeypatch):
    monkeypatch.setattr(events, "LOOK_SECONDS", 60.0)
    job = running(state)
    with following(url, "?kind=progress") as told:
        next(told)
        for epoch in (3, 4):
            state.advance(job, Progress(epoch=epoch))
            assert next(data["value"]["epoch"] for _, kind, data in told if kind == "progress") == epoch
    until(lambda: not any(thread.name == "ear" for thread in threading.enumerate()), "nobody hears when nobody follows")
