"""``kubectl delete --cascade`` of a cluster: what goes with it, what stays. No pod has to run for it: nobody has its image."""

import pytest

from tests.kubernetes.manifests import a_map, cluster_of, job, snapshot
from tests.kubernetes.operating import operator
from tests.kubernetes.user import User

SECONDS = 120
LINKED = ("map", "jetjob", "jetjobsnapshot")
PARTS = ("statefulset", "service", "persistentvolumeclaim", "networkpolicy", "poddisruptionbudget", "secret")


@pytest.fixture(scope="module", autouse=True)
def running_operator(cluster, tmp_path_factory):
    with operator(cluster, tmp_path_factory.mktemp("operator"), "--image=nowhere:1") as process:
        yield process


def owners(kubectl, kinds):
    """(kind, name) -> (uid, the uid of the cluster that it goes with; None if with none)."""
    return {
        (each["kind"], each["metadata"]["name"]): (
            each["metadata"]["uid"],
            next((owner["uid"] for owner in each["metadata"].get("ownerReferences", []) if owner["kind"] == "Hazelcast"), None),
        )
        for each in kubectl.list(",".join(kinds))
    }


def owned_by(kubectl, cluster):
    """All that is there goes with this cluster, and nothing is missing."""
    found = owners(kubectl, (*LINKED, *PARTS))
    whole = len(found) == 11  # three that are linked; of the parts two StatefulSets and two Services
    return whole and {owner for _, owner in found.values()} == {cluster["metadata"]["uid"]}


@pytest.fixture
def hazelcast(kubectl):
    """A cluster with all of its parts, and what people have linked to it."""
    kubectl.apply(cluster_of(), a_map(), job(), snapshot())
    made = kubectl.get("hazelcast", "hazelcast")
    kubectl.until(lambda: owned_by(kubectl, made), SECONDS, "everything is made, and goes with the cluster")
    return made


@pytest.mark.parametrize("how", ["background", "foreground"])
@pytest.mark.usefixtures("hazelcast")
def test_all_of_a_cluster_goes_with_it(kubectl, how):
    kubectl("delete", "hazelcast", "hazelcast", f"--cascade={how}", "--wait=true", seconds=SECONDS)
    kubectl.until(lambda: not owners(kubectl, (*LINKED, *PARTS, "pod")), SECONDS, "nothing is left")


def test_an_orphaned_cluster_keeps_all_and_a_new_one_of_its_name_waits_until_that_has_gone(kubectl, hazelcast):
    before = owners(kubectl, (*LINKED, *PARTS))
    kubectl("delete", "hazelcast", "hazelcast", "--cascade=orphan", "--wait=true", seconds=SECONDS)
    user = User(kubectl, None)
    text = "Hazelcast 'hazelcast' not found"
    kubectl.until(lambda: user.status("jetjob", "transaction-v1")["failureText"] == text, SECONDS, "the job says so")
    kubectl.until(lambda: user.status("map", "transaction")["message"] == text, SECONDS, "the map says so")
    assert owners(kubectl, (*LINKED, *PARTS)) == {which: (uid, None) for which, (uid, _) in before.items()}

    kubectl.apply(cluster_of())
    kubectl.until(
        lambda: "exists already, and does not belong to this cluster" in user.status("hazelcast", "hazelcast")["message"],
        SECONDS,
        "what is there is not taken over",
    )
    kept = owners(kubectl, PARTS)
    assert kept == {which: (uid, None) for which, (uid, _) in before.items() if which in kept}
    assert len(kept) == len(before) - len(LINKED)

    kubectl("delete", ",".join(PARTS), "--all", "--wait=true", seconds=SECONDS)
    kubectl("annotate", "hazelcast", "hazelcast", "looked=at")
    made = kubectl.get("hazelcast", "hazelcast")
    assert made["metadata"]["uid"] != hazelcast["metadata"]["uid"]
    kubectl.until(lambda: owned_by(kubectl, made), SECONDS, "it has parts of its own, and all that names it goes with it")
