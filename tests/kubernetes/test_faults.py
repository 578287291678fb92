"""Faults that users met by hand, each through kubectl again. No pod has to run for it."""

import json

import pytest
import yaml

from tests.kubernetes.manifests import cluster_of, job, made, snapshot
from tests.kubernetes.operating import operator
from tests.kubernetes.rig.clients import ClientError
from tests.kubernetes.user import User

SECONDS = 30
MANY = 200
MANY_SECONDS = 120
BUCKET = {"bucketURI": "s3://jobs"}

OF_HAZELCAST = """
apiVersion: hazelcast.com/v1alpha1
kind: Hazelcast
metadata:
  name: hazelcast
spec:
  clusterName: dev
  clusterSize: 3
  repository: docker.io/hazelcast/hazelcast-enterprise
  version: 5.5.0
  imagePullPolicy: IfNotPresent
  licenseKeySecretName: not-there
  resources:
    requests: {cpu: 500m, memory: 256Mi}
    limits: {memory: 512Mi}
  exposeExternally:
    type: Smart
    discoveryServiceType: LoadBalancer
    memberAccess: NodePortExternalIP
  persistence:
    baseDir: /data/hot-restart
    clusterDataRecoveryPolicy: FullRecoveryOnly
    pvc:
      accessModes: [ReadWriteOnce]
      requestStorage: 8Gi
  jet:
    enabled: true
    resourceUploadEnabled: true
    instance:
      backupCount: 2
      losslessRestartEnabled: false
      scaleUpDelayMillis: 10000
---
apiVersion: hazelcast.com/v1alpha1
kind: Map
metadata:
  name: transaction
spec:
  hazelcastResourceName: hazelcast
  backupCount: 1
  asyncBackupCount: 1
  inMemoryFormat: BINARY
  indexes:
    - type: HASH
      attributes: [user]
      name: users
  nearCache: {name: near, inMemoryFormat: BINARY}
  entryListeners:
    - className: org.example.Listener
      includeValues: true
"""


@pytest.fixture(scope="module", autouse=True)
def running_operator(cluster, tmp_path_factory):
    with operator(cluster, tmp_path_factory.mktemp("operator")) as process:
        yield process


@pytest.fixture
def user(kubectl, tmp_path):
    return User(kubectl, tmp_path)


def idle_cluster(**spec):
    """One that waits for a Secret, and so starts nothing."""
    return cluster_of(**{"licenseKeySecretName": "not-there"} | spec)


def until_failed(user, name="transaction-v1"):
    user.until("jetjob", name, "Failed", SECONDS)


def owners_of_finalizers(kubectl, kind, name):
    """Who has set finalizers of an object, by the API server's own account."""
    text = kubectl("get", kind, name, "--show-managed-fields", "--output=json")
    return {each["manager"] for each in json.loads(text)["metadata"]["managedFields"] if "f:finalizers" in json.dumps(each)}


def restored_from_a_backup(user):
    """A job and its snapshot: looked after, read, removed, and created again as they were read."""
    user.kubectl.apply(job(), snapshot())
    until_failed(user)
    user.until("jetjobsnapshot", "snapshot-transaction", "Waiting", SECONDS)
    backup = user.kubectl("get", "jetjob,jetjobsnapshot", "--output=yaml")
    user.kubectl("delete", "jetjob,jetjobsnapshot", "--all", "--wait=true", "--timeout=20s")
    user.kubectl("create", "--filename=-", send=backup)
    for kind, name in (("jetjob", "transaction-v1"), ("jetjobsnapshot", "snapshot-transaction")):
        assert "kubectl-create" in owners_of_finalizers(user.kubectl, kind, name)


def test_resources_that_are_restored_from_a_backup_can_be_deleted(user):
    restored_from_a_backup(user)
    until_failed(user)
    user.kubectl("delete", "jetjob,jetjobsnapshot", "--all", "--wait=true", "--timeout=20s")
    assert not user.kubectl.list("jetjob,jetjobsnapshot")


def test_a_namespace_with_resources_from_a_backup_can_be_deleted(cluster, user):
    restored_from_a_backup(user)
    cluster.kubectl("delete", "namespace", user.kubectl.namespace, "--wait=true", "--timeout=60s", seconds=90)
    assert not cluster.kubectl.exists("namespace", user.kubectl.namespace)
    cluster.kubectl("create", "namespace", user.kubectl.namespace)  # for whoever removes it at the end


def ignored(kubectl, kind, name):
    """The fields that a condition says are ignored."""
    conditions = {each["type"]: each for each in kubectl.get(kind, name)["status"]["conditions"]}
    assert conditions["FieldsIgnored"]["status"] == "True"
    return set(conditions["FieldsIgnored"]["message"].removeprefix("they change nothing here: ").split(", "))


