"""Two control planes with members on one store: the leader keeps the Spark master, and a job takes no notice of who that is."""

import contextlib
import json
import signal
import socket
from collections import Counter

import psutil
import pytest

from pitstop.launchers.processes import handle_in, is_alive, kill_all
from pitstop.model.cluster import SparkCluster
from pitstop.model.data_folder import DataFolder
from pitstop.model.job import JobState
from tests.ports import free_port
from tests.postgres.planes import Plane, until
from tests.postgres.server import new_database

pytestmark = [pytest.mark.e2e, pytest.mark.long, pytest.mark.timeout(600)]

COUNTING = """
import pitstop as ps

@ps.job(processing_guarantee="exactly_once", snapshot_interval="1 second")
def counting(folder):
    p = ps.Pipeline()
    rows = p.read_from(ps.sources.rate(50), name="numbers").with_columns(key="cast(sequence % 10 as string)")
    counted = rows.group_by("key").rolling_aggregate("counted", n=ps.count())
    counted.write_to(ps.sinks.files(folder, format="json"), name="files")
    counted.write_to(ps.sinks.map("counts", key="key", value="n"), name="counts")
    return p
"""


@pytest.fixture
def start(tmp_path):
    store, planes = new_database(), []

    def start():
        options = ("--spares", "0", "--members", "1", "--scale-up-delay", "600")
        planes.append(Plane(tmp_path, store, free_port(), *options))
        return planes[-1]

    yield start
    data = DataFolder(tmp_path / "data")
    for plane in planes:
        if plane.process.poll() is None and plane.leader() == plane.address:
            plane.client.service.shut_down()
            plane.process.wait(120)
    for plane in planes:
        plane.end()
    left = [data.member(path.name) for path in data.members.glob("*")]
    for handle in (handle for folder in left for handle in (handle_in(folder.process), handle_in(folder.daemon))):
        if handle is not None:
            kill_all(handle)


def test_master_members_and_drivers_go_on_when_another_control_plane_takes_over(start, tmp_path):
    data, rows = DataFolder(tmp_path / "data"), tmp_path / "rows"

    def lines():
        return [json.loads(line) for file in rows.glob("*.json") for line in file.open()]

    def goes_on():
        before = len(lines())
        return until(lambda: len(lines()) > before + 100, 120, "going on")

    def members(plane):
        return sorted(member.name for member in plane.client.service.server_info().members)

    first = start()
    until(lambda: first.leader() == first.address, 20, "the first one leads")
    second = start()
    both = sorted(f"{name_of(plane)}-1" for plane in (first, second))
    until(lambda: members(second) == both, 60, "each has a member of its own")
    until(lambda: masters(data), 60, "there is a master")
    assert [folder.name for folder in masters(data)] == [name_of(first)], "the leader keeps it"
    (tmp_path / "counting.py").write_text(COUNTING)
    job = second.client.submit(tmp_path / "counting.py", args=[str(rows)], name="counting")
    job.wait_started(300)
    goes_on()
    token, executors = job.details.token, executors_of(data)
    assert len(executors) == 2

    first.signal(signal.SIGKILL)
    died = until(lambda: second.leader() == second.address, 30, "the second one leads")
    mastered = until(lambda: [folder.name for folder in masters(data)] == [name_of(second)], 60, "it has the only master")
    until(lambda: SparkCluster.read(data.spark_cluster).keeper == name_of(second), 60, "drivers and members are told")
    went_on = goes_on()
    assert (job.status, job.details.token) == (JobState.RUNNING, token), "in the same run"
    assert executors_of(data) == executors, "on the same executors"

    kill_all(handle_in(DataFolder(data.root, name_of(second)).spark_master.daemon))
    before = SparkCluster.read(data.spark_cluster).master
    until(lambda: SparkCluster.read(data.spark_cluster).master != before, 60, "another master takes the place of one that died")
    goes_on()
    assert (job.details.token, executors_of(data)) == (token, executors)

    kill_all(handle_in(data.member(both[0]).daemon))
    until(lambda: len(executors_of(data) - executors) == 1, 90, "the new master gives the job another executor")
    goes_on()
    assert job.details.token == token, "still in the same run"
    print(
        f"\nleads {died:.1f} s after the other's death, has a master {mastered:.1f} s later, 100 rows more {went_on:.1f} s later"
    )
    job.suspend()
    found = lines()
    assert sorted(line["sequence"] for line in found) == list(range(len(found)))
    assert all(line["n"] == line["sequence"] // 10 + 1 for line in found)
    assert second.client.map("counts").entries() == dict(Counter(str(number % 10) for number in range(len(found))))

    third = start()
    until(lambda: third.leader() == second.address, 60, "another one waits for the lead")
    third.client.service.shut_down()
    for plane in (second, third):
        assert plane.process.wait(120) == 0, "whichever is asked, all of the cluster ends"
    written = [handle_in(path) for path in data.members.glob("*/*.json")]
    until(lambda: not any(is_alive(handle) for handle in written if handle is not None), 60, "its members, too")


def name_of(plane):
    """Of its part of the data folder."""
    return f"{socket.gethostname()}-{plane.address.rpartition(':')[2]}"


def masters(data):
    """The servers' parts of the data folder that have a living Spark master."""
    servers = (data.root / "servers").iterdir()
    handles = {server: handle_in(DataFolder(data.root, server.name).spark_master.daemon) for server in servers}
    return [server for server, handle in handles.items() if handle is not None and is_alive(handle)]


def executors_of(data):
    """The executors of all members here: each works in a folder of its member."""
    found = set()
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if process.cwd().startswith(str(data.members)) and any("ExecutorBackend" in word for word in process.cmdline()):
                found.add(process.pid)
    return found
