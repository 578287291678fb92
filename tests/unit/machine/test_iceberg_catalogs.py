"""Catalogs of Iceberg tables that refuse, or are away: one sentence, and whether another attempt may succeed."""

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from pitstop.errors import EngineError, UsageError
from pitstop.machine.iceberg_catalogs import catalog_words, errors_of_catalog, find_table, open_catalog


@contextmanager
def answering(status):
    """A catalog that answers each request for a table in one way; the settings that it gives are empty. Yields its address."""

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self):
            is_config = self.path.endswith("/config") or "/config?" in self.path
            body = {"defaults": {}, "overrides": {}} if is_config else {"error": {"message": "no", "type": "E", "code": status}}
            self.send_response(200 if is_config else status)
            self.end_headers()
            self.wfile.write(json.dumps(body).encode())

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize(
    ("status", "message", "passing"),
    [
        (401, "refuses: .*Check the token or credentials", None),
        (403, "refuses: .*Check the rights", None),
        (503, "does not answer: ", True),
    ],
)
def test_a_catalog_that_refuses_and_one_that_is_overloaded(status, message, passing):
    with answering(status) as address:
        properties = {"type": "rest", "uri": address}
        with (
            pytest.raises(EngineError, match=f"The Iceberg catalog {address} {message}") as raised,
            errors_of_catalog(properties),
        ):
            find_table(open_catalog(properties), "a.b")
    assert raised.value.details.get("passing") is passing


def test_a_token_that_a_catalog_refuses_is_looked_up_again(monkeypatch):
    with answering(401) as address:
        properties = {"type": "rest", "uri": address, "token": "secret:CATALOG"}
        monkeypatch.setenv("PITSTOP_SECRET_CATALOG", "the first token")
        first = open_catalog(properties)
        assert open_catalog(properties) is first
        with pytest.raises(EngineError) as raised, errors_of_catalog(properties):
            find_table(first, "a.b")
        assert raised.value.details["restartable"]
        assert open_catalog(properties) is not first


def test_a_table_that_is_not_there_is_none():
    with answering(404) as address:
        assert find_table(open_catalog({"type": "rest", "uri": address}), "a.b") is None


def test_a_secret_that_is_missing_is_named():
    with pytest.raises(UsageError, match="secret 'NO_SUCH' is missing"):
        open_catalog({"type": "rest", "uri": "http://127.0.0.1:1", "token": "secret:NO_SUCH"})


def test_the_words_for_a_catalog_have_no_password():
    assert catalog_words({"uri": "postgresql://me:pass@db:5/c", "type": "sql"}) == "postgresql://db:5/c"
    assert catalog_words({"type": "glue", "warehouse": "s3://lake"}) == "s3://lake"
    assert catalog_words({"type": "glue"}) == "glue"