def test_manifests_for_hazelcasts_own_operator_apply_and_a_condition_names_what_is_ignored(user):
    kubectl = user.kubectl
    kubectl("apply", "--validate=strict", "--filename=-", send=OF_HAZELCAST)
    user.until("hazelcast", "hazelcast", "Failed", SECONDS)
    kubectl("wait", "--for=condition=FieldsIgnored", "hazelcast/hazelcast", "map/transaction", f"--timeout={SECONDS}s")
    assert ignored(kubectl, "hazelcast", "hazelcast") == {
        "spec.clusterName",
        "spec.repository",
        "spec.version",
        "spec.exposeExternally.type",
        "spec.exposeExternally.memberAccess",
        "spec.persistence.clusterDataRecoveryPolicy",
        "spec.jet.instance.backupCount",
    }
    assert ignored(kubectl, "map", "transaction") == {
        f"spec.{name}" for name in ("backupCount", "asyncBackupCount", "inMemoryFormat", "indexes", "nearCache", "entryListeners")
    }
    for written in yaml.safe_load_all(OF_HAZELCAST):
        stored = kubectl.get(written["kind"], written["metadata"]["name"])["spec"]
        assert {name: stored.get(name) for name in written["spec"]} == written["spec"]


@pytest.mark.parametrize("name", ["1cluster", "my.cluster", "c" * 60, "c" * 39])
def test_a_cluster_whose_objects_cannot_be_named_after_it_is_refused(kubectl, name):
    with pytest.raises(ClientError, match="is no name of a cluster: its Service and pods need a letter first") as refused:
        kubectl.apply(idle_cluster_called(name))
    assert "38 in all at most" in str(refused.value)
    assert not kubectl.exists("hazelcast", name)


def idle_cluster_called(name):
    return made("Hazelcast", name, licenseKeySecretName="not-there")


def test_the_longest_name_of_a_cluster_is_taken_for_all_of_its_objects(user):
    name = "c" * 38
    user.kubectl.apply(made("Hazelcast", name, clusterSize=0, repository="nowhere"))
    user.until("hazelcast", name, "Pending", SECONDS)
    statefulsets = {each["metadata"]["name"] for each in user.kubectl.list("statefulset")}
    assert statefulsets == {name, f"{name}-control-plane"}
    user.kubectl.until(lambda: user.kubectl.list("pod") != [], SECONDS, "its pod is created, with all labels")
    assert [each["metadata"]["name"] for each in user.kubectl.list("pod")] == [f"{name}-control-plane-0"]


def test_a_horizontal_pod_autoscaler_finds_the_pods_of_a_cluster(user):
    kubectl = user.kubectl
    kubectl.apply(idle_cluster(clusterSize=1))
    user.until("hazelcast", "hazelcast", "Failed", SECONDS)
    path = f"/apis/hazelcast.com/v1alpha1/namespaces/{kubectl.namespace}/hazelcasts/hazelcast/scale"
    scale = json.loads(kubectl("get", f"--raw={path}"))
    labels = "app.kubernetes.io/name=hazelcast,app.kubernetes.io/instance=hazelcast,app.kubernetes.io/component=member"
    assert (scale["spec"]["replicas"], scale["status"]["selector"]) == (1, labels)
    kubectl("autoscale", "hazelcast", "hazelcast", "--min=1", "--max=3", "--cpu=80%")

    def condition():
        conditions = kubectl.get("hpa", "hazelcast")["status"]["conditions"]
        return {each["type"]: each["reason"] for each in conditions}["ScalingActive"]

    kubectl.until(lambda: condition() is not None, 60, "the autoscaler has looked")
    assert condition() == "FailedGetResourceMetric"  # nothing here measures pods; it knows which pods they are


def test_the_bucket_of_a_job_is_put_back(user):
    kubectl = user.kubectl
    kubectl.apply(job(bucketConfig=BUCKET))
    until_failed(user)
    with pytest.raises(ClientError, match="can be changed, or replaced by remoteURL, and not be removed"):
        kubectl.apply(job())
    kubectl.apply(job(remoteURL="http://127.0.0.1/jobs.zip"))
    kubectl.apply(job(bucketConfig=BUCKET))
    generation = kubectl.get("jetjob", "transaction-v1")["metadata"]["generation"]
    kubectl.until(
        lambda: user.status("jetjob", "transaction-v1")["observedGeneration"] == generation, SECONDS, "the change is seen"
    )
    assert user.status("jetjob", "transaction-v1")["observedSource"] == "s3://jobs"


def test_two_hundred_jobs_that_are_applied_at_once_all_get_a_status_and_all_go(user):
    kubectl = user.kubectl
    kubectl.apply(idle_cluster(), *(job(f"job-{number}") for number in range(MANY)))

    def texts():
        return [each.get("status", {}).get("failureText") for each in kubectl.list("jetjob")]

    kubectl.until(lambda: texts() == ["Hazelcast 'hazelcast' is not running"] * MANY, MANY_SECONDS, "each job has its status")
    kubectl("delete", "hazelcast", "hazelcast")
    kubectl.until(lambda: kubectl.list("jetjob") == [], MANY_SECONDS, "they go with their cluster")
