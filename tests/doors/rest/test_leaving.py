"""Clients that go away while they are waited on."""

import json
import socket
import threading

import pytest

from pitstop.errors import UsageError
from pitstop.kit.asker import ended_when_nobody_waits
from tests.doors.conftest import TOKEN

SECONDS = 30


@pytest.fixture
def asked_and_left(serve, state):
    """Sends a request and goes away as soon as ``began`` is set."""
    host, _, port = serve(state).removeprefix("http://").partition(":")

    def ask(path, body, began):
        content = json.dumps(body).encode()
        head = f"POST /api/v1/{path} HTTP/1.1\r\nHost: {host}:{port}\r\nAuthorization: Bearer {TOKEN}\r\n"
        head += f"Content-Type: application/json\r\nContent-Length: {len(content)}\r\n\r\n"
        with socket.create_connection((host, int(port)), timeout=SECONDS) as client:
            client.sendall(head.encode() + content)
            assert began.wait(SECONDS)

    return ask


@pytest.mark.parametrize(
    ("verb", "path", "body"),
    [
        ("check", "check", {"artifact": "/srv/job.py"}),
        ("query_state", "snapshots/one/stages/counts/query", {"sql": "SELECT 1"}),
        ("peek", "jobs/one/stages/counts/peek", {}),
    ],
)
def test_what_takes_a_process_ends_when_its_client_goes(asked_and_left, state, monkeypatch, verb, path, body):
    began, ended = threading.Event(), threading.Event()

    def slow(*_, **__):
        with ended_when_nobody_waits(ended.set):
            began.set()
            ended.wait(SECONDS)
        raise UsageError("Nobody hears this.")

    monkeypatch.setattr(state, verb, slow)
    asked_and_left(path, body, began)
    assert ended.wait(SECONDS)
