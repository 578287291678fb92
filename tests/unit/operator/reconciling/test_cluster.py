"""Clusters as they are brought about, step by step."""

import pytest

from pitstop.operator import kinds
from pitstop.operator.reconciling.cluster import reconcile_cluster
from pitstop.operator.reconciling.map import reconcile_map
from pitstop.service.cluster_results import ClusterInfo
from tests.unit.operator.reconciling.scripted import Lab
from tests.unit.operator.test_pods_that_wait import pod as unplaced
from tests.unit.operator.test_pods_that_wait import without_a_node

INFO = ClusterInfo("ACTIVE", "0.1.0", 0, [], 0)


@pytest.fixture
def lab():
    made = Lab()
    _, connection = made.cluster("here", None, clusterSize=0)
    connection.info = INFO
    return made


def look(lab):
    reconcile_cluster(lab.around, lab.api.objects[kinds.HAZELCAST, "here"])
    return lab.written()


def test_a_cluster_in_which_nothing_happens_costs_no_write(lab):
    first = look(lab)
    assert ("APPLY", "StatefulSet", "here") in first
    assert look(lab) == []


def test_what_is_changed_or_removed_is_as_before_and_nothing_else_is_touched(lab):
    look(lab)
    service = lab.api.objects[kinds.SERVICE, "here"]
    lab.api._keep(kinds.SERVICE, service | {"spec": service["spec"] | {"selector": {}}})
    assert look(lab) == [("APPLY", "Service", "here")]
    lab.api.delete(kinds.NETWORK_POLICY, "here")
    lab.api.tell(kinds.NETWORK_POLICY, "DELETED", {"metadata": {"name": "here", "namespace": "lab"}})
    assert look(lab) == [("APPLY", "NetworkPolicy", "here")]


@pytest.mark.parametrize("name", ["1cluster", "my.cluster", "x" * 39])
def test_of_a_cluster_that_cannot_be_named_nothing_is_made(lab, name):
    """It is older than the rule that refuses it."""
    lab.cluster(name, None)
    reconcile_cluster(lab.around, lab.api.objects[kinds.HAZELCAST, name])
    assert lab.written() == [("STATUS", "Hazelcast", name)]
    status = lab.api.status(kinds.HAZELCAST, name)
    assert status["phase"] == "Failed"
    assert status["message"].startswith("metadata.name is no name of a cluster")


def ignored(status):
    return {each["type"]: each["message"] for each in status["conditions"]}.get("FieldsIgnored")


def test_fields_that_change_nothing_are_named_by_a_condition(lab):
    lab.cluster("named", None, clusterName="dev", version="5.3.2")[1].info = INFO
    for name in ("here", "named"):
        reconcile_cluster(lab.around, lab.api.objects[kinds.HAZELCAST, name])
    assert ignored(lab.api.status(kinds.HAZELCAST, "here")) is None
    assert ignored(lab.api.status(kinds.HAZELCAST, "named")) == "they change nothing here: spec.clusterName, spec.version"
    spec = {"hazelcastResourceName": "gone", "backupCount": 1, "nearCache": {"name": "n"}, "indexes": [{"type": "HASH"}]}
    lab.api.put(kinds.MAP, "map", spec)
    reconcile_map(lab.around, lab.api.objects[kinds.MAP, "map"])
    named = "they change nothing here: spec.backupCount, spec.indexes, spec.nearCache"
    assert ignored(lab.api.status(kinds.MAP, "map")) == named


def test_pods_that_do_not_start_are_named_by_a_condition_until_they_do(lab):
    pod = unplaced("here-0", status=without_a_node("0/1 nodes are available: 1 Insufficient memory."), namespace="lab")
    pod["metadata"]["labels"]["app.kubernetes.io/instance"] = "here"
    lab.world._pods._take("ADDED", pod)
    look(lab)
    conditions = {each["type"]: each for each in lab.api.status(kinds.HAZELCAST, "here")["conditions"]}
    expected = "pod 'here-0' waits for a node: 0/1 nodes are available: 1 Insufficient memory"
    assert (conditions["PodsWait"]["status"], conditions["PodsWait"]["message"]) == ("True", expected)
    assert look(lab) == []
    lab.world._pods._take("MODIFIED", pod | {"status": {"phase": "Running"}})
    assert look(lab) == [("STATUS", "Hazelcast", "here")]
    assert "PodsWait" not in {each["type"] for each in lab.api.status(kinds.HAZELCAST, "here")["conditions"]}
