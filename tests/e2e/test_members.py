"""A cluster of two members on this machine: a job goes on though each of them is killed in turn, and all of it is shut down and
started again without a missed or doubled row."""

import json
from collections import Counter

import pytest

from pitstop.launchers.processes import handle_in, kill_all
from pitstop.model.data_folder import DataFolder
from pitstop.model.job import JobState

pytestmark = [pytest.mark.e2e, pytest.mark.long, pytest.mark.timeout(900)]

COUNTING = """
import pitstop as ps

@ps.job(processing_guarantee="exactly_once", snapshot_interval="1 second")
def counting(folder):
    p = ps.Pipeline()
    rows = p.read_from(ps.sources.rate(100), name="numbers").with_columns(key="cast(sequence % 10 as string)")
    counted = rows.group_by("key").rolling_aggregate("counted", n=ps.count())
    counted.write_to(ps.sinks.files(folder, format="json"), name="files")
    counted.write_to(ps.sinks.map("counts", key="key", value="n"), name="counts")
    return p
"""


def lines_of(folder):
    return [json.loads(line) for file in folder.glob("*.json") for line in file.open()]


def kill_member(data, name):
    """The member and its Spark worker with all executors, as when its machine is lost."""
    folder = data.member(name)
    for handle in (handle_in(folder.process), handle_in(folder.daemon)):
        kill_all(handle)


def check_every_number_once(client, folder):
    lines = lines_of(folder)
    assert sorted(line["sequence"] for line in lines) == list(range(len(lines)))
    assert all(line["n"] == line["sequence"] // 10 + 1 for line in lines)
    counted = Counter(str(number % 10) for number in range(len(lines)))
    assert client.map("counts").entries() == dict(counted)


def test_a_job_goes_on_without_each_of_its_members_and_after_a_shutdown(stack, tmp_path):
    from stack import wait_until

    client, folder, data = stack.start_server(members=2), tmp_path / "rows", DataFolder(stack.data)
    assert [member.name for member in client.service.server_info().members] == ["member-1", "member-2"]
    (tmp_path / "counting.py").write_text(COUNTING)
    job = client.submit(tmp_path / "counting.py", args=[str(folder)], name="counting")
    job.wait_started(300)
    for name in ("member-2", "member-1"):
        wait_until(lambda: len(client.service.server_info().members) == 2, 120, "both members are there")
        before = len(lines_of(folder))
        kill_member(data, name)
        wait_until(lambda seen=before: len(lines_of(folder)) > seen + 200, 180, f"the job goes on without {name}")
    assert job.status is JobState.RUNNING
    client.service.shut_down()
    assert stack.ended_by_itself("server", 120) == 0
    assert not data.spark_cluster.exists()
    lines = lines_of(folder)
    assert sorted(line["sequence"] for line in lines) == list(range(len(lines))), "what was ended is whole"
    client = stack.start_server(members=2)
    job = client.job("counting")
    job.wait_started(300)
    wait_until(lambda: len(lines_of(folder)) > len(lines) + 200, 180, "the job goes on by itself")
    job.suspend()
    check_every_number_once(client, folder)
