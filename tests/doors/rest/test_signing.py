"""Browsers sign in by a link or a token; viewers look and change nothing; a session is worth nothing to other pages."""

import hashlib
import time
from urllib.parse import urlsplit

import httpx2
import pytest
from fastapi.testclient import TestClient
from itsdangerous import URLSafeTimedSerializer
from starlette.datastructures import Headers

from pitstop.errors import StoreError
from pitstop.rest import access as access_module
from pitstop.rest import events
from pitstop.rest.access import (
    COPY_SECONDS,
    KEY_HEADER,
    LINK_SECONDS,
    MOST_LINKS,
    SESSION_SECONDS,
    Access,
    Links,
    Role,
    session_cookie,
)
from pitstop.rest.app import create_app
from tests.doors.doors import application
from tests.doubles.http import listening

TOKEN, VIEWERS = "the-long-token", "the-viewers-token"
ACCESS = Access(TOKEN, frozenset({"testserver"}), VIEWERS)
ORIGIN = {"Origin": "http://testserver"}


@pytest.fixture
def browser(state):
    with TestClient(application(state, ACCESS), follow_redirects=False) as client:
        yield client


def bearer(token):
    return {"Authorization": f"Bearer {token}"}


def followed(browser, path):
    """Follow a link, and do with the key behind the # what the page does with it; return the answer."""
    answer = browser.get(path)
    name, _, key = urlsplit(answer.headers.get("location", "")).fragment.partition("=")
    if name == "session-key":
        browser.headers[KEY_HEADER] = key
    return answer


def sign_in(browser, token=TOKEN):
    """Sign in by the form, as the page does."""
    answer = browser.post("/sign-in", json={"token": token}, headers=ORIGIN)
    if answer.is_success:
        browser.headers[KEY_HEADER] = answer.json()["key"]
    return answer


def headers_of(session, cookies=""):
    cookie = f"{cookies}{session_cookie('testserver')}={session.cookie}"
    return Headers({"host": "testserver", "cookie": cookie, KEY_HEADER: session.key})


@pytest.mark.parametrize(("token", "role"), [(TOKEN, "operator"), (VIEWERS, "viewer")])
def test_a_link_signs_a_browser_in_once_as_whoever_asked_for_it(browser, token, role):
    link = browser.post("/api/v1/sign-in-links", headers=bearer(token))
    assert (link.status_code, link.json()["seconds"]) == (201, LINK_SECONDS)
    answer = followed(browser, link.json()["path"])
    assert (answer.status_code, urlsplit(answer.headers["location"]).path) == (303, "/")
    cookie = answer.headers["set-cookie"]
    assert cookie.startswith("pitstop-session-web=")
    assert {"HttpOnly", "SameSite=strict", "Path=/"} <= set(cookie.split("; "))
    assert browser.get("/api/v1/me").json() == {"role": role, "signed_in": True}
    browser.cookies.clear()
    again = browser.get(link.json()["path"])
    assert (again.status_code, again.json()["code"]) == (401, "DENIED")
    assert browser.get("/api/v1/me").status_code == 401


def test_a_link_is_worth_nothing_after_five_minutes_and_the_oldest_of_many_goes():
    now = [0.0]
    links = Links(lambda: now[0])
    late, right = links.new(Role.VIEWER), links.new(Role.VIEWER)
    assert links.use(right) == (Role.VIEWER, None)
    now[0] = LINK_SECONDS
    assert links.use(late) is None
    first, *others = [links.new(Role.OPERATOR) for _ in range(MOST_LINKS + 1)]
    assert links.use(first) is None
    viewers = [links.new(Role.VIEWER) for _ in range(MOST_LINKS + 1)]
    assert links.use(others[0]) == (Role.OPERATOR, None), "links of viewers drive out no operator's"
    assert (links.use(viewers[0]), links.use(viewers[1])) == (None, (Role.VIEWER, None))


def test_a_browser_signs_in_by_a_token_and_out_again(browser):
    assert browser.post("/sign-in", json={"token": "wrong"}, headers=ORIGIN).status_code == 401
    assert "set-cookie" not in browser.post("/sign-in", json={"token": ""}, headers=ORIGIN).headers
    assert sign_in(browser, f" {TOKEN}\n").status_code == 200
    assert browser.get("/api/v1/me").json() == {"role": "operator", "signed_in": True}
    assert browser.post("/sign-out", headers=ORIGIN).status_code == 204
    assert browser.get("/api/v1/me").status_code == 401


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
def test_a_viewer_looks_and_changes_nothing(browser, method):
    assert browser.get("/api/v1/jobs", headers=bearer(VIEWERS)).json() == []
    refused = browser.request(method, "/api/v1/jobs/x/cancel", headers=bearer(VIEWERS))
    assert (refused.status_code, refused.json()["code"]) == (403, "FORBIDDEN")
    assert "it allows reading everything and changing nothing" in refused.json()["detail"]


