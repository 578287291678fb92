"""spec.spark.master: k8s: Spark itself makes the pods in which the tasks of a job run."""

import pytest

from tests.kubernetes.manifests import a_map, cluster_of
from tests.kubernetes.operating import make_jar, operator
from tests.kubernetes.user import JOB_SECONDS, SOON_SECONDS, UP_SECONDS, UPLOADS, User

pytestmark = [pytest.mark.long, pytest.mark.timeout(1500)]

EXECUTORS = "app.kubernetes.io/component=executor"


def executors(kubectl):
    """Names of those that run."""
    return sorted(each["metadata"]["name"] for each in kubectl.list("pod", EXECUTORS) if each["status"]["phase"] == "Running")


def test_a_job_runs_in_pods_that_spark_makes_and_loses_and_doubles_nothing_when_one_dies(cluster, node, kubectl, tmp_path):
    make_jar(tmp_path)
    user = User(kubectl, tmp_path)
    kubectl("create", "serviceaccount", "spark")
    verbs = "--verb=create,get,list,watch,delete,deletecollection,patch,update"
    kubectl("create", "role", "spark", verbs, "--resource=pods,configmaps,persistentvolumeclaims,services")
    kubectl("create", "rolebinding", "spark", "--role=spark", f"--serviceaccount={kubectl.namespace}:spark")
    options = (f"--files-from={tmp_path}", f"--namespace={kubectl.namespace}", f"--lease-namespace={kubectl.namespace}")
    with operator(cluster, tmp_path / "operator", *options) as process:
        kubectl.apply(cluster_of(clusterSize=2, jet=UPLOADS, spark={"master": "k8s", "serviceAccountName": "spark"}))
        user.until("hazelcast", "hazelcast", "Running", UP_SECONDS)
        assert user.status("hazelcast", "hazelcast")["hazelcastClusterStatus"]["readyMembers"] == "0/0"
        kubectl.apply(a_map(eventJournal={"capacity": 9000}))
        user.until("map", "transaction", "Success")
        user.submit("transaction-v1")
        kubectl.until(lambda: len(executors(kubectl)) == 2, SOON_SECONDS, "two pods of executors run")
        user.put(1, 2)
        user.until_logged("transaction-v1", [1, 2])

        def may_be_taken():
            return kubectl.get("poddisruptionbudget", "hazelcast").get("status", {}).get("disruptionsAllowed")

        kubectl.until(lambda: may_be_taken() == 1, SOON_SECONDS, "a drain may take the control plane's pod")

        killed, kept = executors(kubectl)
        node.signal(kubectl.namespace, killed, "hazelcast")
        user.put(3, 4)
        user.until_logged("transaction-v1", [1, 2, 3, 4])
        kubectl.until(
            lambda: len(executors(kubectl)) == 2 and killed not in executors(kubectl), JOB_SECONDS, "another one takes its place"
        )
        assert kept in executors(kubectl)

        kubectl("delete", "jetjob", "transaction-v1", "--wait=true", seconds=JOB_SECONDS)
        kubectl.until(lambda: not executors(kubectl), JOB_SECONDS, "its executors are gone")
        process.check()
        kubectl("delete", "hazelcast", "hazelcast", "--wait=true", seconds=120)
