"""Secrets that a job of a real server names: it works by them, and nothing that the server keeps or answers tells them."""

import json
import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx2
import pytest

from pitstop.errors import PitstopError
from pitstop.kit.waiting import wait_until
from pitstop.model.job import JobState
from tests.brokers.broker import Broker
from tests.folders import everything_below

pytestmark = [pytest.mark.e2e, pytest.mark.long, pytest.mark.timeout(600)]

PLANTED = "planted"
"""A part of every secret of this test."""
PASSWORD, NEXT_PASSWORD, TOKEN, KEY = "planted-broker/@ p", "planted-next", "planted-bearer", "planted?key=&"
JOB = """
import pitstop as ps

@ps.job(snapshot_interval="500 ms")
def job(feed, servers):
    security = ps.kafka_security(tls=False, user="jobs", password="secret:KAFKA", mechanism="SCRAM-SHA-256")
    p = ps.Pipeline()
    rows = p.read_from(
        ps.sources.http_poll(
            feed + "/${secret:FEED_KEY}", "sequence bigint", interval="100 ms",
            headers={"Authorization": "Bearer ${secret:FEED_TOKEN}"},
        ),
        name="feed",
    )
    rows.write_to(ps.sinks.kafka(servers, "copies", security=security, value="sequence"), name="copies")
    copies = p.read_from(
        ps.sources.kafka(servers, "copies", value="text", security=security, with_metadata=("offset",)), name="back"
    )
    copies.write_to(ps.sinks.map("copies", key="value"), name="map")
    return p
"""
ANSWERS = (
    "/jobs", "/jobs/{job}", "/jobs/{job}/metrics", "/jobs/{job}/graph", "/jobs/{job}/versions", "/jobs/{job}/verbs",
    "/jobs/{job}/options", "/jobs/{job}/history", "/jobs/{job}/events", "/jobs/{job}/logs", "/kept-states", "/artifacts",
    "/audit", "/settings", "/cluster", "/snapshots", "/maps", "/maps/copies/entries",
)  # fmt: skip


@pytest.fixture
def feed():
    """A server of numbers for those who know the key and the token: its URL, and what it was asked."""
    requests = []

    class Numbers(BaseHTTPRequestHandler):
        def do_GET(self):
            requests.append((self.path, self.headers.get("Authorization")))
            since = int(self.path.split("since=")[1].split("&")[0])
            body = json.dumps([{"sequence": n} for n in range(since + 1, min(since + 6, 40))]).encode()
            right = self.path.startswith("/planted%3Fkey%3D%26?") and self.headers.get("Authorization") == f"Bearer {TOKEN}"
            self.send_response(200 if right else 403)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Numbers)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}", requests
    server.shutdown()
    server.server_close()


def files_with(folder, text):
    return [str(path) for path in everything_below(folder) if path.is_file() and text.encode() in path.read_bytes()]


def test_a_job_works_by_secrets_which_nothing_tells_and_goes_on_with_a_changed_one(stack, tmp_path, feed, monkeypatch):
    secrets = tmp_path / "secrets"
    secrets.mkdir()
    (secrets / "KAFKA").write_text(PASSWORD)
    (secrets / "FEED_KEY").write_text(KEY + "\n")
    monkeypatch.setenv("PITSTOP_SECRET_FEED_TOKEN", TOKEN)
    one, two = tmp_path / "one.py", tmp_path / "two.py"
    one.write_text(JOB)
    two.write_text(JOB)
    broker = Broker(tmp_path / "kafka", user="jobs", password=PASSWORD)
    try:
        broker.make("copies")
        client = stack.start_server(options=("--secrets", str(secrets)))
        command = [sys.executable, "-m", "pitstop.main", "check", str(one), feed[0], broker.servers]
        checked = subprocess.run(command, capture_output=True, text=True, check=True, env=os.environ | {"PITSTOP_URL": stack.url})
        assert PLANTED not in checked.stdout + checked.stderr
        topic = f"{broker.servers}: topic 'copies' has 2 partitions"
        lines = [line for line in checked.stdout.splitlines() if topic in line]
        assert [line.partition(" (one.py:")[0] for line in lines] == ["Sink 'copies'", "Source 'back'"], checked.stdout
        assert lines[1].endswith(f"reads from {topic}, no messages.")
        job = client.submit(one, args=(feed[0], broker.servers), name="one")
        assert wait_until(lambda: client.map("copies").size() == 40, 200), client.map("copies").size()
        job.export_snapshot("kept")
        monkeypatch.setattr(broker, "environment", broker.environment | {"KFAKE_PASSWORD": NEXT_PASSWORD})
        broker.kill()
        broker.start()
        # The old password is no longer one: the run ends with what Kafka says, and the next one takes the new secret.
        (secrets / "KAFKA").write_text(NEXT_PASSWORD)
        job.restart()
        assert wait_until(lambda: job.status is JobState.RUNNING, 100)
        (secrets / "FEED_KEY").unlink()
        with pytest.raises(PitstopError) as missing:
            client.submit(two, args=(feed[0], broker.servers), name="two").wait_started()
        assert "secret 'FEED_KEY' is missing: the folder" in str(missing.value)
        assert "Source 'feed' (two.py:" in str(missing.value)
        token = (stack.data / "token").read_text()
        headers = {"Authorization": f"Bearer {token}"}
        answers = {}
        for each in ("one", "two"):
            for path in ANSWERS:
                answer = httpx2.get(f"{stack.url}/api/v1{path.format(job=each)}", headers=headers)
                assert answer.status_code in ((200,) if each == "one" else (200, 409)), (path, answer.text)
                answers[path, each] = answer.text
        answers["metrics"] = httpx2.get(f"{stack.url}/metrics", headers=headers).text
        answers["snapshot"] = httpx2.get(f"{stack.url}/api/v1/snapshots/kept", headers=headers).text
        assert [place for place, text in answers.items() if PLANTED in text] == []
        assert any("secret 'FEED_KEY' is missing" in text for text in answers.values())
    finally:
        broker.kill()
    assert len(feed[1]) > 8
    assert files_with(stack.folder, PLANTED) == []
    stack.end()
    assert files_with(stack.folder, PLANTED) == []
