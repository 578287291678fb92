"""Polling a real HTTP server that fails, stutters and forgets."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlparse

import pytest

from pitstop.spark.sources.http_poll import HttpPollReader
from pitstop.spark.sources.shared import SourceOptions


class Feed:
    """``count`` objects, of which those below ``oldest`` are forgotten; ``faults`` are answered first."""

    def __init__(self):
        self.count, self.oldest, self.faults, self.requests = 0, 0, [], []
        feed = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                query = parse_qs(urlparse(self.path).query)
                since, limit = int(query["since"][0]), int(query["limit"][0])
                feed.requests.append(since)
                status, body = feed.faults.pop(0) if feed.faults else (200, feed.page(since, limit))
                self.send_response(status)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def page(self, since, limit):
        first = max(since + 1, self.oldest)
        return json.dumps([{"sequence": n, "v": n} for n in range(first, self.count)][:limit]).encode()

    def reader(self, **more):
        options = {"url": f"http://127.0.0.1:{self.server.server_port}/pings", "intervalMs": "0", "limit": "10"}
        return HttpPollReader(SourceOptions("http_poll", options | {k: str(v) for k, v in more.items()}))


@pytest.fixture
def feed():
    made = Feed()
    yield made
    made.server.shutdown()


def rows(reader, start, end):
    return [number for part in reader.partitions(start, end) for number, _ in part.rows]


def test_all_objects_arrive_once_and_are_fetched_once(feed, capfd):
    feed.count = 25
    reader = feed.reader(intervalMs=10_000)
    end = reader.latestOffset(reader.initialOffset(), None)
    assert end == {"sequence": 24}
    assert rows(reader, {"sequence": -1}, end) == list(range(25))
    assert feed.requests == [-1, 9, 19]
    assert "Added 5 pings. Highest sequence number is: 24" in capfd.readouterr().err


def test_a_caught_up_source_waits_its_interval_before_it_asks_again(feed):
    feed.count = 3
    reader = feed.reader(intervalMs=60_000)
    end = reader.latestOffset({"sequence": -1}, None)
    feed.count = 5
    assert reader.latestOffset(end, None) == end
    assert len(feed.requests) == 1


@pytest.mark.parametrize(
    "fault", [(503, b"busy"), (200, b'[{"vin": '), (200, b'{"not": "an array"}'), (200, b'[{"no": "sequence"}]')]
)
def test_a_fault_is_logged_and_loses_nothing(feed, fault, capfd):
    feed.count, feed.faults = 5, [fault]
    reader = feed.reader()
    assert reader.latestOffset({"sequence": -1}, None) == {"sequence": -1}
    assert "trying again in 0.5 s" in capfd.readouterr().err
    reader._next_poll = 0.0
    assert reader.latestOffset({"sequence": -1}, None) == {"sequence": 4}


def test_an_epoch_that_is_written_again_is_fetched_again_whole(feed):
    feed.count = 25
    assert rows(feed.reader(), {"sequence": 3}, {"sequence": 17}) == list(range(4, 18))


def test_what_the_server_no_longer_keeps_is_told_with_its_number(feed, capfd):
    feed.count, feed.oldest = 25, 10
    reader = feed.reader()
    end = reader.latestOffset({"sequence": 3}, None)
    assert rows(reader, {"sequence": 3}, end) == list(range(10, 25))
    assert "lost 6 events" in capfd.readouterr().err


def test_an_epoch_takes_no_more_than_it_should(feed):
    feed.count = 100
    reader = feed.reader(maxRows=20)
    assert reader.latestOffset({"sequence": -1}, None) == {"sequence": 19}
