"""One HTTP server for all tests of the doors; each test puts its own service behind it."""

import pytest

from pitstop.testing.http import serving

TOKEN = "the-long-token"


class Behind:
    """Stands before the service of the present test."""

    service = None

    def __getattr__(self, name):
        # Late: the server takes some methods when it is made.
        return lambda *args, **named: getattr(self.service, name)(*args, **named)


@pytest.fixture(scope="session")
def server():
    behind = Behind()
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
