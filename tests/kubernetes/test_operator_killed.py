"""An operator that dies between any two of its requests, and an API server that is away, refuses and forgets."""

import itertools
import json
import random
import threading

import pytest

from tests.kubernetes.interrupting_proxy import refusal
from tests.kubernetes.manifests import a_map, cluster_of, job, snapshot
from tests.kubernetes.operating import LICENCE, make_jar, operator
from tests.kubernetes.rig.cluster import API_SERVER, ETCD
from tests.kubernetes.user import JOB_SECONDS, SOON_SECONDS, UP_SECONDS, UPLOADS, User

pytestmark = pytest.mark.long

SEED = 15


class DyingOperator:
    """Dies at its first write, is started again, dies at its second, third and fourth, then at its first again, and so on."""

    def __init__(self, process, proxy):
        self._process, self._proxy = process, proxy
        self._lives, self._random = itertools.cycle(range(4)), random.Random(SEED)
        self._died, self._ended = threading.Event(), threading.Event()
        self.deaths = 0
        self._next()
        threading.Thread(target=self._revive, daemon=True).start()

    def _next(self):
        self._proxy.cut_after(next(self._lives), self._kill, before_it=self._random.random() < 0.5)

    def _kill(self):
        self._process.kill()
        self.deaths += 1
        self._died.set()

    def _revive(self):
        while not self._ended.is_set():
            if self._died.wait(0.2) and not self._ended.is_set():
                self._died.clear()
                self._next()
                self._process.start()

    def live(self):
        """Die no more."""
        self._proxy.cut_after(-1, lambda: None, before_it=True)
        self._ended.set()


@pytest.mark.timeout(1500)
def test_an_operator_that_dies_between_any_two_requests_does_everything_once(kubectl, proxy, tmp_path):
    make_jar(tmp_path)
    user = User(kubectl, tmp_path)
    options = (f"--files-from={tmp_path}", f"--namespace={kubectl.namespace}", f"--lease-namespace={kubectl.namespace}")
    with operator(proxy, tmp_path / "operator", *options) as process:
        dying = DyingOperator(process, proxy)
        kubectl("create", "secret", "generic", LICENCE, "--from-literal=license-key=none")
        kubectl.apply(cluster_of(clusterSize=1, licenseKeySecretName=LICENCE, jet=UPLOADS))
        user.until("hazelcast", "hazelcast", "Running", UP_SECONDS)
        kubectl.apply(a_map(eventJournal={"capacity": 9000}))
        user.until("map", "transaction", "Success", UP_SECONDS)
        user.submit("transaction-v1")
        user.put(1, 2, 3)
        user.until_logged("transaction-v1", [1, 2, 3])
        kubectl.apply(snapshot(cancelJob=True))
        user.until("jetjobsnapshot", "snapshot-transaction", "Exported", JOB_SECONDS)
        user.until("jetjob", "transaction-v1", "ExecutionFailed", JOB_SECONDS)
        user.put(4, 5)
        user.submit("transaction-v2", "JobV2", initialSnapshotResourceName="snapshot-transaction")
        dying.live()
        user.until_logged("transaction-v2", [4, 5])
        assert user.logged("transaction-v1") == [1, 2, 3]
        jobs = json.loads(user.pitstop("list-jobs", "--all", "-o", "json"))
        assert sorted(each["name"] for each in jobs) == ["transaction-v1", "transaction-v2"]
        assert [each["name"] for each in json.loads(user.pitstop("list-snapshots", "-o", "json"))] == ["snapshot-transaction"]
        assert dying.deaths > 10
        kubectl("delete", "hazelcast", "hazelcast", "--wait=true", seconds=120)


@pytest.mark.parametrize(("status", "reason"), [(409, "Conflict"), (429, "TooManyRequests"), (500, "InternalError")])
def test_what_the_api_server_refuses_for_a_while_is_done_later(kubectl, proxy, tmp_path, status, reason):
    chance = random.Random(SEED)

    def answer(request):
        return refusal(status, reason) if request.method == "PATCH" and chance.random() < 0.7 else None

    proxy.answer_itself = answer
    options = (f"--namespace={kubectl.namespace}", f"--lease-namespace={kubectl.namespace}")
    with operator(proxy, tmp_path / "operator", *options):
        kubectl.apply(job(), a_map())
        kubectl.until(lambda: kubectl.get("jetjob", "transaction-v1")["status"]["phase"] == "Failed", SOON_SECONDS, "it is said")
        kubectl.until(lambda: kubectl.get("map", "transaction")["status"]["state"] == "Pending", SOON_SECONDS, "it is said")


@pytest.mark.parametrize("part", [API_SERVER, ETCD])
def test_an_operator_outlives_the_api_server_and_its_store(cluster, kubectl, tmp_path, part):
    options = (f"--namespace={kubectl.namespace}", f"--lease-namespace={kubectl.namespace}")
    with operator(cluster, tmp_path / "operator", *options) as process:
        kubectl.apply(job())
        kubectl.until(lambda: kubectl.get("jetjob", "transaction-v1")["status"]["phase"] == "Failed", SOON_SECONDS, "it is said")
        cluster.restart(part)
        kubectl.until(lambda: kubectl.exists("jetjob", "transaction-v1"), SOON_SECONDS, "the API server answers")
        kubectl.apply(job("second"))
        kubectl.until(lambda: kubectl.get("jetjob", "second")["status"]["phase"] == "Failed", SOON_SECONDS, "it is said")
        process.check()
