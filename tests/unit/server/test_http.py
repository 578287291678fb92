"""Connections on which a request is begun and never ended."""

import socket
import threading

import pytest
import uvicorn

from pitstop.server import http
from pitstop.server.http import PatientProtocol

HEAD = b"GET / HTTP/1.1\r\nHost: localhost\r\n"


def answered(client):
    """True once the whole answer has come."""
    found = b""
    while not found.endswith(b"ok") and (more := client.recv(1000)):
        found += more
    return found.startswith(b"HTTP/1.1 200")


async def application(scope, receive, send):
    body = b""
    while (message := await receive()).get("more_body"):
        body += message["body"]
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"ok"})


@pytest.fixture
def connect(monkeypatch):
    """A new connection to a server that waits for the head of a request for a tenth of a second."""
    monkeypatch.setattr(http, "HEAD_SECONDS", 0.1)
    server = uvicorn.Server(uvicorn.Config(application, http=PatientProtocol, lifespan="off", log_level="error"))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=server.run, args=([listener],))
        thread.start()
        yield lambda: socket.create_connection(("127.0.0.1", listener.getsockname()[1]), timeout=20)
        server.should_exit = True
        thread.join(10)


@pytest.mark.parametrize("begun", [b"", b"G", HEAD])
def test_a_head_that_does_not_end_is_not_waited_for(connect, begun):
    with connect() as client:
        client.sendall(begun)
        assert client.recv(100) == b""


def test_nor_is_the_next_one_on_the_same_connection(connect):
    with connect() as client:
        client.sendall(HEAD + b"\r\n")
        assert answered(client)
        client.sendall(HEAD)
        assert client.recv(100) == b""


def test_a_request_that_is_there_may_take_its_time(connect):
    with connect() as client:
        client.sendall(HEAD + b"Content-Length: 2\r\n\r\na")
        client.settimeout(0.4)
        with pytest.raises(TimeoutError):
            client.recv(100)
        client.settimeout(20)
        client.sendall(b"b")
        assert answered(client)


@pytest.mark.parametrize(
    "framing", [b"Content-Length: 5\r\nTransfer-Encoding: chunked", b"transfer-encoding: chunked\r\ncontent-length: 0"]
)
def test_a_request_with_two_ends_is_refused_and_nothing_after_it_is_read(connect, framing):
    with connect() as client:
        client.sendall(b"POST / HTTP/1.1\r\nHost: localhost\r\n" + framing + b"\r\n\r\n0\r\n\r\n" + HEAD + b"\r\n")
        found = b""
        while more := client.recv(1000):
            found += more
    assert found.startswith(b"HTTP/1.1 400")
    assert found.count(b"HTTP/1.1") == 1
