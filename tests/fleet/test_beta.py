"""Provider Beta over HTTP, as a process of its own."""

import dataclasses
import itertools
import signal
import socket

import httpx2
import pytest
from fleetsim.world import World

from .conftest import Simulator, until


class Beta:
    """A running Beta and a client for it."""

    def __init__(self, process):
        self.process = process
        self.url = process.line()["url"]
        self._client = httpx2.Client(timeout=30.0)

    def ask(self, **parameters):
        return self._client.get(self.url, params=parameters)

    def pings(self, **parameters):
        answer = self.ask(**parameters)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def stats(self):
        return self._client.get(self.url.replace("/pings", "/stats")).raise_for_status().json()

    def await_pings(self, count):
        until(lambda: self.stats()["pings"] >= count, f"ping {count}")


@pytest.fixture
def beta(simulate):
    """``beta("--keep", 50)`` starts Beta, at a hundred times the demo's speed."""
    return lambda *options: Beta(simulate("beta", "--seed", 5, "--speedup", 3000, *options))


@pytest.fixture(scope="module")
def still():
    """One Beta for all tests that only read, frozen at ``still.count`` pings (a thousand or more)."""
    process = Simulator("beta", "--seed", 5, "--speedup", 6000)
    try:
        server = Beta(process)
        server.await_pings(1000)
        process.signal(signal.SIGUSR1)
        server.count = process.line()["pings"]
        yield server
    finally:
        process.end()


def expected(start, end):
    pings = itertools.islice(World(5).beta_pings(), start, end)
    return [dataclasses.asdict(ping) | {"sequence": n, "obd_codes": list(ping.obd_codes)} for n, ping in enumerate(pings, start)]


@pytest.mark.parametrize("limit", [7, 200])
def test_paging_from_the_beginning_gives_every_ping_of_the_seed_once_and_in_order(still, limit):
    found = []
    while page := still.pings(since=len(found) - 1, limit=limit):
        assert len(page) == min(limit, still.count - len(found))
        found += page
    assert found == expected(0, still.count)


def test_the_defaults_are_the_beginning_and_two_hundred_pings(still):
    assert still.pings() == expected(0, 200)


def test_since_is_exclusive(still):
    assert [ping["sequence"] for ping in still.pings(since=9, limit=3)] == [10, 11, 12]


def test_there_is_an_empty_array_when_nothing_is_new(still):
    assert still.pings(since=still.count - 2) == expected(still.count - 1, still.count)
    assert still.pings(since=still.count - 1) == []
    assert still.pings(since=still.count + 10**9) == []


def test_only_the_last_pings_are_kept(beta):
    server = beta("--keep", 50)
    server.await_pings(200)
    page = server.pings(since=-1, limit=1000)
    first = page[0]["sequence"]
    assert first >= 150
    assert page == expected(first, first + 50)


def test_stats_tell_the_range_that_is_kept(beta):
    server = beta("--keep", 50)
    server.await_pings(200)
    stats = server.stats()
    assert stats["newest"] == stats["pings"] - 1
    assert stats["oldest"] == stats["pings"] - 50


def test_the_largest_page_is_ten_thousand_pings(beta):
    server = beta("--speedup", 200_000)
    server.await_pings(10_001)
    assert server.pings(limit=10_000) == expected(0, 10_000)


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"since": "soon"}, "since must be a whole number of at least -1 (the beginning), not 'soon'."),
        ({"since": -2}, "since must be a whole number of at least -1 (the beginning), not '-2'."),
        ({"since": 1.5}, "since must be a whole number of at least -1 (the beginning), not '1.5'."),
        ({"limit": 0}, "limit must be a whole number from 1 to 10000, not '0'."),
        ({"limit": 10_001}, "limit must be a whole number from 1 to 10000, not '10001'."),
        ({"limit": ""}, "limit must be a whole number from 1 to 10000, not ''."),
    ],
)
def test_bad_parameters_are_refused_with_a_sentence(still, parameters, sentence):
    answer = still.ask(**parameters)
    assert (answer.status_code, answer.json()) == (400, {"detail": sentence})


def test_faults_come_when_they_are_asked_for_and_leave_the_pings_as_they_are(beta):
    server = beta("--fail-every", 3, "--garbage-every", 5)
    server.await_pings(200)
    kinds, whole = [], expected(0, 200)
    for _ in range(15):
        answer = server.ask()
        if answer.status_code == 503:
            kinds.append("fail")
        else:
            try:
                kinds.append("good" if answer.json() == whole else "other")
            except ValueError:
                kinds.append("garbage")
    rule = ["fail" if n % 3 == 0 else "garbage" if n % 5 == 0 else "good" for n in range(1, 16)]
    assert kinds == rule


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_and_it_tells_its_count(beta, number):
    server = beta()
    server.await_pings(100)
    server.process.signal(number)
    code, told, errors = server.process.ended()
    assert (code, errors) == (0, "")
    assert [line["simulator"] for line in told] == ["beta"]
    assert told[0]["pings"] >= 100


def test_a_frozen_world_makes_no_more_pings_and_goes_on_answering(beta):
    server = beta()
    server.await_pings(100)
    server.process.signal(signal.SIGUSR1)
    told = server.process.line()
    assert (told["simulator"], told["frozen"]) == ("beta", True)
    assert server.stats()["pings"] == told["pings"]
    assert server.pings(since=told["pings"] - 2) == expected(told["pings"] - 1, told["pings"])
    server.process.signal(signal.SIGTERM)
    assert server.process.ended() == (0, [{"simulator": "beta", "pings": told["pings"]}], "")


def test_it_listens_at_the_port_that_was_asked_for(simulate):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    server = Beta(simulate("beta", "--port", port, "--speedup", 3000))
    assert server.url == f"http://127.0.0.1:{port}/pings"
    assert server.stats()["oldest"] == 0


def test_a_port_that_is_taken_is_refused_with_a_sentence(simulate):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        code, told, errors = simulate("beta", "--port", port).ended()
    assert (code, told) == (2, [])
    assert f"port {port} on 127.0.0.1 cannot be opened" in errors
    assert "choose another --port, or 0 for a free one" in errors


def test_alpha_and_beta_processes_together_emit_the_world(simulate, beta, tmp_path):
    server = beta()
    simulate("alpha", "--dir", tmp_path, "--seed", 5, "--speedup", 3000, "--until-pings", 600).ended()
    server.await_pings(600)
    alpha = [line.split(",") for path in tmp_path.glob("*.csv") for line in path.read_text().splitlines()]
    found = {(vin, float(time)) for vin, _, _, time in alpha} | {(ping["vin"], ping["time"]) for ping in server.pings(limit=600)}
    assert found == {(ping.vin, ping.time) for ping in itertools.islice(World(5).pings(), 1200)}
