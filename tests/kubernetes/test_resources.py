"""Every rule for resources that Kubernetes itself enforces (deploy/kubernetes/crds.yaml), in its words, through kubectl."""

import json

import pytest

from tests.kubernetes.manifests import a_map, cluster_of, job, made, snapshot
from tests.kubernetes.rig.clients import ClientError


def refusal(kubectl, *objects):
    with pytest.raises(ClientError) as refused:
        kubectl.apply(*objects)
    return str(refused.value)


def say(kubectl, kind, name, **status):
    """What an operator would write into the status."""
    kubectl("patch", kind, name, "--subresource=status", "--type=merge", f"--patch={json.dumps({'status': status})}")


def printed(kubectl, *arguments):
    return [line.split() for line in kubectl("get", *arguments).splitlines()]


def test_what_is_left_out_of_a_cluster_is_filled_in(kubectl):
    kubectl.apply(cluster_of())
    assert kubectl.get("hz", "hazelcast")["spec"] == {
        "clusterSize": 3,
        "jet": {
            "enabled": True,
            "resourceUploadEnabled": False,
            "instance": {"losslessRestartEnabled": False, "scaleUpDelayMillis": 10000},
        },
    }


def test_a_cluster_shows_its_status_and_members_and_is_scaled(kubectl):
    kubectl.apply(cluster_of())
    say(kubectl, "hz", "hazelcast", phase="Running", hazelcastClusterStatus={"readyMembers": "3/3"}, members=3)
    assert printed(kubectl, "hazelcast", "hazelcast") == [["NAME", "STATUS", "MEMBERS"], ["hazelcast", "Running", "3/3"]]
    kubectl("scale", "hazelcast", "hazelcast", "--replicas=5", "--current-replicas=3")
    assert kubectl.get("hz", "hazelcast")["spec"]["clusterSize"] == 5


def test_the_form_of_pods_is_taken_as_it_was_written(kubectl):
    pods = {
        "scheduling": {
            "nodeSelector": {"disk": "ssd"},
            "tolerations": [{"key": "dedicated", "operator": "Exists", "tolerationSeconds": 60}],
            "affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": []}},
            "topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}],
        },
        "controlPlane": {
            "resources": {"requests": {"cpu": 2, "memory": "4Gi"}},
            "scheduling": {"nodeSelector": {"disk": "nvme"}},
        },
        "labels": {"team": "fleet"},
        "annotations": {"example.org/scrape": "yes"},
        "env": [{"name": "TZ", "value": "UTC"}, {"name": "KEY", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}],
        "serviceAccountName": "reader",
        "tls": {"secretName": "certificate"},
        "executorServices": [{"name": "e", "poolSize": 2}],
    }
    kubectl.apply(cluster_of(**pods))
    spec = kubectl.get("hz", "hazelcast")["spec"]
    assert {name: spec.get(name) for name in pods} == pods


def test_a_lossless_restart_needs_a_place_to_keep_things(kubectl):
    lossless = {"instance": {"losslessRestartEnabled": True}}
    assert "losslessRestartEnabled needs spec.persistence.baseDir" in refusal(kubectl, cluster_of(jet=lossless))
    kubectl.apply(cluster_of(jet=lossless, persistence={"baseDir": "/data"}))


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        (cluster_of(clusterSize=-1), "spec.clusterSize: Invalid value: -1"),
        (made("Map", "m"), 'missing required field "hazelcastResourceName"'),
        (a_map(hazelcastResourceName=""), "spec.hazelcastResourceName: Invalid value"),
        (made("JetJob", "j", jarName="a.py"), 'missing required field "hazelcastResourceName"'),
        (made("JetJob", "j", hazelcastResourceName="hazelcast"), 'missing required field "jarName"'),
        (job(jarName=""), "spec.jarName: Invalid value"),
        (job(state="Stopped"), 'spec.state: Unsupported value: "Stopped"'),
        (job(bucketConfig={"bucketURI": "ftp://x"}), "spec.bucketConfig.bucketURI: Invalid value"),
        (job(remoteURL="http://h/a.py", bucketConfig={"bucketURI": "s3://b"}), "give bucketConfig or remoteURL, not both"),
        (cluster_of(spark={"master": "k8s"}), "master k8s needs serviceAccountName"),
        (
            cluster_of(spark={"master": "k8s", "serviceAccountName": "spark", "drivers": "members"}),
            "master k8s has no members that could run drivers",
        ),
        (made("JetJobSnapshot", "s"), 'missing required field "jetJobResourceName"'),
        (snapshot(jetJobResourceName=""), "spec.jetJobResourceName: Invalid value"),
        (a_map(eventJournal={"capacity": 0}), "spec.eventJournal.capacity: Invalid value: 0"),
        (a_map(name="a/b"), 'spec.name: Invalid value: "a/b"'),
        (job(name="ends with a dot."), "spec.name: Invalid value"),
        (snapshot(name="../up"), "spec.name: Invalid value"),
        (job(name="0401-9f77-b9c0-0001"), "is the id of a job, or may become it, and cannot be its name: give spec.name"),
        (job("0401-9f77-b9c0-0001"), "is the id of a job, or may become it, and cannot be its name: give spec.name"),
        (a_map("m" * 201), "is longer than a name may be: give spec.name, 200 characters at most"),
        (snapshot("s" * 201), "is longer than a name may be: give spec.name, 200 characters at most"),
    ],
)
def test_what_is_wrong_at_first_sight_is_refused(kubectl, wrong, sentence):
    assert sentence in refusal(kubectl, wrong)


