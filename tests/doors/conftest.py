"""One HTTP server for all tests of the doors; each test puts its own service behind it."""

import pytest
import structlog

from tests.doors import doors
from tests.doubles.http import serving

TOKEN = "the-long-token"


@pytest.fixture(scope="session", autouse=True)
def no_log():
    """The control loop logs to standard output, which the command line has in these tests to itself."""
    structlog.configure(logger_factory=structlog.ReturnLoggerFactory())
    yield
    structlog.reset_defaults()


@pytest.fixture
def state(tmp_path, monkeypatch):
    """The service that keeps the state. A client in this process numbers its jobs as the service does."""
    found = doors.service(tmp_path / "data")
    monkeypatch.setattr("pitstop.client.http.new_job_id", found._new_id)
    yield found
    found.close()


@pytest.fixture(scope="session")
def server():
    behind = doors.Behind()
    with serving(behind, TOKEN) as url:
        yield behind, url


@pytest.fixture
def serve(server):
    """Put a service behind the server; returns its URL."""
    behind, url = server

    def put(service):
        behind.service = service
        return url

    return put
