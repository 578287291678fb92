"""A run stands still until its lease is over and another one has its job, then goes on: it commits nothing more, and ends.

Its process is one that the control plane cannot reach: in the store it is said to be of another machine.
"""

import json
import os
import signal

import psutil
import pytest
from sqlalchemy import update

from pitstop.model.data_folder import DataFolder
from pitstop.model.job import JobState
from pitstop.store import schema
from pitstop.store.database import open_database, sqlite_url
from pitstop.store.registry import SqlRegistry
from tests.e2e.counting import COUNTING, assert_exact, lines_of

SECONDS = 300
IN_A_MAP = """    counted.write_to(ps.sinks.map("counts", key="key", value="n"), name="counts")
    return p
"""
pytestmark = [pytest.mark.e2e, pytest.mark.long, pytest.mark.timeout(900)]


def test_a_run_that_stood_still_past_its_lease_never_commits_once_another_one_runs(stack, tmp_path):
    from stack import wait_until

    client, out = stack.start_server(options=("--spares", "0", "--engine", "own")), tmp_path / "out"
    data = DataFolder(stack.data)
    database = open_database(sqlite_url(data.store))
    registry = SqlRegistry(database)
    (tmp_path / "counting.py").write_text(COUNTING.replace("    return p\n", IN_A_MAP))
    job = client.submit(tmp_path / "counting.py", args=[str(out)], name="counting")
    job.wait_started(SECONDS)
    wait_until(lambda: len(lines_of(out)) > 200, SECONDS, "the job writes")
    token = registry.get_job(job.id).token
    handle = registry.handle_of(job.id, token)
    runner = psutil.Process(int(handle.split("/")[1]))
    family = [runner, *runner.children(recursive=True)]
    try:
        for process in family:
            process.suspend()
        with database.write() as connection:
            elsewhere = f"another-machine/{runner.pid}/1"
            connection.execute(update(schema.leases).where(schema.leases.c.token == token).values(handle=elsewhere))
        wait_until(lambda: registry.get_job(job.id).token > token, SECONDS, "another run")
        job.wait_started(SECONDS)
        seen = len(lines_of(out))
        wait_until(lambda: len(lines_of(out)) > seen + 200, SECONDS, "it writes")
        assert runner.status() == psutil.STATUS_STOPPED
        for process in family:
            process.resume()
        wait_until(lambda: not runner.is_running() or runner.status() == psutil.STATUS_ZOMBIE, 60, "the end of the first one")
    finally:
        for process in filter(psutil.Process.is_running, family):
            os.kill(process.pid, signal.SIGKILL)
    told = [json.loads(line) for line in job.logs()]
    lost = [line["msg"] for line in told if line["run"] == token and "has lost the job" in line["msg"]]
    assert len(lost) == 1, "it ended by its fence"
    assert lost[0].startswith(f"this run (token {token})")

    seen = len(lines_of(out))
    wait_until(lambda: len(lines_of(out)) > seen + 200, SECONDS, "the other one goes on")
    assert (job.status, job.details.token) == (JobState.RUNNING, token + 1), "in the same run"
    job.suspend()
    assert_exact(out)
    found = lines_of(out)
    most = {key: max(line["n"] for line in found if line["key"] == key) for key in {line["key"] for line in found}}
    assert client.map("counts").entries() == most
    database.close()
