"""The fleet's ingest on Kubernetes, updated by manifests, while everything under it fails: each ping is there once."""

import contextlib
import random
import time

import pytest

from tests.kubernetes.fleet import Fleet
from tests.kubernetes.interrupting_proxy import WRITES, is_watch, refusal
from tests.kubernetes.manifests import cluster_of, job, snapshot
from tests.kubernetes.operating import IMAGES, operator
from tests.kubernetes.rig.cluster import API_SERVER, ETCD
from tests.kubernetes.rig.node import Node
from tests.kubernetes.rig.processes import RigError
from tests.kubernetes.user import COMPILES_LONG, JOB_SECONDS, UP_SECONDS, UPLOADS, User

pytestmark = [pytest.mark.long, pytest.mark.timeout(2400)]

SEED = 15
AWAY_SECONDS = 60.0
REFUSED = 0.2
"""Of all requests but those for the lease: an operator that loses it ends, which is another fault."""


class Faults:
    """What may fail under a job: each returns once it is mended as far as anybody would mend it by hand."""

    def __init__(self, cluster, node, operating, namespace, fleet, folder):
        self.cluster, self.node, self.operating, self.namespace, self.fleet = cluster, node, operating, namespace, fleet
        self.folder = folder

    def all(self):
        """In an order that the seed decides."""
        found = [
            self.the_operator_dies,
            self.the_api_server_is_away,
            self.etcd_is_restarted,
            self.the_node_is_lost,
            self.a_member_dies,
            self.the_control_plane_dies,
            self.the_node_is_drained,
        ]
        random.Random(SEED).shuffle(found)
        return found

    def the_operator_dies(self):
        self.operating.kill()
        self.operating.start()

    def the_api_server_is_away(self):
        """The job does not notice."""
        part = self.cluster.processes[API_SERVER]
        part.kill()
        try:
            until, before = time.monotonic() + AWAY_SECONDS, len(self.fleet.ingested)
            self.cluster.kubectl.until(
                lambda: time.monotonic() > until and len(self.fleet.ingested) > before, 2 * AWAY_SECONDS, "pings are ingested"
            )
        finally:
            part.start()
        self.cluster.kubectl.until(lambda: self.cluster.kubectl.exists("namespace", "default"), AWAY_SECONDS, "it is back")
        try:
            self.operating.check()
        except RigError:
            self.operating.start()  # it ends once it has lost the lead, and its Deployment starts it again

    def etcd_is_restarted(self):
        self.cluster.restart(ETCD)

    def the_node_is_lost(self):
        self.node.process.kill()
        self.node.process.start()

    def a_member_dies(self):
        self.node.signal(self.namespace, "hazelcast-1", "hazelcast")

    def the_control_plane_dies(self):
        self.node.signal(self.namespace, "hazelcast-control-plane-0", "hazelcast")

    def the_node_is_drained(self):
        """The cluster moves to another node, where the job goes on, and back: its pods go by evictions, as its budget lets."""
        with Node.start(self.cluster, self.folder, "node-2", IMAGES) as other:
            for left, reached in ((self.node, other), (other, self.node)):
                self.drain(left.name)
                self.cluster.kubectl.until(lambda to=reached: self.homes() == {to.name}, UP_SECONDS, f"all are on {reached.name}")
                before = len(self.fleet.ingested)
                self.cluster.kubectl.until(
                    lambda count=before: len(self.fleet.ingested) > count, JOB_SECONDS, f"pings are ingested on {reached.name}"
                )
                self.cluster.kubectl("uncordon", left.name)

    def drain(self, name):
        ours = "--pod-selector=app.kubernetes.io/instance=hazelcast"
        limit = f"--timeout={UP_SECONDS:.0f}s"
        self.cluster.kubectl("drain", name, ours, "--delete-emptydir-data", limit, seconds=UP_SECONDS + 10)

    def homes(self):
        """The nodes of the pods that are ready; None among them for others."""
        pods = self.cluster.kubectl.within(self.namespace).list("pods", "app.kubernetes.io/instance=hazelcast")
        conditions = [{each["type"]: each["status"] for each in pod["status"].get("conditions", [])} for pod in pods]
        return {
            pod["spec"].get("nodeName") if known.get("Ready") == "True" else None
            for pod, known in zip(pods, conditions, strict=True)
        }


