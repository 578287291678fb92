"""The server that leads keeps the Spark master; members here are each server's own. Masters are processes that sleep."""

import subprocess
import threading

import pytest
from structlog.testing import capture_logs

from pitstop.errors import EngineError
from pitstop.launchers.processes import handle_of, write_handle
from pitstop.machine.rotating import Rotation
from pitstop.model.cluster import Member, SparkCluster
from pitstop.model.config import JobConfig
from pitstop.model.data_folder import DataFolder
from pitstop.model.job import Job, JobSource, JobState, Version
from pitstop.server import cluster as cluster_module
from pitstop.server.cluster import OwnCluster, ServedCluster, WithMaster
from pitstop.server.leading import SoleLeader
from pitstop.server.members import OneMember
from tests.doubles.members import MemoryMembers
from tests.doubles.registry import MemoryRegistry


class Masters:
    """Starts masters; ``url`` of the n-th is ``spark://HOST:n``."""

    def __init__(self):
        self.processes, self.secrets, self.failures = [], [], 0

    def start(self, folder, host, secret, recovery, environment):
        if self.failures:
            self.failures -= 1
            raise EngineError("it does not start")
        folder.root.mkdir(parents=True)
        process = subprocess.Popen(["sleep", "600"], start_new_session=True)
        write_handle(folder.daemon, handle_of(process.pid))
        self.processes.append(process)
        self.secrets.append(secret)
        return process, f"spark://{host}:{len(self.processes)}"

    @property
    def living(self):
        return [number for number, process in enumerate(self.processes, 1) if process.poll() is None]


@pytest.fixture
def masters():
    made = Masters()
    yield made
    for process in made.processes:
        process.kill()
        process.wait()


@pytest.fixture
def make(tmp_path, masters):
    members = MemoryMembers()
    members.join(Member("id-a", "a", "10.0.0.7", "0.1.0", 2))

    def make(server=""):
        return OwnCluster(
            DataFolder(tmp_path, server), members, 0, "127.0.0.1", "postgresql://db/p", {}, Rotation(), start_master=masters.start
        )

    return make


def lead(cluster):
    assert cluster.lead(lambda: True, threading.Event())


def told(tmp_path):
    return SparkCluster.read(DataFolder(tmp_path).spark_cluster)


def test_who_leads_starts_a_master_and_tells_drivers_of_it_and_the_members(make, masters, tmp_path):
    lead(make("host-1"))
    assert told(tmp_path) == SparkCluster("spark://127.0.0.1:1", masters.secrets[0], (2,), ("id-a",), keeper="host-1")


def test_a_server_that_is_started_again_finds_its_master(make, masters, tmp_path):
    lead(make())
    lead(make())
    assert masters.living == [1]


def test_one_server_leaves_its_master_when_it_ends_one_of_several_ends_it(make, masters):
    alone, one_of_several = make(), make("host-1")
    lead(alone)
    alone.step_down()
    assert masters.living == [1]
    lead(one_of_several)
    one_of_several.step_down()
    assert masters.living == [1]


def test_who_leads_next_ends_a_master_that_was_left_on_its_machine_and_uses_the_same_secret(make, masters, tmp_path):
    lead(make("host-1"))
    lead(make("host-2"))
    assert masters.living == [2]
    assert (told(tmp_path).keeper, told(tmp_path).master) == ("host-2", "spark://127.0.0.1:2")
    assert masters.secrets[0] == masters.secrets[1]


def test_what_a_server_that_led_before_writes_late_is_put_right(make, masters, tmp_path):
    lead(make("host-1"))
    late = DataFolder(tmp_path).spark_cluster.read_text()
    second = make("host-2")
    lead(second)
    DataFolder(tmp_path).spark_cluster.write_text(late)
    lead(second)
    assert told(tmp_path).master == "spark://127.0.0.1:2"
    assert masters.living == [2]


def test_a_master_that_has_died_has_a_successor_with_the_same_secret(make, masters, tmp_path):
    cluster = make()
    lead(cluster)
    masters.processes[0].kill()
    masters.processes[0].wait()
    lead(cluster)
    assert told(tmp_path).master == "spark://127.0.0.1:2"
    assert masters.secrets[0] == masters.secrets[1]


def test_a_master_that_does_not_start_is_tried_again(make, masters):
    masters.failures = 1
    lead(make("host-1"))
    assert masters.living == [1]


def test_a_member_that_has_left_ends_by_itself_when_all_is_shut_down(make, tmp_path, monkeypatch):
    monkeypatch.setattr(cluster_module, "LEAVE_SECONDS", 0.1)
    cluster, folder = make(), DataFolder(tmp_path).member("member-1")
    folder.root.mkdir(parents=True)
    leaving = cluster._children["member-1"] = subprocess.Popen(["sleep", "1"])
    cluster._names.add("member-1")
    write_handle(folder.process, handle_of(leaving.pid))
    with capture_logs() as logs:
        cluster.end(with_members=True)
    assert leaving.wait(0) == 0
    assert [(line["member"], line["exit_code"]) for line in logs if line["event"] == "a member has ended"] == [("member-1", 0)]
    assert not folder.root.exists()


class Loop:
    def __init__(self):
        self.runs, self.stopped = 0, False

    def run(self):
        self.runs += 1

    def stop(self):
        self.stopped = True


def test_the_control_loop_of_a_lead_begins_with_the_master_and_the_master_ends_with_it(make, masters):
    loop = Loop()
    WithMaster(make("host-1"), lambda: True, loop).run()
    assert (loop.runs, len(masters.processes), masters.living) == (1, 1, [])


def test_a_lead_that_is_over_before_there_is_a_master_decides_nothing(make, masters):
    loop = Loop()
    over = WithMaster(make("host-1"), lambda: False, loop)
    over.stop()
    over.run()
    assert (loop.runs, loop.stopped, masters.processes) == (0, True, [])


def test_a_server_without_members_has_all_jobs_on_its_own_machine(tmp_path):
    registry = MemoryRegistry()
    version = Version(1, JobSource("/a.py"), {}, JobConfig())
    for number, state in enumerate((JobState.RUNNING, JobState.RUNNING, JobState.SUSPENDED)):
        registry.add_job(Job(f"id-{number}", f"job-{number}", 1.0, version, state))
    cluster = ServedCluster(registry, OneMember(DataFolder(tmp_path), "127.0.0.1:8701"), None, SoleLeader("127.0.0.1:8701"))
    (member,) = cluster.info().members
    assert member.jobs == ["job-0", "job-1"]


def test_any_server_shuts_all_of_a_cluster_down():
    leadership, ended = Ends(), []
    cluster = ServedCluster(MemoryRegistry(), MemoryMembers(), None, leadership, lambda: ended.append("the others are woken"))
    cluster.when_shut_down(lambda: ended.append("this one ends"))
    cluster.shut_down()
    assert (leadership.asked, ended) == (1, ["the others are woken", "this one ends"])
    assert cluster.info().state == "PASSIVE"


class Ends(SoleLeader):
    def __init__(self):
        super().__init__("10.0.0.1:8701")
        self.asked = 0

    def end_all(self):
        self.asked += 1
