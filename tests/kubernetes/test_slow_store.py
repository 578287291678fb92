"""The store of the API server (etcd) stands still for half of the time: no status says anything false, and nothing is lost."""

import signal
import threading
import time

import pytest

from pitstop.operator.kinds import HAZELCAST, JET_JOB
from tests.kubernetes.manifests import cluster_of, job
from tests.kubernetes.operating import operator
from tests.kubernetes.phases import Phases
from tests.kubernetes.rig.cluster import ETCD
from tests.kubernetes.user import User

pytestmark = [pytest.mark.long, pytest.mark.timeout(2400)]

STILL_SECONDS, MOVING_SECONDS = 2.0, 2.0
FAULT_SECONDS = 120.0
SLOW_SECONDS = 180.0
"""The time within which a thing happens that takes a second with a store that answers at once, on a busy machine."""
COMING = {"Ready": "False", "Progressing": "True", "Degraded": "False", "Stalled": "False"}
AT_ONCE, PARTS = 20, 8
BUDGET, FIRST = ("poddisruptionbudget", "hazelcast"), "jetjob.hazelcast.com/first"
NOT_FOUND = "Hazelcast 'nowhere' not found"


class StandingStill:
    """A part of the control plane that stands still for ``STILL_SECONDS``, moves for ``MOVING_SECONDS``, and so on.

    ``times``: how often it has stood still.
    """

    def __init__(self, part):
        self._part, self._over = part, threading.Event()
        self._thread = threading.Thread(target=self._repeat, daemon=True)
        self.times, self._began = 0, 0.0

    def __enter__(self):
        self._began = time.monotonic()
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._over.set()
        self._thread.join()

    @property
    def seconds(self):
        """Since when."""
        return time.monotonic() - self._began

    def _repeat(self):
        while not self._over.is_set():
            self._part.signal(signal.SIGSTOP)
            self.times += 1
            try:
                self._over.wait(STILL_SECONDS)
            finally:
                self._part.signal(signal.SIGCONT)
            self._over.wait(MOVING_SECONDS)


def insist(user, what, *arguments, **options):
    """Call something until the API server does it: a request may meet its limit of time."""

    def does():
        what(*arguments, **options)
        return True

    user.kubectl.until(does, SLOW_SECONDS, f"{what} {arguments}")


def conditions_of(status):
    return {each["type"]: each["status"] for each in status["conditions"]}


def lease(user):
    spec = user.kubectl.get("lease", "pitstop-operator")["spec"]
    return spec["holderIdentity"], spec["leaseTransitions"]


def warnings(user):
    """Name of the resource, and reason, of each event that warns about one of ours."""
    kinds = ("Hazelcast", "Map", "JetJob", "JetJobSnapshot")
    events = [each for each in user.kubectl.list("event") if each["involvedObject"]["kind"] in kinds]
    return sorted({(each["involvedObject"]["name"], each["reason"]) for each in events if each["type"] == "Warning"})


def children(kubectl):
    """What the operator has made, by kind and name."""
    kinds = "statefulset,service,persistentvolumeclaim,networkpolicy,poddisruptionbudget,secret"
    return sorted(kubectl("get", kinds, "--selector=app.kubernetes.io/instance=hazelcast", "--output=name").split())


def come_and_go(user, number):
    """Make JetJobs and a cluster, look at their statuses, remove them; return (the names of the jobs, the cluster's parts)."""
    kubectl, names = user.kubectl, [f"astray-{number}-{each}" for each in range(AT_ONCE)]
    insist(user, kubectl.apply, cluster_of(clusterSize=1), *(job(name, hazelcastResourceName="nowhere") for name in names))
    for name in names:
        user.until("jetjob", name, "Failed", SLOW_SECONDS)
    user.until("hazelcast", "hazelcast", "Pending", SLOW_SECONDS)
    kubectl.until(lambda: len(children(kubectl)) == PARTS, SLOW_SECONDS, "all parts are made")
    parts = children(kubectl)
    uid = kubectl.get(*BUDGET)["metadata"]["uid"]
    insist(user, kubectl, "delete", *BUDGET, "--ignore-not-found")
    kubectl.until(lambda: kubectl.get(*BUDGET)["metadata"]["uid"] != uid, SLOW_SECONDS, "what was removed by hand is made anew")
    insist(user, kubectl, "delete", "jetjob", *names, "--wait=false", "--ignore-not-found")
    insist(user, kubectl, "delete", "hazelcast", "hazelcast", "--wait=false", "--ignore-not-found")
    kubectl.until(lambda: kubectl("get", "jetjob,hazelcast", "--output=name").split() == [FIRST], SLOW_SECONDS, "they are gone")
    kubectl.until(lambda: children(kubectl) == [], SLOW_SECONDS, "so are the parts")
    return names, parts


def test_resources_get_their_statuses_and_parts_and_go(cluster, node, kubectl, tmp_path):
    """No pod runs: the node takes none."""
    user = User(kubectl, tmp_path)
    options = (f"--namespace={kubectl.namespace}", f"--lease-namespace={kubectl.namespace}")
    cluster.kubectl("cordon", node.name)
    jobs, clusters = Phases(cluster, JET_JOB, kubectl.namespace), Phases(cluster, HAZELCAST, kubectl.namespace)
    try:
        with operator(cluster, tmp_path / "operator", *options) as process:
            kubectl.apply(job("first", hazelcastResourceName="nowhere"))
            user.until("jetjob", "first", "Failed")
            before = lease(user)
            with StandingStill(cluster.processes[ETCD]) as store:
                rounds = [come_and_go(user, 0)]
                while store.seconds < FAULT_SECONDS:
                    rounds.append(come_and_go(user, len(rounds)))
                process.check()
            print(f"etcd stood still {store.times} times in {store.seconds:.0f} s: {len(rounds)} rounds of {AT_ONCE} JetJobs")
            assert [parts for _, parts in rounds] == [rounds[0][1]] * len(rounds)
            assert lease(user) == before
            process.check()
    finally:
        jobs.stop()
        clusters.stop()
        cluster.kubectl("uncordon", node.name)
    for name in ("first", *(name for names, _ in rounds for name in names)):
        statuses = jobs.statuses(name)
        assert {each["failureText"] for each in statuses} == {NOT_FOUND}
        assert all(conditions_of(each) == COMING for each in statuses)
    of_clusters = clusters.statuses("hazelcast")
    assert {each["phase"] for each in of_clusters} <= {"Pending", "Terminating"}
    assert {conditions_of(each)["Degraded"] for each in of_clusters} == {"False"}
    assert warnings(user) == []
