"""What the operator itself refuses, in its words, through kubectl. No pod has to run for it."""

import dataclasses
import json
import re
import signal
import time
from pathlib import Path

import pytest

from tests.kubernetes.manifests import a_map, cluster_of, job, snapshot
from tests.kubernetes.operating import operator
from tests.kubernetes.rig.clients import ClientError

SECONDS = 30
UPLOADS = {"enabled": True, "resourceUploadEnabled": True}
BUCKET = {"bucketURI": "s3://jobs", "secretName": "nobody-has-it"}


@pytest.fixture(scope="module", autouse=True)
def running_operator(cluster, tmp_path_factory):
    with operator(cluster, tmp_path_factory.mktemp("operator")) as process:
        yield process


def idle_cluster(**spec):
    """One that waits for a Secret, and so starts nothing."""
    return cluster_of(**{"licenseKeySecretName": "not-there"} | spec)


def until_says(kubectl, kind, name, field, text):
    def says():
        return text in (kubectl.get(kind, name).get("status", {}).get(field) or "")

    kubectl.until(says, SECONDS, f"{kind} {name} says {text!r}: {kubectl.get(kind, name).get('status')}")


@pytest.mark.parametrize(
    ("there", "asked", "text", "condition"),
    [
        ([], job("j"), "Hazelcast 'hazelcast' not found", "Progressing"),
        (
            [idle_cluster(jet={"enabled": False})],
            job("j"),
            "spec.jet.enabled: Required value: jet engine must be enabled",
            "Degraded",
        ),
        (
            [idle_cluster()],
            job("j", bucketConfig=BUCKET),
            "spec.jet.resourceUploadEnabled: Invalid value: false: jet engine resource upload must be enabled",
            "Degraded",
        ),
        (
            [idle_cluster()],
            job("j", remoteURL="http://127.0.0.1/jobs.zip"),
            "spec.jet.resourceUploadEnabled: Invalid value: false: jet engine resource upload must be enabled",
            "Degraded",
        ),
        (
            [idle_cluster(), job("first", name="same")],
            job("j", name="same"),
            "JetJob first already uses the same name",
            "Degraded",
        ),
        ([idle_cluster(jet=UPLOADS)], job("j", bucketConfig=BUCKET), "Hazelcast 'hazelcast' is not running", "Degraded"),
    ],
)
def test_a_job_says_what_stands_in_its_way(kubectl, there, asked, text, condition):
    for each in there:
        kubectl.apply(each)
    made = time.time()
    kubectl.until(lambda: time.time() > made + 1, SECONDS, "the next second")  # the age of a resource is in whole ones
    kubectl.apply(asked)
    until_says(kubectl, "jetjob", "j", "failureText", text)
    kubectl("wait", f"--for=condition={condition}", "jetjob/j", f"--timeout={SECONDS}s")
    status = kubectl.get("jetjob", "j")["status"]
    assert status["phase"] == "Failed"
    assert status["observedGeneration"] == 1
    assert {each["type"]: each["status"] for each in status["conditions"]} == {
        name: str(name == condition) for name in ("Ready", "Progressing", "Degraded", "Stalled")
    }
    assert text in kubectl("describe", "jetjob", "j")


def test_a_cluster_waits_for_the_secrets_that_it_names(kubectl):
    kubectl.apply(idle_cluster())
    until_says(kubectl, "hazelcast", "hazelcast", "message", "Secret 'not-there' not found")
    assert kubectl.get("hazelcast", "hazelcast")["status"]["phase"] == "Failed"
    assert not kubectl.list("statefulset")


