"""The operator beside a real API server: the tutorial's story, in short (the whole: make tutorial)."""

import pytest

from tests.kubernetes.manifests import snapshot
from tests.kubernetes.operating import make_jar, operator
from tests.kubernetes.user import User


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """The folder that the operator reads artifacts from."""
    folder = tmp_path_factory.mktemp("artifacts")
    make_jar(folder)
    return folder


@pytest.fixture(scope="module", autouse=True)
def running_operator(cluster, files, tmp_path_factory):
    with operator(cluster, tmp_path_factory.mktemp("operator"), f"--files-from={files}") as process:
        yield process


def test_the_state_of_a_job_is_saved_and_its_next_version_goes_on_from_it(kubectl, files):
    user = User(kubectl, files)
    user.start_cluster()
    assert kubectl("get", "hazelcast", "hazelcast").split() == ["NAME", "STATUS", "MEMBERS", "hazelcast", "Running", "1/1"]
    user.submit("transaction-v1")
    user.put(1, 2, 3)
    user.until_logged("transaction-v1", [1, 2, 3])

    kubectl.apply(snapshot(cancelJob=True))
    user.until("jetjobsnapshot", "snapshot-transaction", "Exported")
    user.until("jetjob", "transaction-v1", "ExecutionFailed")
    assert "completionTime" in user.status("jetjob", "transaction-v1")
    user.put(4, 5)

    user.submit("transaction-v2", "JobV2", initialSnapshotResourceName="snapshot-transaction")
    user.until_logged("transaction-v2", [4, 5])
    assert user.logged("transaction-v1") == [1, 2, 3]

    kubectl("delete", "hazelcast", "hazelcast", "--wait=true", seconds=120)
    for kind in ("jetjob", "jetjobsnapshot", "map", "statefulset", "service", "pvc"):
        kubectl.until(lambda kind=kind: not kubectl.list(kind), 120, f"no {kind} is left")
