"""Members and control planes on hosts of their own: wires are cut and healed, and every event comes once."""

import json
import time
from collections import Counter

import pytest

from pitstop.model.job import JobState
from tests.hosts.cluster import Cluster, until
from tests.hosts.network import Network, why_not

REASON = why_not()
pytestmark = [
    pytest.mark.hosts,
    pytest.mark.e2e,
    pytest.mark.timeout(900),
    pytest.mark.skipif(REASON is not None, reason=f"no hosts of our own can be made: {REASON}"),
]
CUT_SECONDS = 20.0
COUNTING = """
import pitstop as ps

@ps.job(processing_guarantee="exactly_once", snapshot_interval="1 second")
def counting(folder, counts):
    p = ps.Pipeline()
    rows = p.read_from(ps.sources.rate(50), name="numbers").with_columns(key="cast(sequence % 10 as string)")
    counted = rows.group_by("key").rolling_aggregate("counted", n=ps.count())
    counted.write_to(ps.sinks.files(folder, format="json"), name="files")
    counted.write_to(ps.sinks.map(counts, key="key", value="n"), name="counts")
    return p
"""
"""The n-th number of each key is told as the n-th."""


@pytest.fixture
def cluster(tmp_path):
    with Network(tmp_path) as network:
        made = Cluster(tmp_path, network)
        (tmp_path / "counting.py").write_text(COUNTING)
        yield made


def with_two_members(cluster):
    client = start_plane(cluster, "plane-a")
    for name in ("member-1", "member-2"):
        cluster.start_member(name)
    until(lambda: members(client) == ["member-1", "member-2"], 60, "both members join")
    return client


def start_plane(cluster, name):
    return cluster.start_plane(name, "--scale-up-delay", "600")  # what is tested is no rescaling


def members(client):
    return [member.name for member in client.service.server_info().members]


def submit(cluster, client, name, **options):
    job = client.submit(
        cluster.folder / "counting.py", args=[str(cluster.folder / name), f"{name}-counts"], name=name, config=options
    )
    job.wait_started(300)
    return job


def lines_of(cluster, name):
    return [json.loads(line) for file in (cluster.folder / name).glob("*.json") for line in file.open()]


def goes_on(cluster, name, after=""):
    """How long it takes until more has come."""
    before = len(lines_of(cluster, name))
    return until(lambda: len(lines_of(cluster, name)) > before + 100, 300, f"{name} goes on {after}")


def every_number_once(cluster, client, name):
    lines = lines_of(cluster, name)
    assert sorted(line["sequence"] for line in lines) == list(range(len(lines)))
    assert all(line["n"] == line["sequence"] // 10 + 1 for line in lines)
    counted = Counter(str(number % 10) for number in range(len(lines)))
    assert client.map(f"{name}-counts").entries() == dict(counted)


def test_a_job_goes_on_when_the_wire_of_each_member_is_cut_for_a_while(cluster):
    client = with_two_members(cluster)
    job = submit(cluster, client, "cut")
    goes_on(cluster, "cut")
    for name in ("member-2", "member-1"):
        cluster.hosts[name].cut()
        cut = time.monotonic()
        silent = until(lambda gone=name: gone not in members(client), 30, f"{name} is missed")
        until(lambda since=cut: time.monotonic() - since > CUT_SECONDS, CUT_SECONDS + 1, "the cut")
        cluster.hosts[name].heal()
        back = until(lambda: len(members(client)) == 2, 60, f"{name} is back")
        on = goes_on(cluster, "cut", f"after {name} was cut off")
        print(f"\n{name}: missed after {silent:.1f} s, back {back:.1f} s after the cut, 100 rows more {on:.1f} s after that")
    job.suspend()
    assert job.status is JobState.SUSPENDED
    every_number_once(cluster, client, "cut")


def test_a_job_goes_on_without_a_host_that_is_lost_for_good(cluster):
    client = with_two_members(cluster)
    job = submit(cluster, client, "lost")
    goes_on(cluster, "lost")
    cluster.hosts["member-1"].cut()
    on = goes_on(cluster, "lost", "without a member")
    print(f"\n100 rows more {on:.1f} s after the host was lost")
    job.suspend()
    every_number_once(cluster, client, "lost")


def test_a_protected_job_waits_for_its_quorum(cluster):
    client = with_two_members(cluster)
    job = submit(cluster, client, "protected", split_brain_protection=True)
    goes_on(cluster, "protected")
    cluster.hosts["member-1"].cut()
    waits = until(lambda: job.status is JobState.NOT_RUNNING, 30, "the job waits")
    cluster.hosts["member-1"].heal()
    on = until(lambda: job.status is JobState.RUNNING, 300, "the job has its quorum again")
    print(f"\nwaits {waits:.1f} s after the cut, runs {on:.1f} s after it was healed")
    goes_on(cluster, "protected")
    job.suspend()
    every_number_once(cluster, client, "protected")


def test_a_run_that_was_cut_off_writes_nothing_once_another_one_has_its_job(cluster):
    first = with_two_members(cluster)
    until(lambda: first.service.server_info().leader == cluster.address("plane-a"), 20, "the first one leads")
    job = submit(cluster, first, "moved")
    goes_on(cluster, "moved")
    token = job.details.token
    second = start_plane(cluster, "plane-b")
    assert second.service.server_info().leader == cluster.address("plane-a")
    cluster.hosts["plane-a"].cut()
    leads = until(lambda: second.service.server_info().leader == cluster.address("plane-b"), 30, "the second one leads")
    moved = second.job(job.id)
    taken = until(lambda: moved.details.token > token and moved.status is JobState.RUNNING, 240, "another run has the job")
    goes_on(cluster, "moved")
    drivers = cluster.hosts["plane-a"].processes("pitstop.runner", job.id)
    assert drivers, "the run that was cut off still lives, and knows of nothing"
    cluster.hosts["plane-a"].heal()
    until(lambda: not cluster.hosts["plane-a"].processes("pitstop.runner", job.id), 90, "it ends by itself")
    log = "".join(path.read_text() for path in (cluster.data / "jobs" / job.id).glob("runner.log*"))
    assert f"this run (token {token}) has lost the job" in log
    until(lambda: "leads no more" in cluster.log("plane-a"), 60, "the first one steps down")
    assert not cluster.hosts["plane-a"].processes("deploy.master.Master")
    goes_on(cluster, "moved")
    print(f"\ntake-over {leads:.1f} s after the cut, another run {taken:.1f} s after that")
    moved.suspend()
    every_number_once(cluster, second, "moved")
