"""The operator installed without Helm, moved to Helm, and removed: by the commands of docs/kubernetes.md, on an empty cluster."""

import re
import shlex

import pytest

from tests.kubernetes.manifests import cluster_of, job
from tests.kubernetes.operating import IMAGES, ROOT
from tests.kubernetes.rig.cluster import Cluster
from tests.kubernetes.rig.node import Node
from tests.kubernetes.user import User

pytestmark = [pytest.mark.long, pytest.mark.timeout(900), pytest.mark.story]

DOCUMENT = (ROOT / "docs" / "kubernetes.md").read_text()
SECONDS = 180
RESTARTS = 3
"""As many as it takes to see that the scheduler does so each time."""


@pytest.fixture(scope="module")
def empty(tools, tmp_path_factory):
    """A cluster without our kinds."""
    folder = tmp_path_factory.mktemp("installing")
    with Cluster.start(folder / "cluster", tools) as cluster, Node.start(cluster, folder / "node-1", images=IMAGES):
        yield cluster


@pytest.fixture(scope="module")
def lab(empty):
    """Somebody who works in the usual namespace."""
    return User(empty.kubectl.within("default"), None)


def commands_with(text):
    """The commands of the block that has this text, as a user would copy them."""
    blocks = re.findall(r"```\n(.*?)```", DOCUMENT, re.DOTALL)
    (block,) = [each for each in blocks if text in each]
    return [shlex.split(line) for line in block.splitlines()]


def type_in(cluster, command, *more):
    """Type a command in the folder of this checkout."""
    program, *arguments = [str(ROOT / word) if word.startswith("deploy/") else word for word in command]
    return {"kubectl": cluster.kubectl, "helm": cluster.helm}[program](*arguments, *more, seconds=SECONDS)


def until_operators_run(cluster):
    told = cluster.kubectl.within("pitstop")
    told("rollout", "status", "deployment/pitstop-operator", f"--timeout={SECONDS}s", seconds=SECONDS + 5)


def test_the_manifests_apply_as_documented(empty, lab):
    for command in commands_with("kubectl create namespace pitstop"):
        type_in(empty, command)
    until_operators_run(empty)
    assert len(empty.kubectl.within("pitstop").list("pod", "app.kubernetes.io/name=pitstop-operator")) == 2
    lab.kubectl.apply(job(), cluster_of(clusterSize=0, repository="nowhere"))
    lab.until("jetjob", "transaction-v1", "Failed", SECONDS)
    lab.kubectl.until(lambda: len(lab.kubectl.list("statefulset")) == 2, SECONDS, "the cluster is made")


def test_helm_takes_them_over_as_documented(empty, lab):
    (options,) = re.findall(r"`helm install \.\.\. ([^`]*)`", DOCUMENT)
    (command,) = commands_with("helm install pitstop deploy/helm/pitstop")
    type_in(empty, command, *options.split(), "--wait", f"--timeout={SECONDS - 10}s")
    until_operators_run(empty)
    assert lab.phase("jetjob", "transaction-v1") == "Failed"
    lab.kubectl.apply(job("second", hazelcastResourceName="nobody"))
    lab.until("jetjob", "second", "Failed", SECONDS)


def test_replicas_are_on_two_nodes_again_after_a_restart_as_documented(empty, lab, tmp_path):
    """Such as after a drain, when all of them are on the node that is left."""
    told = empty.kubectl.within("pitstop")
    assert "spreads them again" in DOCUMENT

    def nodes():
        pods = told.list("pod", "app.kubernetes.io/name=pitstop-operator")
        return sorted(each["spec"]["nodeName"] for each in pods if "deletionTimestamp" not in each["metadata"])

    assert nodes() == ["node-1", "node-1"]
    with Node.start(empty, tmp_path / "node-2", "node-2", images=IMAGES):
        for _ in range(RESTARTS):
            told("rollout", "restart", "deployment/pitstop-operator")
            until_operators_run(empty)
            told.until(lambda: len(nodes()) == 2, SECONDS, "the pods of the version before go")
            assert nodes() == ["node-1", "node-2"]
    told("delete", "pod", "--field-selector=spec.nodeName=node-2", "--force", "--ignore-not-found", seconds=SECONDS)
    until_operators_run(empty)


def test_after_helm_uninstall_clusters_stay_and_resources_can_be_deleted_as_documented(empty, lab):
    empty.helm("uninstall", "pitstop", "--namespace=pitstop", "--wait", seconds=SECONDS)
    kubectl = lab.kubectl
    assert len(kubectl.list("statefulset")) == 2
    (patch,) = re.findall(r"`(kubectl patch jetjob NAME [^`]*)`", DOCUMENT)
    kubectl("delete", "jetjob", "second", "--wait=false")
    assert kubectl.exists("jetjob", "second")  # its finalizer holds it
    _, *arguments = shlex.split(patch.replace("NAME", "second"))
    kubectl(*arguments)
    kubectl.until(lambda: not kubectl.exists("jetjob", "second"), SECONDS, "it is gone")


def test_an_operator_that_is_installed_again_goes_on_with_what_there_is(empty, lab):
    (command,) = commands_with("helm install pitstop deploy/helm/pitstop")
    type_in(empty, command, "--wait", f"--timeout={SECONDS - 10}s")
    lab.kubectl("delete", "hazelcast", "hazelcast", "--wait=true", "--timeout=60s", seconds=70)
    lab.kubectl.until(lambda: not lab.kubectl.list("jetjob,statefulset"), SECONDS, "all of it is gone")
    empty.helm("uninstall", "pitstop", "--namespace=pitstop", "--wait", seconds=SECONDS)
