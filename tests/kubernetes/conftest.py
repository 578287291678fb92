"""A real Kubernetes for all tests here (tests.kubernetes.rig): one cluster with a node a session, a namespace a test."""

import secrets
from pathlib import Path

import pytest

from tests.kubernetes.interrupting_proxy import InterruptingProxy
from tests.kubernetes.operating import IMAGES
from tests.kubernetes.rig.cluster import Cluster
from tests.kubernetes.rig.node import Node
from tests.kubernetes.rig.tools import Tools, why_not

HERE = Path(__file__).parent
DEFINITIONS = [*sorted((HERE / "definitions").glob("*.yaml")), HERE.parents[1] / "deploy" / "kubernetes" / "crds.yaml"]


def pytest_collection_modifyitems(items):
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.kubernetes)


@pytest.fixture(scope="session")
def tools(tmp_path_factory):
    found = Tools.find()
    if found is None:
        pytest.skip("There is no Kubernetes for tests here: make kubernetes-rig builds it.")
    if reason := why_not(tmp_path_factory.mktemp("trial")):
        pytest.skip(f"No pods can run: {reason}.")
    return found


@pytest.fixture(scope="session")
def rig(tools, tmp_path_factory):
    folder = tmp_path_factory.mktemp("kubernetes")
    with (
        Cluster.start(folder / "cluster", tools, DEFINITIONS) as cluster,
        Node.start(cluster, folder / "node-1", images=IMAGES) as node,
    ):
        yield cluster, node


@pytest.fixture(scope="session")
def cluster(rig):
    return rig[0]


@pytest.fixture(scope="session")
def node(rig):
    return rig[1]


@pytest.fixture
def namespace(cluster):
    """The name of a namespace of the test's own. It takes seconds to go away, which nobody waits for."""
    name = f"test-{secrets.token_hex(4)}"
    cluster.kubectl("create", "namespace", name)
    within = cluster.kubectl.within(name)
    within.until(lambda: within.exists("serviceaccount", "default"), 120, "the namespace gets its service account")
    yield name
    cluster.kubectl("delete", "namespace", name, "--wait=false")


@pytest.fixture
def kubectl(cluster, namespace):
    """kubectl in the test's own namespace."""
    return cluster.kubectl.within(namespace)


@pytest.fixture
def proxy(cluster, tmp_path):
    """A way to the API server that tests cut."""
    with InterruptingProxy(cluster, tmp_path).serving() as found:
        yield found
