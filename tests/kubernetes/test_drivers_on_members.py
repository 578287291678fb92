"""spec.spark.drivers: members: the drivers of jobs are in the pods of members."""

import pytest

from tests.kubernetes.manifests import a_map, cluster_of, snapshot
from tests.kubernetes.operating import make_jar, operator
from tests.kubernetes.user import JOB_SECONDS, SOON_SECONDS, UP_SECONDS, UPLOADS, User

pytestmark = [pytest.mark.long, pytest.mark.timeout(1500)]

JOB = "transaction-v1"
MEMBERS = ("hazelcast-0", "hazelcast-1")
CONTROL_PLANE = "hazelcast-control-plane-0"


def pods_that_logged(kubectl):
    return [name for name in (*MEMBERS, CONTROL_PLANE) if f"{JOB}/Log" in kubectl("logs", name, "--container=hazelcast")]


def times_started(user):
    return user.pitstop("events", JOB).count("STARTING -> RUNNING (")


def test_a_job_outlives_the_pod_of_the_control_plane_and_that_of_its_driver(cluster, node, kubectl, tmp_path):
    make_jar(tmp_path)
    user = User(kubectl, tmp_path)
    options = (f"--files-from={tmp_path}", f"--namespace={kubectl.namespace}", f"--lease-namespace={kubectl.namespace}")
    with operator(cluster, tmp_path / "operator", *options) as process:
        kubectl.apply(cluster_of(clusterSize=2, jet=UPLOADS, spark={"drivers": "members"}))
        user.until("hazelcast", "hazelcast", "Running", UP_SECONDS)
        kubectl.apply(a_map(eventJournal={"capacity": 9000}))
        user.until("map", "transaction", "Success")
        user.submit(JOB)
        user.put(1, 2)
        user.until_logged(JOB, [1, 2])
        (driver,) = pods_that_logged(kubectl)
        assert driver in MEMBERS

        kubectl("delete", "pod", CONTROL_PLANE, "--wait=true", seconds=120)
        user.until("hazelcast", "hazelcast", "Running", UP_SECONDS)
        user.until("jetjob", JOB, "Running", JOB_SECONDS)
        user.put(3)
        user.until_logged(JOB, [1, 2, 3])
        assert (pods_that_logged(kubectl), times_started(user)) == ([driver], 1)

        # Saved, so that what was logged is not only logged, but done.
        kubectl.apply(snapshot())
        user.until("jetjobsnapshot", "snapshot-transaction", "Exported", JOB_SECONDS)
        node.signal(kubectl.namespace, driver, "hazelcast")
        user.put(4, 5)
        # The container is another one, and so is its log: what was logged before is not logged again.
        kubectl.until(lambda: len(user.logged(JOB)) >= 2, JOB_SECONDS, "it goes on")
        assert user.logged(JOB) == [4, 5]
        user.until("jetjob", JOB, "Running", SOON_SECONDS)
        process.check()
        kubectl("delete", "hazelcast", "hazelcast", "--wait=true", seconds=120)
