"""One suite for every service: that of the server, and the same over HTTP."""

import pytest

from pitstop.client.http import HttpService
from tests.doors.conftest import TOKEN


@pytest.fixture(params=["local", "http"])
def pair(request, state, serve):
    """(service under test, the service that keeps the state)."""
    if request.param == "local":
        yield state, state
        return
    client = HttpService(serve(state), TOKEN)
    yield client, state
    client.close()
