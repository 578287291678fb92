"""The rights that the chart gives the operator: it needs each of them, and no other, by what the API server has been asked."""

import http.server
import json
import threading

import pytest

from tests.kubernetes.conftest import DEFINITIONS
from tests.kubernetes.manifests import a_map, cluster_of, job, snapshot
from tests.kubernetes.objects import container, pod_spec
from tests.kubernetes.operating import IMAGES, JAR, ROOT, make_jar
from tests.kubernetes.rig.cluster import API_SERVER, Cluster
from tests.kubernetes.rig.node import Node
from tests.kubernetes.user import JOB_SECONDS, User

pytestmark = [pytest.mark.long, pytest.mark.timeout(1500)]

CHART = ROOT / "deploy" / "helm" / "pitstop"
ACCOUNT = "system:serviceaccount:pitstop:pitstop-operator"
POLICY = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [{"level": "Metadata", "users": [ACCOUNT]}],
}
CREATED = 201
SECONDS = 240
OWNED = ("maps", "jetjobs", "jetjobsnapshots")
NEVER_ASKED_FOR = {("hazelcast.com", kind, "delete") for kind in OWNED}
"""Some API servers want it of who lets these go with their cluster (OwnerReferencesPermissionEnforcement, which is on here)."""
EARLIER = "00000000-0000-4000-8000-000000000000"


class Audit:
    """What the operator has asked the API server."""

    def __init__(self, file):
        self._file = file

    @property
    def _lines(self):
        return [json.loads(line) for line in self._file.read_text().splitlines() if line.endswith("}")]

    @property
    def _of_objects(self):
        return [each for each in self._lines if "objectRef" in each]

    @property
    def used(self):
        """(group, kind, verb) of all requests; what was made by a patch was a creation, too."""
        found = set()
        for each in self._of_objects:
            reference = each["objectRef"]
            kind = "/".join(reference[key] for key in ("resource", "subresource") if key in reference)
            verbs = [each["verb"]] + ["create"] * (each["verb"] == "patch" and each["responseStatus"]["code"] == CREATED)
            found |= {(reference.get("apiGroup", ""), kind, verb) for verb in verbs}
        return found

    @property
    def forbidden(self):
        return [each for each in self._of_objects if each["annotations"]["authorization.k8s.io/decision"] != "allow"]


def granted(kubectl):
    """(group, kind, verb) of all rights of the roles that the chart has made."""
    labelled = "app.kubernetes.io/instance=pitstop"
    roles = [*kubectl.list("clusterrole", labelled), *kubectl.within("pitstop").list("role", labelled)]
    return {
        (group, kind, verb)
        for role in roles
        for rule in role["rules"]
        for group in rule["apiGroups"]
        for kind in rule["resources"]
        for verb in rule["verbs"]
    }


@pytest.fixture(scope="module")
def audited(tools, tmp_path_factory):
    """(A cluster with the chart installed, what its operator has asked)"""
    folder = tmp_path_factory.mktemp("rights")
    (folder / "policy").write_text(json.dumps(POLICY))
    flags = [
        f"--audit-policy-file={folder / 'policy'}",
        f"--audit-log-path={folder / 'audit'}",
        "--enable-admission-plugins=OwnerReferencesPermissionEnforcement",
    ]
    with (
        Cluster.start(folder / "cluster", tools, DEFINITIONS, {API_SERVER: flags}) as cluster,
        Node.start(cluster, folder / "node-1", images=IMAGES),
    ):
        small = ("--set=replicas=1", "--set=clusters.spares=0", "--set=crds.install=false")
        command = ("install", "pitstop", str(CHART), "--namespace=pitstop", "--create-namespace", *small)
        cluster.helm(*command, "--wait", f"--timeout={SECONDS}s", seconds=SECONDS + 10)
        yield cluster, Audit(folder / "audit")


@pytest.fixture
def url(audited, tmp_path):
    """Of the code of the tutorial's jobs."""
    make_jar(tmp_path)
    host = audited[0].net.control_plane  # 127.0.0.1 is each pod's own

    class Files(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *arguments):
            super().__init__(*arguments, directory=tmp_path)

        def log_message(self, *_):
            """Nobody reads it."""

    server = http.server.ThreadingHTTPServer((host, 0), Files)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://{host}:{server.server_port}/{JAR}"
    server.shutdown()


