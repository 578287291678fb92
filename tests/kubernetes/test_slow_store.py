"""The store of the API server (etcd) stands still for half of the time: jobs go on, and no status says anything false."""

import json
import signal
import threading
import time

import pytest

from pitstop.operator.kinds import HAZELCAST, JET_JOB, JET_JOB_SNAPSHOT
from tests.kubernetes.manifests import cluster_of, job, snapshot
from tests.kubernetes.operating import make_jar, operator
from tests.kubernetes.phases import Phases
from tests.kubernetes.rig.cluster import ETCD
from tests.kubernetes.user import JOB_SECONDS, UP_SECONDS, UPLOADS, User

pytestmark = [pytest.mark.long, pytest.mark.timeout(2400)]

STILL_SECONDS, MOVING_SECONDS = 2.0, 2.0
FAULT_SECONDS = 120.0
SLOW_SECONDS = 180.0
"""The time within which a thing happens that takes a second with a store that answers at once, on a busy machine."""
WAITING = ("not there yet", "Waiting", "Exporting")
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


def phases_of(statuses):
    """The phases in order, each as often as it was reached."""
    phases = [each.get("phase") or each.get("state") for each in statuses]
    return [phase for number, phase in enumerate(phases) if number == 0 or phase != phases[number - 1]]


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


def test_nothing_is_lost_and_nothing_false_is_said(cluster, kubectl, tmp_path):
    make_jar(tmp_path)
    user = User(kubectl, tmp_path)
    options = (f"--files-from={tmp_path}", f"--namespace={kubectl.namespace}", f"--lease-namespace={kubectl.namespace}")
    with operator(cluster, tmp_path / "operator", *options) as process:
        user.start_cluster()
        user.submit("transaction-v1")
        user.submit("bystander")
        user.put(1)
        user.until_logged("transaction-v1", [1])
        watches = clusters, jobs, snapshots = [
            Phases(cluster, kind, kubectl.namespace) for kind in (HAZELCAST, JET_JOB, JET_JOB_SNAPSHOT)
        ]
        before = lease(user)
        try:
            with StandingStill(cluster.processes[ETCD]) as store:
                insist(user, user.put, 2)
                insist(user, kubectl.apply, cluster_of("other", clusterSize=1, jet=UPLOADS))
                insist(user, kubectl, "delete", *BUDGET, "--ignore-not-found")
                insist(user, kubectl.apply, snapshot(cancelJob=True))
                insist(
                    user, kubectl.apply, user.job("transaction-v2", "JobV2", initialSnapshotResourceName="snapshot-transaction")
                )
                user.until("jetjobsnapshot", "snapshot-transaction", "Exported", JOB_SECONDS)
                user.until("jetjob", "transaction-v1", "ExecutionFailed", JOB_SECONDS)
                insist(user, user.put, 3)
                user.until("jetjob", "transaction-v2", "Running", JOB_SECONDS)
                user.until("hazelcast", "other", "Running", UP_SECONDS)
                kubectl.until(lambda: kubectl.exists(*BUDGET), SLOW_SECONDS, "what was removed by hand is there again")
                process.check()
            print(f"etcd stood still {store.times} times in {store.seconds:.0f} s")
            print(f"the lease before and after: {before}, {lease(user)}")

            user.put(4)
            kubectl.until(lambda: len(user.logged("transaction-v2")) >= 2, JOB_SECONDS, "the next version logs the rest")
            assert user.logged("transaction-v1") == [1, 2]
            assert user.logged("transaction-v2") == [3, 4]
            assert user.logged("bystander") == [1, 2, 3, 4]
            kubectl("wait", "--for=condition=Ready", "hazelcast/hazelcast", "hazelcast/other", "--timeout=60s", seconds=70)
            for name in ("transaction-v1", "transaction-v2", "bystander"):
                kubectl("wait", "--for=condition=Ready", f"jetjob/{name}", "--timeout=60s", seconds=70)
                assert user.pitstop("events", name).count("STARTING -> RUNNING (") == 1
            jobs_there = json.loads(user.pitstop("list-jobs", "--all", "-o", "json"))
            assert sorted(each["name"] for each in jobs_there) == ["bystander", "transaction-v1", "transaction-v2"]
            assert [each["name"] for each in json.loads(user.pitstop("list-snapshots", "-o", "json"))] == ["snapshot-transaction"]
            assert lease(user) == before
        finally:
            for each in watches:
                each.stop()

        assert phases_of(jobs.statuses("bystander")) == ["Running"]
        assert phases_of(clusters.statuses("hazelcast")) == ["Running"]
        assert phases_of(clusters.statuses("other")) == ["Pending", "Running"]
        of_first = phases_of(jobs.statuses("transaction-v1"))
        assert (of_first[0], of_first[-1]) == ("Running", "ExecutionFailed")
        assert {*of_first[1:-1]} <= {"Completing"}
        of_next = phases_of(jobs.statuses("transaction-v2"))
        order = ["Failed", "NotRunning", "Starting", "Running"]
        assert of_next == [phase for phase in order if phase in of_next]
        said = {each["failureText"] for each in jobs.statuses("transaction-v2") if each.get("failureText")}
        assert said <= {f"JetJobSnapshot 'snapshot-transaction' is {state}: only an Exported one has state" for state in WAITING}
        for name in ("bystander", "transaction-v1", "transaction-v2"):
            assert {conditions_of(each)["Degraded"] for each in jobs.statuses(name)} == {"False"}
        for name in ("hazelcast", "other"):
            assert {conditions_of(each)["Degraded"] for each in clusters.statuses(name)} == {"False"}
        assert phases_of(snapshots.statuses("snapshot-transaction"))[-1] == "Exported"
        assert warnings(user) == []
        process.check()
        kubectl("delete", "hazelcast", "--all", "--wait=true", seconds=120)
