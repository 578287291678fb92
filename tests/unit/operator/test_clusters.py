import pytest

from pitstop.operator import kinds
from pitstop.operator.children import children
from pitstop.operator.cluster_names import Named
from pitstop.operator.clusters import SeenCluster, decide_cluster
from pitstop.operator.resources.cluster import Hazelcast
from pitstop.operator.settings import Image
from tests.unit.operator.test_children import named


def seen(**more):
    return SeenCluster(Named("hazelcast", "lab", "uid", Hazelcast.model_validate({"spec": {"clusterSize": 3}})), 4, **more)


@pytest.mark.parametrize(
    ("more", "phase", "ready"),
    [
        ({}, "Pending", "0/3"),
        ({"answers": True}, "Pending", "0/3"),
        ({"answers": True, "members": 2}, "Pending", "2/3"),
        ({"answers": True, "members": 3}, "Running", "3/3"),
        ({"answers": True, "members": 4}, "Pending", "4/3"),  # one has yet to leave
        ({"missing_secret": "licence"}, "Failed", "0/3"),
        ({"refusal": "Service 'hazelcast' is there already"}, "Failed", "0/3"),
        ({"answers": True, "members": 3, "leaving": True}, "Terminating", "3/3"),
    ],
)
def test_a_cluster_is_as_its_server_and_members_are(more, phase, ready):
    status = decide_cluster(seen(**more))
    assert (status.phase.value, status.hazelcast_cluster_status.ready_members) == (phase, ready)
    assert status.observed_generation == 4


@pytest.mark.parametrize(
    ("more", "message"), [({}, "the control plane does not answer yet"), ({"answers": True}, "0 of 3 members have joined")]
)
def test_a_cluster_that_waits_says_what_its_pods_wait_for(more, message):
    reason = "pod 'hazelcast-0' waits for a node: 0/1 nodes are available: 1 Insufficient memory"
    assert decide_cluster(seen(**more)).message == message
    assert (
        decide_cluster(seen(**more, waiting_pods=[reason, "pod 'hazelcast-1' waits for a node"])).message
        == f"{message}: {reason}"
    )


def test_what_is_missing_is_named():
    assert decide_cluster(seen(missing_secret="licence")).message == (
        "Secret 'licence' not found: create it, and the cluster starts"
    )


def test_the_pods_that_a_horizontal_pod_autoscaler_counts_are_the_members():
    cluster = named()
    (labels,) = [
        each["spec"]["template"]["metadata"]["labels"]
        for kind, each in children(cluster, Image(), "mark")
        if kind is kinds.STATEFUL_SET and each["metadata"]["name"] == cluster.name
    ]
    selector = decide_cluster(SeenCluster(cluster, 1)).selector
    assert dict(pair.split("=") for pair in selector.split(",")) == labels
