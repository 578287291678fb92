"""A store that takes no writes for longer than any time limit costs a real job nothing but that time."""

import sqlite3
import time

import pytest

from pitstop.control.liveness import HANG_SECONDS
from pitstop.runner.run import LEASE_SECONDS
from pitstop.store.dialects.sqlite import BUSY_SECONDS
from tests.e2e.test_kept_state import artifact, nothing_missed_or_doubled

pytestmark = [pytest.mark.e2e, pytest.mark.long, pytest.mark.deep, pytest.mark.timeout(600)]


def test_a_job_outlives_a_lock_of_the_store_in_the_same_run(stack, tmp_path):
    from stack import wait_until

    client = stack.start_server(options=("--spares", "0"))
    job = client.submit(artifact(tmp_path, "counting"))
    job.wait_started()
    wait_until(lambda: client.map("seen").size() > 20, 60, "some numbers")
    token = job.details.token
    store = sqlite3.connect(stack.data / "pitstop.db", isolation_level=None, timeout=30)
    store.execute("BEGIN IMMEDIATE")
    before = client.map("seen").size()
    until = time.monotonic() + LEASE_SECONDS + HANG_SECONDS + BUSY_SECONDS
    wait_until(lambda: time.monotonic() > until, 200, "all time limits are over")
    assert client.map("seen").size() == before, "nothing is written meanwhile"
    store.execute("COMMIT")
    store.close()
    wait_until(lambda: client.map("seen").size() > before + 200, 120, "the job goes on")
    assert nothing_missed_or_doubled(client)
    assert job.details.token == token
