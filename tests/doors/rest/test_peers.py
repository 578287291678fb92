"""Limits count by what the kernel says of a client, never by what it says of itself."""

import threading
from concurrent.futures import ThreadPoolExecutor

import httpx2
import pytest

from pitstop.model.audit import USER_HEADER
from pitstop.rest import peers
from pitstop.rest.access import KEY_HEADER, Access
from pitstop.service.sql_results import Result
from tests.doors.doors import application
from tests.doubles.http import listening
from tests.strangers import NOBODY, as_nobody, as_root

OPERATOR, VIEWER = "the-long-token", "the-other-token"
STATE = "/api/v1/snapshots/s/stages/a/state"
HERE = ("127.0.0.1", 8701)


@pytest.fixture
def url(state):
    with listening(application(state, Access(OPERATOR, frozenset(), VIEWER))) as address:
        yield address


@pytest.fixture
def viewers(state, monkeypatch):
    """The viewers whose queries have come."""
    met = []

    def carry_out(statement, asker, **origin):
        met.append(asker.user)
        return Result.of((), [])

    monkeypatch.setattr(state, "carry_out", carry_out)
    return met


def bearer(token, **headers):
    return {"Authorization": f"Bearer {token}"} | headers


def query(url, headers):
    answer = httpx2.post(f"{url}/api/v1/sql", json={"statements": "SELECT 1"}, headers=headers, timeout=60)
    assert answer.status_code == 200, answer.text


def session(url):
    """The headers of a new session, which the token gives as often as it is asked."""
    answer = httpx2.post(f"{url}/sign-in", json={"token": VIEWER}, headers={"Origin": url})
    cookie = answer.headers["set-cookie"].partition(";")[0]
    return {"Cookie": cookie, KEY_HEADER: answer.json()["key"], "Origin": url}


def test_a_client_is_one_viewer_by_whatever_name_header_or_session_it_asks(url, viewers):
    for name in ("ada", "bob"):
        query(url, bearer(VIEWER, **{USER_HEADER: name, "User-Agent": name}))
    for address in ("10.0.0.7", "10.0.0.8"):
        query(url, bearer(VIEWER, **{"X-Forwarded-For": address, "Forwarded": f"for={address}", "X-Real-IP": address}))
    for headers in (session(url), session(url)):
        query(url, headers)
    assert len(viewers) == 6
    assert len(set(viewers)) == 1, viewers


@as_root
def test_another_user_of_the_machine_is_another_viewer(url, viewers):
    query(url, bearer(VIEWER))
    with as_nobody():
        query(url, bearer(VIEWER))
    assert viewers[1] == f"user {NOBODY} of the server's machine" != viewers[0]


@pytest.mark.parametrize(
    ("host", "viewer"),
    [
        ("10.0.0.7", "10.0.0.7"),
        ("::ffff:10.0.0.7", "10.0.0.7"),
        ("2001:db8::1:2:3:4", "2001:db8::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("127.9.9.9", "the server's machine"),
        ("::1", "the server's machine"),
        ("testclient", "an unknown machine"),
    ],
)
def test_other_machines_are_known_by_their_address_and_of_ipv6_by_their_network(host, viewer):
    assert peers._peer((host, 40_000), None) == viewer
    if host != "testclient":
        assert peers._peer((host, 40_000), HERE) == viewer


def test_a_viewer_exports_the_state_of_one_stage_at_a_time_and_keeps_no_operator_waiting(url, state, monkeypatch):
    waiting, go_on = threading.Semaphore(0), threading.Event()

    def export_state(name, stage):
        waiting.release()
        assert go_on.wait(60)
        return b"rows"

    monkeypatch.setattr(state, "export_state", export_state)
    with ThreadPoolExecutor(5) as five:
        try:
            first = five.submit(httpx2.get, f"{url}{STATE}", headers=bearer(VIEWER), timeout=60)
            assert waiting.acquire(timeout=30)
            for name in ("ada", "bob", "eve", "kim"):
                again = httpx2.get(f"{url}{STATE}", headers=bearer(VIEWER, **{USER_HEADER: name}), timeout=60)
                assert (again.status_code, "one at a time" in again.text) == (429, True)
            operators = [five.submit(httpx2.get, f"{url}{STATE}", headers=bearer(OPERATOR), timeout=60) for _ in range(4)]
            assert all(waiting.acquire(timeout=30) for _ in operators)
        finally:
            go_on.set()
    assert {each.result().status_code for each in [first, *operators]} == {200}
    assert httpx2.get(f"{url}{STATE}", headers=bearer(VIEWER)).status_code == 200
