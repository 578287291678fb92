import pytest

from pitstop.operator.pods_that_wait import cluster_of_pod, pods_that_wait, remark_of


def pod(name, part="member", status=None, **metadata):
    labels = {
        "app.kubernetes.io/name": "hazelcast",
        "app.kubernetes.io/instance": "hazelcast",
        "app.kubernetes.io/component": part,
    }
    return {"metadata": {"name": name, "labels": labels, **metadata}, "status": status or {}}


def without_a_node(message):
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}
    return {"phase": "Pending", "conditions": [condition]}


def not_starting(reason, message=None):
    waiting = {"reason": reason} | ({"message": message} if message is not None else {})
    scheduled = [{"type": "PodScheduled", "status": "True"}]
    return {"phase": "Pending", "conditions": scheduled, "containerStatuses": [{"state": {"waiting": waiting}}]}


@pytest.mark.parametrize(
    ("status", "clause"),
    [
        (
            without_a_node(
                "0/2 nodes are available: 2 Insufficient memory. preemption: 0/2 nodes are available: 2 No preemption victims "
                "found for incoming pod."
            ),
            "waits for a node: 0/2 nodes are available: 2 Insufficient memory",
        ),
        (
            without_a_node(
                "0/1 nodes are available: 1 Insufficient memory. no new claims to deallocate, preemption: 0/1 nodes are "
                "available: 1 Preemption is not helpful for scheduling."
            ),
            "waits for a node: 0/1 nodes are available: 1 Insufficient memory",
        ),
        (
            not_starting("ImagePullBackOff", 'Back-off pulling image "registry/none:1"'),
            'does not start: ImagePullBackOff: Back-off pulling image "registry/none:1"',
        ),
        (not_starting("CrashLoopBackOff"), "does not start: CrashLoopBackOff"),
        (not_starting("ContainerCreating"), None),
        ({"phase": "Running", "containerStatuses": [{"state": {"running": {}}}]}, None),
        ({}, None),
    ],
)
def test_a_pod_that_does_not_start_has_its_reason(status, clause):
    assert pods_that_wait([pod("hazelcast-0", status=status)]) == ([f"pod 'hazelcast-0' {clause}"] if clause else [])


def test_a_pod_that_is_being_removed_waits_for_nothing():
    leaving = pod("hazelcast-0", status=without_a_node("no node"), deletionTimestamp="2026-11-29T12:00:00Z")
    assert pods_that_wait([leaving]) == []


def test_the_condition_names_the_first_ones_and_counts_the_others():
    assert remark_of([]) == []
    names = [f"hazelcast-{number}" for number in range(5)]
    (remark,) = remark_of(pods_that_wait(pod(name, status=without_a_node("no node")) for name in reversed(names)))
    assert remark.type == "PodsWait"
    assert remark.message == (
        "pod 'hazelcast-0' waits for a node: no node; pod 'hazelcast-1' waits for a node: no node; "
        "pod 'hazelcast-2' waits for a node: no node; and 2 more"
    )


@pytest.mark.parametrize(("part", "cluster"), [("executor", "hazelcast"), ("control-plane", "hazelcast"), ("cache", None)])
def test_pods_are_those_of_a_cluster_by_their_labels(part, cluster):
    assert cluster_of_pod(pod("p", part)) == cluster


def test_a_pod_without_labels_is_of_no_cluster():
    assert cluster_of_pod({"metadata": {"name": "p"}}) is None