def test_names_are_those_that_a_cluster_takes(kubectl):
    kubectl.apply(a_map("m1", name="Über 1"), snapshot("s1", name="日本"), job("0401-9f77-b9c0-0001", name="a.b_c-d"))
    kubectl.apply(a_map("0401-9f77-b9c0-0001"), job("j" * 201, name="short"))


@pytest.mark.parametrize(
    ("first", "then", "field"),
    [
        (a_map(), a_map(name="other"), "spec.name"),
        (a_map(), a_map(hazelcastResourceName="other"), "spec.hazelcastResourceName"),
        (a_map(eventJournal={"capacity": 9000}), a_map(eventJournal={"capacity": 10}), "spec.eventJournal"),
        (job(), job(name="other"), "spec.name"),
        (job(), job(hazelcastResourceName="other"), "spec.hazelcastResourceName"),
        (job(), job(jarName="other.zip"), "spec.jarName"),
        (job(mainClass="a.b"), job(mainClass="a.c"), "spec.mainClass"),
        (job(arguments=["a"]), job(arguments=["a", "b"]), "spec.arguments"),
        (job(options={"auto_scaling": "false"}), job(options={}), "spec.options"),
        (job(), job(initialSnapshotResourceName="s"), "spec.initialSnapshotResourceName"),
        (job(), job(allowDrop=["speed"]), "spec.allowDrop"),
        (job(), job(allowShared=True), "spec.allowShared"),
        (job(), job(bucketConfig={"bucketURI": "s3://b"}), "spec.bucketConfig"),
    ],
)
def test_what_must_not_change_does_not(kubectl, first, then, field):
    kubectl.apply(first)
    assert f"{field}: Forbidden: field cannot be updated" in refusal(kubectl, then)


def test_a_job_is_running_when_it_is_created(kubectl):
    assert "spec.state: Invalid value: should be set to Running on creation" in refusal(kubectl, job(state="Suspended"))
    kubectl.apply(job(state="Running"))


def test_a_job_that_does_not_run_can_only_be_told_to_run(kubectl):
    kubectl.apply(job())
    assert "spec.state: Forbidden: can be set only for JetJob with Running status" in refusal(kubectl, job(state="Suspended"))
    say(kubectl, "jj", "transaction-v1", phase="Running")
    kubectl.apply(job(state="Suspended"))
    say(kubectl, "jj", "transaction-v1", phase="Suspended")
    assert "can be set only for JetJob with Running status" in refusal(kubectl, job(state="Restarted"))
    kubectl.apply(job(state="Running"))
    say(kubectl, "jj", "transaction-v1", phase="Suspended")
    kubectl.apply(job(state="Canceled"))


def test_the_place_of_code_is_replaced_and_put_back_but_not_removed(kubectl):
    bucket, url = {"bucketConfig": {"bucketURI": "s3://b"}}, {"remoteURL": "http://127.0.0.1/jobs.zip"}
    kubectl.apply(job(**bucket))
    assert "can be changed, or replaced by remoteURL, and not be removed" in refusal(kubectl, job())
    kubectl.apply(job(**url))
    kubectl.apply(job(**bucket))


@pytest.mark.parametrize("phase", ["ExecutionFailed", "Completed", "Completing"])
def test_the_state_of_a_finished_job_stays(kubectl, phase):
    kubectl.apply(job())
    say(kubectl, "jj", "transaction-v1", phase=phase)
    sentence = "spec.state: Forbidden: job execution is finished or being finished, state change is not allowed"
    assert sentence in refusal(kubectl, job(state="Canceled"))


def test_a_job_shows_the_columns_of_the_tutorial(kubectl):
    kubectl.apply(job())
    times = {"submissionTime": "2023-08-09T12:22:04Z", "completionTime": "2023-08-09T13:07:51Z"}
    say(kubectl, "jj", "transaction-v1", phase="ExecutionFailed", id=741632319877545985, **times)
    head = ["NAME", "STATUS", "ID", "SUBMISSIONTIME", "COMPLETIONTIME"]
    line = ["transaction-v1", "ExecutionFailed", "741632319877545985", *times.values()]
    assert printed(kubectl, "jetjob", "transaction-v1") == [head, line]
    assert printed(kubectl, "jj", "-o", "wide")[1] == [*line, "hazelcast"]
    kubectl("wait", "jj/transaction-v1", "--for=jsonpath={.status.phase}=ExecutionFailed", "--timeout=5s")


def test_a_snapshot_stays_as_it_is_once_its_export_has_begun(kubectl):
    kubectl.apply(snapshot())
    kubectl.apply(snapshot(cancelJob=True))
    say(kubectl, "jjs", "snapshot-transaction", state="Exporting")
    assert "spec: Forbidden: field cannot be updated" in refusal(kubectl, snapshot(cancelJob=False))
    say(kubectl, "jjs", "snapshot-transaction", state="Exported", creationTime="2023-08-09T13:07:51Z")
    shown = [["NAME", "STATE", "CREATIONTIME"], ["snapshot-transaction", "Exported", "2023-08-09T13:07:51Z"]]
    assert printed(kubectl, "jetjobsnapshot", "snapshot-transaction") == shown


def test_what_a_field_means_is_explained(kubectl):
    text = kubectl("explain", "jetjob.spec.initialSnapshotResourceName")
    assert "The JetJobSnapshot from whose state it starts" in " ".join(text.split())
    assert "What maxSize counts" in kubectl("explain", "map.spec.eviction.maxSizePolicy")
    for field in ("apiVersion", "kind", "metadata"):
        assert "<empty>" not in kubectl("explain", f"map.{field}")
    assert "1.35" in kubectl("version")
