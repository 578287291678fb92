"""Who is let in, before a byte of the body is read."""

import asyncio
import json

import pytest
from fastapi.testclient import TestClient
from starlette.datastructures import Headers

from pitstop.rest import access, gate
from pitstop.rest.access import Access
from pitstop.rest.app import MOST_BYTES
from pitstop.rest.gate import Gate
from tests.doors.doors import application

TOKEN = "the-long-token"
ACCESS = Access(TOKEN, frozenset({"testserver", "pitstop.example.org"}))
BEARER = f"Bearer {TOKEN}"


def refused(host="127.0.0.1:8701", path="/api/v1/jobs", **headers):
    """The code of the refusal, or None."""
    given = {"host": host, "authorization": BEARER} | {name.replace("_", "-"): value for name, value in headers.items()}
    found = ACCESS.refusal(path, Headers(given))
    return found and (found.http_status, found.code)


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1:8701", "127.0.0.1", "[::1]:8701", "[fe80::1%25eth0]:80", "10.1.2.3:80", "localhost:8701", "LOCALHOST.",
     "testserver", "Pitstop.Example.org:443"],
)  # fmt: skip
def test_it_may_be_called_by_addresses_and_its_own_names(host):
    assert refused(host) is None


@pytest.mark.parametrize(
    "host", ["", "evil.example.org", "localhost.evil.org", "127.0.0.1.evil.org", "[::1", "a b", "x:y:z", "."]
)
@pytest.mark.parametrize("path", ["/api/v1/jobs", "/healthz", "/openapi.json"])
def test_by_another_name_it_does_not_answer_at_all(host, path):
    """A page can make its own name lead to a loopback address (DNS rebinding)."""
    assert refused(host, path) == (403, "FOREIGN")


@pytest.mark.parametrize("site", ["cross-site", "same-site", "anything"])
@pytest.mark.parametrize("path", ["/api/v1/check", "/metrics", "/readyz"])
def test_what_the_page_of_another_site_asks_is_refused_even_with_the_token(path, site):
    assert refused(path=path, sec_fetch_site=site) == (403, "FOREIGN")


@pytest.mark.parametrize("origin", ["https://evil.example.org", "null", "http://127.0.0.1:9999", "http://localhost:8701", ""])
def test_so_is_what_comes_from_another_origin(origin):
    assert refused(origin=origin) == (403, "FOREIGN")


def test_its_own_pages_and_what_is_no_page_may_ask():
    assert refused(origin="http://127.0.0.1:8701", sec_fetch_site="same-origin") is None
    assert refused(sec_fetch_site="none") is None


@pytest.mark.parametrize("given", ["", TOKEN, "Bearer", "Bearer wrong", f"Basic {TOKEN}", f"Bearer {TOKEN}x", "Bearer \xff"])
def test_without_the_token_only_probes_and_the_description_answer(given):
    assert refused(authorization=given) == (401, "DENIED")
    assert [refused(path=path, authorization=given) for path in sorted(access.OPEN)] == [None] * 4


SCRAPES = Access(TOKEN, frozenset({"testserver"}), "the-viewers-token", metrics_token="the-metrics-token")
SCRAPER = {"host": "127.0.0.1", "authorization": "Bearer the-metrics-token"}


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_the_token_of_metrics_gives_the_metrics(method):
    assert SCRAPES.refusal("/metrics", Headers(SCRAPER), method) is None
    without = Access(TOKEN, viewer_token="the-viewers-token")
    assert without.refusal("/metrics", Headers(SCRAPER), method).code == "DENIED"


@pytest.mark.parametrize(
    ("method", "path"),
    [("GET", path) for path in ("/api/v1/jobs", "/api/v1/me", "/metrics/", "/api/v1/jobs/x/metrics", "/api/v1/events")]
    + [("POST", path) for path in ("/metrics", "/api/v1/jobs", "/api/v1/sql", "/api/v1/sign-in-links", "/sign-out")]
    + [("DELETE", "/api/v1/snapshots/s"), ("PUT", "/api/v1/maps/m")],
)
def test_the_token_of_metrics_gives_nothing_else(method, path):
    found = SCRAPES.refusal(path, Headers(SCRAPER), method)
    assert (found.http_status, found.code) == (403, "FORBIDDEN")
    assert found.message == "This token is that of metrics: it may ask GET /metrics and nothing else."


def test_nobody_signs_in_with_the_token_of_metrics(state):
    with TestClient(application(state, SCRAPES)) as http:
        assert http.post("/sign-in", json={"token": "the-metrics-token"}).status_code == 401
        assert http.get("/metrics", headers=SCRAPER).status_code == 200
        assert http.post("/api/v1/sign-in-links", headers=SCRAPER).status_code == 403


def test_a_refused_request_is_answered_before_its_body_is_read():
    """600 MB once took 1.4 GB of memory before the token was looked at."""
    sent = []

    async def receive():
        raise AssertionError("the body was read")

    async def send(message):
        sent.append(message)

    headers = [(b"host", b"127.0.0.1"), (b"content-length", b"600000000")]
    scope = {"type": "http", "method": "POST", "path": "/api/v1/check", "headers": headers, "query_string": b""}
    asyncio.run(Gate(receive, ACCESS)(scope, receive, send))
    assert sent[0]["status"] == 401
    assert (b"connection", b"close") in sent[0]["headers"]