def test_what_belongs_to_somebody_else_is_left_alone(kubectl):
    theirs = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "hazelcast"}, "spec": {"ports": [{"port": 80}]}}
    kubectl.apply(theirs)
    kubectl.apply(cluster_of(clusterSize=0))
    until_says(
        kubectl, "hazelcast", "hazelcast", "message", "Service 'hazelcast' exists already, and does not belong to this cluster"
    )
    assert kubectl.get("service", "hazelcast")["spec"]["ports"][0]["port"] == 80
    assert not kubectl.list("statefulset")


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        ({"eviction": {"evictionPolicy": "LRU"}}, "spec.eviction"),
        ({"eviction": {"maxSizePolicy": "USED_HEAP_SIZE"}}, "spec.eviction.maxSizePolicy"),
        ({"maxIdleSeconds": 5}, "spec.maxIdleSeconds"),
        ({"eventJournal": {"timeToLiveSeconds": 5}}, "spec.eventJournal.timeToLiveSeconds"),
    ],
)
def test_a_map_refuses_what_our_maps_cannot_do(kubectl, spec, text):
    kubectl.apply(a_map(**spec))
    until_says(kubectl, "map", "transaction", "message", text)
    assert kubectl.get("map", "transaction")["status"]["state"] == "Failed"


def test_a_map_that_somebody_holds_says_that_it_is_being_deleted(kubectl):
    held = a_map()
    held["metadata"]["finalizers"] = ["example.org/theirs"]
    kubectl.apply(held)
    until_says(kubectl, "map", "transaction", "state", "Pending")
    kubectl("delete", "map", "transaction", "--wait=false")
    until_says(kubectl, "map", "transaction", "state", "Terminating")
    kubectl("patch", "map", "transaction", "--type=merge", '--patch={"metadata": {"finalizers": null}}')
    kubectl.until(lambda: not kubectl.exists("map", "transaction"), SECONDS, "it is gone")


def test_a_snapshot_needs_a_job_that_runs(kubectl):
    kubectl.apply(snapshot())
    until_says(kubectl, "jetjobsnapshot", "snapshot-transaction", "message", "JetJob 'transaction-v1' not found")
    kubectl.apply(job())
    until_says(kubectl, "jetjob", "transaction-v1", "failureText", "not found")
    kubectl.apply(snapshot("second"))
    until_says(kubectl, "jetjobsnapshot", "second", "message", "'transaction-v1' is not submitted yet")
    assert kubectl.get("jetjobsnapshot", "second")["status"]["state"] == "Waiting"


def test_what_was_never_started_is_deleted_at_once(kubectl):
    kubectl.apply(job(), snapshot())
    until_says(kubectl, "jetjobsnapshot", "snapshot-transaction", "state", "Waiting")
    kubectl("delete", "jetjob,jetjobsnapshot", "--all", "--wait=true", "--timeout=20s")
    assert not kubectl.list("jetjob")


def test_jobs_go_with_their_cluster(kubectl):
    kubectl.apply(idle_cluster(), job(), a_map())
    until_says(kubectl, "jetjob", "transaction-v1", "failureText", "is not running")
    kubectl.until(lambda: kubectl.get("map", "transaction")["metadata"]["ownerReferences"], SECONDS, "the map has an owner")
    kubectl("delete", "hazelcast", "hazelcast")
    for kind in ("jetjob", "map"):
        kubectl.until(lambda kind=kind: not kubectl.list(kind), SECONDS, f"no {kind} is left")


def test_conditions_can_be_waited_for(kubectl):
    kubectl.apply(job())
    kubectl("wait", "--for=condition=Progressing", "jetjob/transaction-v1", f"--timeout={SECONDS}s")
    kubectl("wait", "--for=jsonpath={.status.phase}=Failed", "jetjob/transaction-v1", f"--timeout={SECONDS}s")


def apply_as(kubectl, manager, resource, *options):
    return kubectl("apply", "--server-side", f"--field-manager={manager}", "--filename=-", *options, send=json.dumps(resource))


def test_who_applies_server_side_keeps_what_is_theirs(kubectl):
    apply_as(kubectl, "team-a", job(state="Running"))
    until_says(kubectl, "jetjob", "transaction-v1", "failureText", "not found")
    found = json.loads(kubectl("get", "jetjob", "transaction-v1", "--show-managed-fields", "--output=json"))
    managers = {each["manager"] for each in found["metadata"]["managedFields"]}
    assert {"team-a", "pitstop-operator"} <= managers
    apply_as(kubectl, "team-a", job())  # what the operator has added stays, though they do not say it
    assert kubectl.get("jetjob", "transaction-v1")["metadata"]["finalizers"]


