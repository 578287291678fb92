"""Every process of a server, its member and its job is killed at once, as when the power fails: nothing committed is lost."""

import contextlib
import os
import signal

import psutil
import pytest

from pitstop.launchers.processes import handle_in
from pitstop.model.data_folder import DataFolder
from tests.e2e.counting import COUNTING, assert_exact, lines_of

SECONDS = 400
IN_A_MAP = """    counted.write_to(ps.sinks.map("counts", key="key", value="n"), name="counts")
    return p
"""
pytestmark = [pytest.mark.e2e, pytest.mark.long, pytest.mark.timeout(900)]


def test_what_was_committed_when_every_process_was_killed_is_there_and_the_job_goes_on(stack, tmp_path):
    from stack import wait_until

    client, out = stack.start_server(members=1), tmp_path / "out"
    (tmp_path / "counting.py").write_text(COUNTING.replace("    return p\n", IN_A_MAP))
    job = client.submit(tmp_path / "counting.py", args=[str(out)], name="counting")
    job.wait_started(SECONDS)
    wait_until(lambda: len(lines_of(out)) > 200, SECONDS, "the job writes")
    snapshot = job.export_snapshot("before")
    client.map("depots").put("Des Moines", {"vehicles": 60})
    counts, lines = client.map("counts").entries(), lines_of(out)
    assert len(counts) == 10

    killed = kill_all_at_once(DataFolder(stack.data))
    assert len(killed) >= 6, "server, member, master, worker, driver and executor"
    stack.ended_by_itself("server", 60)
    wait_until(lambda: not any(map(psutil.pid_exists, killed)), 60, "their end")

    client = stack.start_server(members=1)
    assert [(found.name, found.id) for found in client.jobs()] == [("counting", job.id)]
    assert client.snapshots() == [snapshot]
    assert client.map("depots").entries() == {"Des Moines": {"vehicles": 60}}
    assert all(client.map("counts").get(key) >= count for key, count in counts.items())
    job = client.job("counting")
    wait_until(lambda: len(lines_of(out)) > len(lines) + 200, SECONDS, "it goes on")
    job.wait_started(SECONDS)
    job.suspend()
    assert_exact(out)
    found = lines_of(out)
    assert client.map("counts").entries() == {key: max(line["n"] for line in found if line["key"] == key) for key in counts}
    assert all(line in found for line in lines)


def kill_all_at_once(data):
    """All that the server has started, and what that has started; the pids. The server first: it would start members again."""
    server = psutil.Process(int(handle_in(data.control_process).split("/")[1]))
    pids = [server.pid, *(child.pid for child in server.children(recursive=True))]
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return pids
