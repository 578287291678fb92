"""Every route for every role: what is refused before anything is done, however it is asked for."""

import socket
from urllib.parse import quote

import httpx2
import pytest

from pitstop.rest.access import FOR_ALL, KEY_HEADER, LOOKS, OPEN, Role
from tests.security.place import OPERATOR, VIEWER, place
from tests.security.strike import described

REFUSED_WITHOUT = {
    "nothing": {},
    "another scheme": {"Authorization": f"Basic {OPERATOR}"},
    "a wrong token": {"Authorization": f"Bearer {OPERATOR}x"},
    "the token alone": {"Authorization": OPERATOR},
    "an empty token": {"Authorization": "Bearer"},
    "another method said": {"X-HTTP-Method-Override": "GET"},
    "a machine said": {"X-Forwarded-For": "127.0.0.1", "Forwarded": "for=127.0.0.1"},
}
FOREIGN = {
    "another origin": {"Origin": "https://evil.example.org"},
    "another port": {"Origin": "http://127.0.0.1:9"},
    "no origin": {"Origin": "null"},
    "another site": {"Sec-Fetch-Site": "cross-site"},
    "another port of the site": {"Sec-Fetch-Site": "same-site"},
    "another name": {"Host": "evil.example.org"},
    "a name that leads here": {"Host": "127.0.0.1.evil.example.org"},
}
TRICKS = ("//etc/passwd", "/assets/../../token", "/assets/..%2f..%2ftoken", "/assets/%2e%2e/%2e%2e/token", "/api/v1/../v1/jobs",
          "/api/v1/./jobs", "/API/V1/JOBS", "/api/v1/jobs;x", "/api//v1/jobs", "/api/v1/jobs%00",
          "/assets/%00", "/jobs/../api/v1/jobs",
          "/docs/../api/v1/jobs", "/docs/..%2f..%2ftoken", "/docs/%2e%2e/%2e%2e/token",
          "/sign-in/../api/v1/jobs", "/healthz/../api/v1/jobs", "/\\api\\v1\\jobs", "/assets/" + "a" * 5_000)  # fmt: skip


@pytest.fixture(scope="module")
def target(tmp_path_factory):
    with place(tmp_path_factory.mktemp("security")) as made:
        yield made


@pytest.fixture(scope="module")
def http(target):
    with httpx2.Client(base_url=target.url, timeout=30) as client:
        yield client


@pytest.fixture(scope="module")
def routes(target):
    return [
        (method.upper(), path.replace("{", "").replace("}", ""))
        for path, operations in described(target.url)["paths"].items()
        for method in operations
    ]


@pytest.fixture(autouse=True)
def nothing_changes(target):
    before = target.kept()
    yield
    assert target.kept() == before


def status(http, method, path, headers):
    """The status of an answer, also of one that would never end, such as a stream of events for somebody who was let in."""
    with http.stream(method, path, headers=headers) as answer:
        if answer.is_error:
            answer.read()
        return answer.status_code


def free(path):
    return path in OPEN


@pytest.mark.parametrize("headers", REFUSED_WITHOUT.values(), ids=REFUSED_WITHOUT)
def test_without_the_right_token_no_route_answers(http, routes, headers):
    asked = [(method, path) for method, path in routes if not free(path)]
    assert len(asked) > 50
    answers = {f"{method} {path}": status(http, method, path, headers) for method, path in asked}
    assert {route: code for route, code in answers.items() if code != 401} == {}


def test_a_token_in_the_address_is_none(http, routes):
    for name in ("token", "access_token", "authorization", "code"):
        assert http.get(f"/api/v1/me?{name}={quote(OPERATOR)}").status_code == 401


def test_a_viewer_changes_nothing_by_any_route(http, routes):
    changes = [(method, path) for method, path in routes if method not in LOOKS and path not in FOR_ALL and not free(path)]
    assert len(changes) > 20
    viewer = {"Authorization": f"Bearer {VIEWER}"}
    answers = {f"{method} {path}": status(http, method, path, viewer) for method, path in changes}
    assert {route: code for route, code in answers.items() if code != 403} == {}
    for method in ("PUT", "PATCH", "DELETE", "CONNECT", "TRACE", "PROPFIND"):
        assert status(http, method, "/api/v1/jobs", viewer) in (400, 403, 405)


@pytest.mark.parametrize("headers", FOREIGN.values(), ids=FOREIGN)
def test_pages_and_names_of_others_get_nothing_with_the_operators_token(http, routes, headers):
    given = {"Authorization": f"Bearer {OPERATOR}"} | headers
    answers = {f"{method} {path}": status(http, method, path, given) for method, path in routes}
    assert {route: code for route, code in answers.items() if code != 403} == {}


def test_a_session_asks_no_route_by_its_cookie_or_its_key_alone(http, target, routes):
    session = target.access.new_session(Role.OPERATOR)
    name = f"pitstop-session-{target.http[1]}"
    own = {"Origin": target.url}
    whole = own | {"Cookie": f"{name}={session.cookie}", KEY_HEADER: session.key}
    assert http.get("/api/v1/me", headers=whole).json() == {"role": "operator", "signed_in": True}
    other = target.access.new_session(Role.OPERATOR)
    halves = (
        own | {"Cookie": f"{name}={session.cookie}"},
        own | {KEY_HEADER: session.key},
        whole | {KEY_HEADER: other.key},
        whole | {"Cookie": f"{name}={session.cookie.replace(session.cookie[:1], '.', 1)}"},
        whole | {"Cookie": f"pitstop-session-1={session.cookie}"},
    )
    for headers in halves:
        asked = [(method, path) for method, path in routes if not free(path)]
        answers = {f"{method} {path}": status(http, method, path, headers) for method, path in asked}
        assert {route: code for route, code in answers.items() if code != 401} == {}


@pytest.mark.parametrize("path", TRICKS)
def test_no_spelling_of_an_address_leads_past_the_gate(target, path):
    with socket.create_connection(target.http, timeout=30) as connection:
        connection.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n".encode())
        answer = b""
        while part := connection.recv(65536):
            answer += part
    code = int(answer.split(b" ", 2)[1])
    assert code in (400, 401, 404, 414, 431) or b'<div id="root">' in answer, answer[:300]
    assert OPERATOR.encode() not in answer
    assert b'"copied"' not in answer