@pytest.fixture
def http(state):
    with TestClient(application(state, ACCESS), headers={"Authorization": BEARER}) as client:
        yield client


def test_what_says_that_it_is_too_large_is_refused(http):
    headers = {"content-type": "application/json", "content-length": str(1 << 40)}
    response = http.post("/api/v1/maps/m/entries", content=b"{}", headers=headers)
    assert response.status_code == 413
    assert response.headers["content-type"] == "application/problem+json"
    assert response.json()["code"] == "TOO_LARGE"


def asked(app, receive):
    """What the application answers to a request for a map's entries whose body comes in pieces."""
    sent = []

    async def send(message):
        sent.append(message)

    headers = [(b"host", b"127.0.0.1"), (b"authorization", BEARER.encode()), (b"content-type", b"application/json")]
    scope = {"type": "http", "method": "POST", "path": "/api/v1/maps/m/entries", "raw_path": b"", "headers": headers,
             "query_string": b"", "root_path": "", "http_version": "1.1", "scheme": "http"}  # fmt: skip
    asyncio.run(asyncio.wait_for(app(scope, receive, send), 20))
    return sent[0]["status"], json.loads(sent[1]["body"])["code"]


def test_what_goes_on_without_an_end_is_refused_once_it_is_too_large(state):
    received = []

    async def receive():
        received.append(1)
        return {"type": "http.request", "body": b" " * (1 << 20), "more_body": True}

    assert asked(application(state, ACCESS), receive) == (413, "TOO_LARGE")
    assert len(received) == (MOST_BYTES >> 20) + 1


@pytest.mark.parametrize("says_its_length", [True, False])
def test_a_viewer_sends_no_more_than_a_long_query(state, says_its_length):
    access = Access("operators", frozenset({"testserver"}), "viewers")
    content = json.dumps({"statements": "SELECT 1 " + " " * gate.VIEWER_BYTES}).encode()
    with TestClient(application(state, access)) as client:

        def answer(token, sent):
            headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
            return client.post("/api/v1/sql", content=sent if says_its_length else iter([sent]), headers=headers)

        refused = answer("viewers", content)
        assert (refused.status_code, refused.json()["code"]) == (413, "TOO_LARGE")
        assert answer("viewers", content[: gate.VIEWER_BYTES]).status_code == 400, "half a text is read, and is no JSON"
        assert answer("operators", content).json().get("code") != "TOO_LARGE"


def test_an_artifact_may_be_larger_than_other_requests(http):
    files = {"request": (None, '{"artifact": "job.py"}'), "artifact": ("job.py", b"#" * (MOST_BYTES + 1))}
    assert http.post("/api/v1/jobs", files=files).status_code == 201


def test_half_a_body_is_not_waited_for_for_ever(state, monkeypatch):
    monkeypatch.setattr(gate, "QUIET_SECONDS", 0.05)
    pieces = iter([{"type": "http.request", "body": b"{", "more_body": True}])

    async def receive():
        found = next(pieces, None)
        return found if found is not None else await asyncio.Event().wait()

    assert asked(application(state, ACCESS), receive) == (408, "USAGE")


@pytest.mark.parametrize(
    "url", ["/api/v1/jobs/a%00b", "/api/v1/maps/m/entry?key=%00", "/api/v1/jobs/a?wait_for=RUNNING%00&timeout=1"]
)
def test_an_address_with_a_nul_is_refused(http, url):
    """PostgreSQL takes no such text."""
    response = http.get(url)
    assert (response.status_code, response.json()["code"]) == (400, "USAGE")
    assert "holds a NUL" in response.json()["message"]


@pytest.mark.parametrize(
    ("method", "url", "body"),
    [
        ("PUT", "/log-levels", {"logger": "root", "level": "INFO", "job": "\0"}),
        ("POST", "/check", {"artifact": "job.py", "job": "a\0"}),
        ("POST", "/check", {"artifact": "job.py", "snapshot": "a\0"}),
        ("POST", "/jobs", {"artifact": "job.py", "initial_snapshot": "a\0"}),
        ("POST", "/jobs", {"artifact": "job.py", "options": {"initial_snapshot": "a\0"}}),
    ],
)
def test_so_are_names_of_jobs_and_snapshots_with_one(http, method, url, body):
    response = http.request(method, f"/api/v1{url}", json=body)
    assert (response.status_code, response.json()["code"]) == (400, "USAGE")
    assert "holds a NUL" in response.json()["message"]


def test_so_are_keys_of_maps_and_statements_with_one(http, state):
    for url, body in [("/maps/m/entries", {"entries": {"a\0b": 1}}), ("/sql", {"statements": 'DROP MAPPING "a\0b"'})]:
        response = http.post(f"/api/v1{url}", json=body)
        assert (response.status_code, "holds a NUL" in response.json()["message"]) == (400, True)
    assert http.post("/api/v1/maps/m/entries", json={"entries": {"a": "\0"}}).is_success
    assert state.map_get("m", "a") == '"\\u0000"'
