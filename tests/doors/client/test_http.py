"""The client against a real server: addresses, tokens, and everything that may go wrong on the way."""

import socket
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from pitstop.client import http as client_http
from pitstop.client.http import HttpService
from pitstop.errors import ArtifactError, DeniedError, UnreachableError, WaitTimeoutError
from pitstop.model.job import JobState
from pitstop.model.operation import Cancel
from pitstop.rest.waiting import Waiters
from pitstop.service.api import SubmitRequest
from tests.doors.conftest import TOKEN
from tests.doors.doors import brought_to, request, running, serving
from tests.ports import free_port


@pytest.fixture
def answering():
    """A server that answers every request with the given status, type and body."""
    servers = []

    def start(status, kind, body):
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *arguments):
                pass

        server = HTTPServer(("127.0.0.1", 0), Handler)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        servers.append((server, thread))
        return f"http://127.0.0.1:{server.server_port}"

    yield start
    for server, thread in servers:
        server.shutdown()
        server.server_close()
        thread.join(5)


def test_a_connection_asks_by_itself_whether_the_other_side_is_there(serve, state):
    """An answer may take long: a network that drops all packets would not be noticed before it is overdue."""
    service = HttpService(serve(state), TOKEN)
    with service._http.stream("GET", "/server") as answer:
        its_socket = answer.extensions["network_stream"].get_extra_info("socket")
        assert its_socket.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
        assert its_socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE) == 15
    service.close()


def test_a_server_elsewhere_is_asked_through_the_proxy_of_the_environment(answering, monkeypatch):
    monkeypatch.setenv("http_proxy", answering(200, "text/plain", b"by the proxy"))
    service = HttpService("http://pitstop.example.org", TOKEN)
    assert service._http.get("/jobs").content == b"by the proxy"
    service.close()


@pytest.mark.parametrize("form", ["http://127.0.0.1:{}", "127.0.0.1:{}", "http://127.0.0.1:{}/"])
def test_nobody_there_is_told_with_what_to_do(form):
    port = free_port()
    with pytest.raises(UnreachableError) as nobody:
        HttpService(form.format(port)).jobs()
    assert nobody.value.message == (
        f"No Pitstop server answers at http://127.0.0.1:{port}: start one with 'pitstop serve' or give its address with --url."
    )


@pytest.mark.parametrize("url", ["ftp://127.0.0.1:1", "http://", "http://[::1", "http://127.0.0.1:99999"])
def test_what_is_no_address_is_unreachable(url):
    with pytest.raises(UnreachableError):
        HttpService(url).jobs()


@pytest.mark.parametrize(
    ("status", "kind", "body"),
    [
        (200, "text/html", b"<html>hello</html>"),
        (404, "text/html", b"<html>nothing</html>"),
        (502, "application/json", b'{"error": "bad gateway"}'),
        (500, "application/json", b"[1]"),
        (307, "text/plain", b"elsewhere"),
    ],
)
def test_another_kind_of_server_is_recognised(answering, status, kind, body):
    url = answering(status, kind, body)
    with pytest.raises(UnreachableError) as other:
        HttpService(url).jobs()
    assert other.value.message == f"The server at {url} is not a Pitstop server (HTTP {status}, {kind}): check --url."


def test_a_server_that_breaks_off_is_told(answering):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        attempts = []

        def hang_up():
            while True:
                connection, _ = listener.accept()
                attempts.append(connection.recv(1))
                connection.close()

        thread = threading.Thread(target=hang_up, daemon=True)
        thread.start()
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        with pytest.raises(UnreachableError, match=f"^The server at {url} closed the connection: "):
            HttpService(url).jobs()
    assert len(attempts) == 6, "a look is repeated"


@pytest.mark.parametrize("token", [None, "", "wrong", "wröng"])
def test_a_wrong_token_is_denied(state, token):
    with serving(state, "the-token") as url, pytest.raises(DeniedError, match="The token is missing or wrong"):
        HttpService(url, token).jobs()


def test_a_token_may_be_any_text(state):
    with serving(state, "schlüssel") as url:
        assert HttpService(url, "schlüssel").jobs() == []


def test_a_file_is_sent_and_a_url_is_left_to_the_server(state, tmp_path):
    received = []
    submit = state.submit
    state.submit = lambda wanted: received.append(wanted) or submit(request("x"))
    path = tmp_path / "jöb.py"
    path.write_bytes(b"# \xc3\xa4 \r\n\x00")
    with serving(state, TOKEN) as url:
        service = HttpService(url, TOKEN)
        service.submit(SubmitRequest(str(path)))
        service.do("x", Cancel())
        service.submit(SubmitRequest("https://example.org/job.py"))
    assert (received[0].artifact_name, received[0].artifact_bytes) == ("jöb.py", b"# \xc3\xa4 \r\n\x00")
    assert (received[1].artifact_name, received[1].artifact_bytes) == ("https://example.org/job.py", None)


def test_a_file_that_cannot_be_read_is_told_before_anything_is_sent(tmp_path):
    service = HttpService("http://127.0.0.1:9")
    with pytest.raises(ArtifactError, match=r"^File .*/none\.py could not be found\.$"):
        service.submit(SubmitRequest(str(tmp_path / "none.py")))
    with pytest.raises(ArtifactError, match=r"^File .* cannot be read: Is a directory\.$"):
        service.submit(SubmitRequest(str(tmp_path)))


def test_a_long_wait_is_made_of_short_ones(state, monkeypatch):
    monkeypatch.setattr(client_http, "_WAIT_SECONDS", 0.05)
    with serving(state, TOKEN) as url:
        service = HttpService(url, TOKEN)
        job = brought_to(state, JobState.STARTING, "slow")
        began = time.monotonic()
        with pytest.raises(WaitTimeoutError, match=r"^Job 'slow' is STARTING, not RUNNING, after 0 seconds\.$"):
            service.wait_for("slow", (JobState.RUNNING,), 0.3)
        assert time.monotonic() - began >= 0.3
        asked, wait = threading.Event(), Waiters.wait
        pieces = []

        def counted(*arguments):
            pieces.append(arguments)
            if len(pieces) == 3:
                asked.set()
            return wait(*arguments)

        monkeypatch.setattr(Waiters, "wait", counted)
        found = []
        waiter = threading.Thread(target=lambda: found.append(service.wait_for(job, (JobState.FAILED,), 60)))
        waiter.start()
        assert asked.wait(20)
        state.do(job, Cancel())
        waiter.join(20)
        assert found[0].status is JobState.FAILED


def test_a_server_that_was_started_again_is_found_again(state):
    with serving(state, TOKEN) as url:
        service = HttpService(url, TOKEN)
        job = running(state)
        assert service.job(job).status is JobState.RUNNING
    with pytest.raises(UnreachableError):
        service.jobs()
    with serving(state, TOKEN, port=int(url.rsplit(":", 1)[1])):
        assert service.job(job).status is JobState.RUNNING
