"""These need the server of scripts/with-postgres: make test-postgres."""

import os

import pytest

from tests.gateways import gateway
from tests.ports import free_port
from tests.postgres.planes import Plane
from tests.postgres.server import new_database

if "PITSTOP_TEST_POSTGRES" not in os.environ:
    collect_ignore_glob = ["test_*.py"]


@pytest.fixture
def door(tmp_path):
    """(our client, what clients of PostgreSQL connect by, the token) of a control plane and its door for them."""
    plane = Plane(tmp_path, new_database(), free_port(), "--spares", "0", "--stop-jobs-on-exit")
    try:
        token = (tmp_path / "data" / "token").read_text().strip()
        with gateway(f"http://{plane.address}", token) as where:
            yield plane.client, where, token
    finally:
        plane.end()