def test_a_session_changes_nothing_for_who_does_not_say_which_page_asks(browser):
    sign_in(browser)
    path = "/api/v1/jobs/none/cancel"
    assert browser.post(path).json()["code"] == "FOREIGN"
    assert browser.post(path, headers={"Origin": "http://testserver:9999"}).json()["code"] == "FOREIGN"
    assert browser.post(path, headers={"Sec-Fetch-Site": "same-site"}).json()["code"] == "FOREIGN"
    assert browser.post(path, headers=ORIGIN).json()["code"] == "NOT_FOUND"
    assert browser.post(path, headers={"Sec-Fetch-Site": "same-origin"}).json()["code"] == "NOT_FOUND"


@pytest.mark.parametrize("value", ["", "x", "operator", "a.b.c", "\xff", "x" * 10_000])
def test_what_is_no_session_is_nobody(value):
    cookie = f"{session_cookie('testserver')}={value}"
    assert ACCESS.identity(Headers(raw=[(b"host", b"testserver"), (b"cookie", cookie.encode("latin-1"))])) is None


def test_a_session_ends_when_a_token_becomes_another_one():
    headers = headers_of(ACCESS.new_session(Role.VIEWER), "other=1; ")
    assert ACCESS.identity(headers).role is Role.VIEWER
    own = {"token": TOKEN, "viewer_token": VIEWERS, "session_key": ACCESS.session_key}
    assert Access(**own).identity(headers).role is Role.VIEWER
    for changed in ({"token": "another-token"}, {"viewer_token": "others"}, {"viewer_token": None}, {"session_key": "new"}):
        assert Access(**own | changed).identity(headers) is None


def test_each_server_of_a_machine_has_a_session_of_its_own():
    assert session_cookie("127.0.0.1:8701") != session_cookie("127.0.0.1:8702")
    assert session_cookie("[::1]:8701") == session_cookie("localhost:8701")
    assert session_cookie("a:b:c") == session_cookie("testserver")


@pytest.mark.parametrize("odd", ['prefs={"a":"b"}', "flag", "=", 'x="y', "a=1; ; b"])
def test_cookies_of_other_servers_of_the_machine_are_no_hindrance(odd):
    assert ACCESS.identity(headers_of(ACCESS.new_session(Role.OPERATOR), f"{odd}; ")).role is Role.OPERATOR


def test_a_stranger_sends_no_large_body(browser):
    assert browser.post("/sign-in", json={"token": "x" * 10_000}, headers=ORIGIN).status_code == 413


def test_a_token_of_any_letters_is_known_by_header_and_form(state):
    token = "ein-schönes-Zeichen"
    with TestClient(application(state, Access(token, frozenset({"testserver"})))) as client:
        assert client.get("/api/v1/me", headers={b"Authorization": f"Bearer {token}".encode()}).status_code == 200
        assert client.post("/sign-in", json={"token": token}, headers=ORIGIN).status_code == 200


def test_a_wrong_token_is_not_made_good_by_a_session(browser):
    sign_in(browser)
    assert browser.get("/api/v1/me", headers=bearer("wrong")).status_code == 401


def test_a_session_that_was_signed_out_has_ended_and_others_have_not(browser):
    sessions = []
    for _ in range(2):
        sign_in(browser)
        sessions.append((browser.cookies.get("pitstop-session-web"), browser.headers[KEY_HEADER]))
    assert browser.post("/sign-out", headers=ORIGIN).status_code == 204
    for (cookie, key), status in zip(sessions, (200, 401), strict=True):
        browser.cookies.clear()
        headers = {"Cookie": f"pitstop-session-web={cookie}", KEY_HEADER: key}
        assert browser.get("/api/v1/me", headers=headers).status_code == status


def test_a_link_of_a_session_makes_none_that_lasts_longer(browser, monkeypatch):
    now = [time.time()]
    monkeypatch.setattr(time, "time", lambda: now[0])
    sign_in(browser)
    now[0] += SESSION_SECONDS - 60
    link = browser.post("/api/v1/sign-in-links", headers=ORIGIN)
    assert followed(browser, link.json()["path"]).status_code == 303
    now[0] += 59
    assert browser.get("/api/v1/me").status_code == 200
    now[0] += 2
    assert browser.get("/api/v1/me").status_code == 401