@contextlib.contextmanager
def the_api_server_refuses(proxy):
    """409 Conflict and 429 Too Many Requests to the operator, until this is left; yields how often each was told."""
    chance, told = random.Random(SEED), {409: 0, 429: 0}

    def answer(request):
        if is_watch(request) or "leases" in request.url.path:
            return None
        # The first two writes are refused in any case: an operator that writes little would else meet only one of the refusals.
        is_write = request.method in WRITES
        if not (is_write and min(told.values()) == 0) and chance.random() > REFUSED:
            return None
        conflict = is_write and told[409] <= told[429]
        told[409 if conflict else 429] += 1
        return refusal(409, "Conflict") if conflict else refusal(429, "TooManyRequests")

    proxy.answer_itself = answer
    try:
        yield told
    finally:
        proxy.answer_itself = lambda _: None


def children(kubectl):
    """What the cluster has made, by kind and name."""
    kinds = "statefulset,service,persistentvolumeclaim,networkpolicy,poddisruptionbudget,secret,pod"
    return sorted(kubectl("get", kinds, "--output=name").split())


def test_no_ping_is_missed_or_doubled_whatever_fails(cluster, node, proxy, kubectl, tmp_path, tmp_path_factory):
    user = User(kubectl, tmp_path)
    options = (f"--files-from={tmp_path}", f"--namespace={kubectl.namespace}", f"--lease-namespace={kubectl.namespace}")
    with Fleet(tmp_path) as fleet, operator(proxy, tmp_path / "operator", *options) as operating:

        def ingest(name, file, **more):
            bucket = {"bucketURI": f"file://{fleet.bucket}"}
            code = {"jarName": file, "mainClass": f"{file[:-3]}:ingest", "bucketConfig": bucket}
            return job(name, name=name, options=COMPILES_LONG, **code, **more)

        def until_more_come(why):
            before = len(fleet.ingested)
            kubectl.until(lambda: len(fleet.ingested) > before, JOB_SECONDS, f"more pings are ingested {why}")

        kubectl.apply(cluster_of(clusterSize=2, jet=UPLOADS))
        user.until("hazelcast", "hazelcast", "Running", UP_SECONDS)
        kubectl.apply(ingest("ingest", "ingest.py", arguments=fleet.arguments))
        user.until("jetjob", "ingest", "Running", JOB_SECONDS)
        until_more_come("at first")
        made = children(kubectl)

        faults = Faults(cluster, node, operating, kubectl.namespace, fleet, tmp_path_factory.mktemp("node-2"))
        half = len(faults.all()) // 2
        for fault in faults.all()[:half]:
            fault()
            until_more_come(f"though {fault.__name__}")

        user.until("jetjob", "ingest", "Running", JOB_SECONDS)
        with the_api_server_refuses(proxy) as told:
            kubectl("delete", "service", "hazelcast-pods")
            kubectl.apply(snapshot("before", jetJobResourceName="ingest", cancelJob=True))
            user.until("jetjobsnapshot", "before", "Exported", JOB_SECONDS)
            kubectl.apply(ingest("ingest-2", "ingest_v2.py", arguments=fleet.arguments, initialSnapshotResourceName="before"))
            user.until("jetjob", "ingest-2", "Running", JOB_SECONDS)
            until_more_come("by the next version")
            kubectl.until(lambda: kubectl.exists("service", "hazelcast-pods"), JOB_SECONDS, "the service is there again")
        assert min(told.values()) > 0

        for fault in faults.all()[half:]:
            fault()
            until_more_come(f"though {fault.__name__}")

        fleet.stand_still()
        kubectl.until(lambda: len(fleet.ingested) >= len(fleet.emitted), JOB_SECONDS, "all pings are ingested")
        assert fleet.verdict.clean, fleet.verdict
        assert fleet.verdict.emitted > 1000
        user.until("jetjob", "ingest-2", "Running", JOB_SECONDS)
        user.until("jetjob", "ingest", "ExecutionFailed")
        user.until("hazelcast", "hazelcast", "Running", UP_SECONDS)
        assert children(kubectl) == made
        operating.check()
        kubectl("delete", "hazelcast", "hazelcast", "--wait=true", seconds=120)