def left_of_an_earlier_cluster(name):
    """One of each kind of which clusters are made, that somebody holds."""
    labels = {"app": name}
    port = {"name": "http", "port": 1}
    workload = {
        "serviceName": name,
        "replicas": 0,
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": pod_spec(container("true"))},
    }
    volume = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    return [
        left("v1", "PersistentVolumeClaim", name, f"{name}-data", spec=volume),
        left("v1", "Service", name, name, spec={"ports": [port]}),
        left("networking.k8s.io/v1", "NetworkPolicy", name, name, spec={"podSelector": {}}),
        left("policy/v1", "PodDisruptionBudget", name, name, spec={"selector": {"matchLabels": labels}}),
        left("v1", "ConfigMap", name, f"{name}-spark", data={}),
        left("apps/v1", "StatefulSet", name, name, spec=workload),
    ]


def left(version, kind, cluster, name, **what):
    owner = {"apiVersion": "hazelcast.com/v1alpha1", "kind": "Hazelcast", "name": cluster, "uid": EARLIER}
    metadata = {
        "name": name,
        "labels": {"app.kubernetes.io/managed-by": "pitstop-operator"},
        "ownerReferences": [owner],
        "finalizers": ["example.org/theirs"],
    }
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **what}


def test_the_operator_needs_each_of_its_rights(audited):
    """No pod of a cluster runs for it: what is asked of a cluster's own server is no right of Kubernetes."""
    cluster, audit = audited
    kubectl, nodes = cluster.kubectl.within("default"), [each["metadata"]["name"] for each in cluster.kubectl.list("node")]
    user = User(kubectl, None)
    cluster.kubectl("cordon", *nodes)
    kubectl.apply(cluster_of(clusterSize=1), a_map(), job("j"), snapshot("of-nothing", jetJobResourceName="nobody"))
    user.until("jetjobsnapshot", "of-nothing", "Waiting", SECONDS)
    kubectl.apply(*(snapshot(each, name="same", jetJobResourceName="j") for each in ("first", "second")))
    kubectl.until(lambda: "Failed" in [user.phase("jjs", each) for each in ("first", "second")], SECONDS, "one of them fails")

    lefts = left_of_an_earlier_cluster("again")
    kubectl.apply(*lefts)
    spark = {"master": "k8s", "serviceAccountName": "default"}
    kubectl.apply(cluster_of("again", clusterSize=0, spark=spark))
    for each in lefts:
        kind, name = each["kind"], each["metadata"]["name"]
        text = f"{kind} '{name}' of an earlier cluster of this name is being removed"
        kubectl.until(lambda said=text: user.status("hazelcast", "again")["message"] == said, SECONDS, text)
        kubectl("patch", kind, name, "--type=merge", '--patch={"metadata": {"finalizers": null}}')
    kubectl.until(lambda: kubectl.exists("statefulset", "again-control-plane"), SECONDS, "the new cluster is made")

    kubectl("delete", "hazelcast,jetjobsnapshot", "--all", "--wait=true", seconds=SECONDS)
    kubectl.until(lambda: not kubectl.list("jetjob,map,statefulset"), SECONDS, "all of it is gone")
    cluster.kubectl("uncordon", *nodes)
    assert not audit.forbidden
    assert granted(kubectl) - audit.used == NEVER_ASKED_FOR


def test_the_rights_are_enough_for_a_job_that_runs(audited, url, tmp_path):
    cluster, audit = audited
    kubectl = cluster.kubectl.within("default")
    user = User(kubectl, tmp_path)
    user.start_cluster()
    user.submit("transaction-v1", remoteURL=url, bucketConfig=None)
    kubectl.apply(snapshot(cancelJob=True))
    user.until("jetjobsnapshot", "snapshot-transaction", "Exported", JOB_SECONDS)
    kubectl("delete", "jetjobsnapshot", "snapshot-transaction", "--wait=true", seconds=SECONDS)
    kubectl("delete", "jetjob", "transaction-v1", "--wait=true", seconds=SECONDS)
    kubectl("delete", "hazelcast", "hazelcast", "--wait=true", seconds=SECONDS)
    assert not audit.forbidden
    assert audit.used <= granted(kubectl)