@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize("key", [None, "", "wrong", "\xff", "x" * 10_000, "of another session"])
def test_a_cookie_that_came_to_another_port_is_worth_nothing_without_the_key(browser, method, key):
    """A browser sends the cookies of a machine to all its ports: another user of it who listens on one reads them there."""
    sign_in(browser)
    other = ACCESS.new_session(Role.OPERATOR).key
    del browser.headers[KEY_HEADER]
    given = ORIGIN if key is None else ORIGIN | {KEY_HEADER: (other if key == "of another session" else key).encode("latin-1")}
    path = "/api/v1/me" if method == "GET" else "/api/v1/sign-in-links"
    answer = browser.request(method, path, headers=given)
    assert (answer.status_code, answer.json()["code"]) == (401, "DENIED")
    assert "sign in again" in answer.json()["detail"]


def test_the_cookie_does_not_tell_the_key(browser):
    session = ACCESS.new_session(Role.OPERATOR)
    assert session.key not in session.cookie
    assert session.key != ACCESS.new_session(Role.OPERATOR).key
    assert len(session.key) >= 43, "256 bits"


def test_a_session_of_an_older_release_has_no_key_and_has_ended(browser):
    secret = "\0".join((ACCESS.session_key, TOKEN, VIEWERS))
    old = URLSafeTimedSerializer(secret, salt="session", signer_kwargs={"digest_method": hashlib.sha256}).dumps("operator")
    browser.cookies.set("pitstop-session-web", old)
    assert browser.get("/api/v1/me").status_code == 401


def signed_out(browser):
    """The headers of a session that was signed out at this server."""
    sign_in(browser)
    headers = {
        "Cookie": f"pitstop-session-web={browser.cookies.get('pitstop-session-web')}",
        KEY_HEADER: browser.headers[KEY_HEADER],
    }
    assert browser.post("/sign-out", headers=ORIGIN).status_code == 204
    del browser.headers[KEY_HEADER]
    browser.cookies.clear()
    return headers


def another_server(state):
    """Another server of the same store, or the same one after a restart."""
    access = Access(TOKEN, frozenset({"testserver"}), VIEWERS, ACCESS.session_key)
    return access, TestClient(create_app(state, access))


def test_a_session_that_was_signed_out_stays_so_after_a_restart(browser, state):
    headers = signed_out(browser)
    _, restarted = another_server(state)
    assert restarted.get("/api/v1/me", headers=headers).status_code == 401


def test_other_servers_of_the_store_know_it_within_seconds_and_ask_the_store_no_more_often(browser, state, monkeypatch):
    now, read = [1000.0], []
    monkeypatch.setattr(access_module.time, "monotonic", lambda: now[0])
    access, other = another_server(state)
    monkeypatch.setattr(type(state), "ended_sessions", lambda self: read.append(1) or self._sessions.all())
    stays = access.new_session(Role.VIEWER)
    own = {"Cookie": f"pitstop-session-web={stays.cookie}", KEY_HEADER: stays.key}
    for _ in range(3):
        assert other.get("/api/v1/me", headers=own).status_code == 200
    assert len(read) == 1
    headers = signed_out(browser)
    read.clear()
    now[0] += COPY_SECONDS + 0.1
    assert other.get("/api/v1/me", headers=headers).status_code == 401
    assert other.get("/api/v1/me", headers=own).status_code == 200
    assert other.get("/api/v1/me", headers=bearer(TOKEN)).status_code == 200
    assert len(read) == 1


def test_who_asks_by_a_token_needs_no_look_at_sessions_and_a_session_is_let_in_by_no_old_copy(state, monkeypatch):
    access, server = another_server(state)

    def away(self):
        raise StoreError("away")

    monkeypatch.setattr(type(state), "ended_sessions", away)
    session = access.new_session(Role.OPERATOR)
    headers = {"Cookie": f"pitstop-session-web={session.cookie}", KEY_HEADER: session.key}
    answer = server.get("/api/v1/me", headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (StoreError.http_status, StoreError.code)
    assert server.get("/api/v1/me", headers=bearer(TOKEN)).status_code == 200


def test_the_streams_of_a_session_end_with_it(state, monkeypatch):
    monkeypatch.setattr(events, "HEART_BEAT_SECONDS", 0.05)
    access = Access(TOKEN, frozenset({"testserver"}), VIEWERS)
    session = access.new_session(Role.VIEWER)
    with listening(create_app(state, access)) as url:
        port = urlsplit(url).port
        headers = {"Cookie": f"pitstop-session-{port}={session.cookie}", KEY_HEADER: session.key}
        with httpx2.stream("GET", f"{url}/api/v1/events", headers=headers, timeout=30) as stream:
            lines = stream.iter_lines()
            assert "event: ready" in [next(lines), next(lines)]
            while "event: heartbeat" not in next(lines):
                pass
            assert httpx2.post(f"{url}/sign-out", headers=headers | {"Origin": url}).status_code == 204
            assert all(line.split(":")[0] in ("", "id", "event", "data") for line in lines), "it comes to an end"