def test_who_wants_to_change_what_another_applies_is_told_whose_it_is(kubectl):
    apply_as(kubectl, "team-a", idle_cluster(clusterSize=0))
    with pytest.raises(ClientError, match=r'conflict with "team-a".*\.spec\.clusterSize') as refused:
        apply_as(kubectl, "team-b", cluster_of(clusterSize=1))
    assert refused.value.code == 1
    apply_as(kubectl, "team-b", cluster_of(clusterSize=1), "--force-conflicts")
    assert kubectl.get("hazelcast", "hazelcast")["spec"]["clusterSize"] == 1


def test_a_status_is_followed_as_it_changes(kubectl):
    watching = kubectl.start("get", "jetjobs", "--watch")
    try:
        kubectl.apply(job())
        lines = iter(watching.stdout.readline, "")
        assert next(lines).split() == ["NAME", "STATUS", "ID", "SUBMISSIONTIME", "COMPLETIONTIME"]
        assert next(line for line in lines if "Failed" in line).split() == ["transaction-v1", "Failed"]
    finally:
        watching.kill()
        watching.communicate()


def test_a_difference_is_shown_before_it_is_applied(kubectl):
    kubectl.apply(idle_cluster(clusterSize=0))
    until_says(kubectl, "hazelcast", "hazelcast", "phase", "Failed")
    with pytest.raises(ClientError) as different:
        kubectl("diff", "--filename=-", send=json.dumps(idle_cluster(clusterSize=1)))
    assert different.value.code == 1
    changed = [line for line in str(different.value).splitlines() if line.startswith(("+ ", "- "))]
    assert [line.split() for line in changed if "clusterSize" in line] == [["-", "clusterSize:", "0"], ["+", "clusterSize:", "1"]]
    kubectl("diff", "--filename=-", send=json.dumps(idle_cluster(clusterSize=0)))  # none: it ends with 0


def test_a_resource_is_edited_and_what_is_wrong_comes_back_to_the_editor(kubectl):
    kubectl.apply(idle_cluster(clusterSize=0))
    until_says(kubectl, "hazelcast", "hazelcast", "message", "Secret 'not-there' not found")
    edited_by(kubectl, "s/not-there/nowhere/")("edit", "hazelcast", "hazelcast")
    until_says(kubectl, "hazelcast", "hazelcast", "message", "Secret 'nowhere' not found")
    with pytest.raises(ClientError, match='"hazelcast" is invalid') as refused:
        edited_by(kubectl, "s/clusterSize: 0/clusterSize: -5/")("edit", "hazelcast", "hazelcast")
    copy = Path(re.search(r'stored to "(.+)"', str(refused.value))[1])
    assert "spec.clusterSize: Invalid value: -5" in " ".join(copy.read_text().replace("#", " ").split())
    copy.unlink()
    assert kubectl.get("hazelcast", "hazelcast")["spec"]["clusterSize"] == 0


def edited_by(kubectl, change):
    """kubectl whose editor makes that change, as sed has it, once."""
    return dataclasses.replace(kubectl, variables=dict(kubectl.variables) | {"KUBE_EDITOR": f"sed -i '{change}'"})


def holder(kubectl):
    return kubectl.within("default").get("lease", "pitstop-operator")["spec"]["holderIdentity"]


def test_another_operator_takes_over_from_one_that_dies(cluster, kubectl, running_operator, tmp_path):
    with operator(cluster, tmp_path, name="second") as second:
        kubectl.until(lambda: holder(kubectl) == "operator", SECONDS, "the first operator leads")
        running_operator.kill()
        kubectl.until(lambda: holder(kubectl) == "second", SECONDS, "the second operator takes over")
        kubectl.apply(job())
        until_says(kubectl, "jetjob", "transaction-v1", "failureText", "not found")
        running_operator.start()
        second.signal(signal.SIGTERM)  # it gives the lease back, so that nobody waits for it to expire
        kubectl.until(lambda: holder(kubectl) == "operator", SECONDS, "the first one leads again")


def test_resources_wait_for_an_operator_that_is_away(kubectl, running_operator):
    running_operator.kill()
    kubectl.apply(job())
    running_operator.start()
    until_says(kubectl, "jetjob", "transaction-v1", "failureText", "not found")
