"""A watch that has expired (410 Gone): the operator reads everything anew, and goes on from there."""

import json
import threading
import time

import pytest
from lightkube import KubeConfig
from starlette.responses import Response

from pitstop.operator.kinds import JET_JOB
from pitstop.operator.kube.api import Api
from pitstop.operator.kube.cache import Cache
from tests.kubernetes.interrupting_proxy import is_watch, refusal
from tests.kubernetes.manifests import cluster_of, job
from tests.kubernetes.operating import operator
from tests.kubernetes.rig.cluster import API_SERVER
from tests.kubernetes.user import User

pytestmark = pytest.mark.long

SECONDS = 180.0
NOT_RUNNING = "Hazelcast 'hazelcast' is not running"
GONE, EXPIRED = 410, "Expired"


class Watches:
    """Lets none through. ``asked_for``: the versions from which some were asked for meanwhile."""

    def __init__(self, proxy):
        self.asked_for, self.expired = set(), 0
        self._proxy = proxy

    def hold(self):
        self._proxy.watches_end, self._proxy.answer_itself = True, self._refuse

    def let_through(self):
        self._proxy.watches_end, self._proxy.answer_itself = False, lambda _: None

    def expire(self, answer):
        """Those that go on from these versions get that answer."""

        def expire(request):
            if is_watch(request) and request.query_params["resourceVersion"] in self.asked_for:
                self.expired += 1
                return answer()
            return None

        self._proxy.watches_end, self._proxy.answer_itself = False, expire

    def _refuse(self, request):
        if not is_watch(request):
            return None
        if "jetjobs" in request.url.path:
            self.asked_for.add(request.query_params["resourceVersion"])
        return refusal(503, "ServiceUnavailable")


def as_status():
    """As a request is refused."""
    return refusal(GONE, EXPIRED)


def as_event():
    """As a watch that has begun is ended."""
    return Response(json.dumps({"type": "ERROR", "object": json.loads(refusal(GONE, EXPIRED).body)}) + "\n")


@pytest.mark.parametrize("answer", [as_status, as_event])
def test_what_has_changed_meanwhile_is_seen(kubectl, proxy, tmp_path, answer):
    user, watches = User(kubectl, tmp_path), Watches(proxy)

    def until_job_says(name, text):
        kubectl.until(lambda: user.status("jetjob", name)["failureText"] == text, SECONDS, f"{name} says {text}")

    options = (f"--namespace={kubectl.namespace}", f"--lease-namespace={kubectl.namespace}")
    with operator(proxy, tmp_path / "operator", *options) as process:
        kubectl.apply(cluster_of(licenseKeySecretName="not-there"), job("first", name="same"))
        until_job_says("first", NOT_RUNNING)
        made = time.time()
        kubectl.until(lambda: time.time() > made + 1, SECONDS, "the next second")  # the age of a resource is in whole ones
        kubectl.apply(job("heir", name="same"))
        until_job_says("heir", "JetJob first already uses the same name")

        watches.hold()
        kubectl("annotate", "jetjob", "heir", "the-watch=ends-here")
        kubectl.until(lambda: watches.asked_for, SECONDS, "the watch has ended")
        kubectl("delete", "jetjob", "first", "--wait=false")
        kubectl("patch", "jetjob", "first", "--type=merge", '--patch={"metadata": {"finalizers": null}}')
        kubectl.apply(job("new"))
        watches.expire(answer)
        until_job_says("new", NOT_RUNNING)
        until_job_says("heir", NOT_RUNNING)
        kubectl.apply(job("newer"))
        until_job_says("newer", NOT_RUNNING)
        assert watches.expired
        process.check()


def test_a_copy_is_true_again_after_the_api_server_has_forgotten_what_has_changed(cluster, kubectl, proxy):
    """An operator might end meanwhile, as whoever cannot renew its lease does: a copy of its own is looked at."""
    config, watches, stopped = KubeConfig.from_file(proxy.kubeconfig), Watches(proxy), threading.Event()
    copy = Cache(JET_JOB, lambda: Api(config), lambda _: None, kubectl.namespace)
    kubectl.apply(job("first"), job("second"))
    following = threading.Thread(target=copy.follow, args=(stopped,), daemon=True)
    following.start()
    try:
        kubectl.until(lambda: names(copy) == {"first", "second"}, SECONDS, "the copy is true")
        watches.hold()
        kubectl("annotate", "jetjob", "second", "the-watch=ends-here")
        kubectl.until(lambda: watches.asked_for, SECONDS, "the watch has ended")
        kubectl("delete", "jetjob", "first")
        kubectl.apply(job("third"))
        cluster.restart(API_SERVER)  # it remembers no changes from before
        watches.let_through()
        kubectl.until(lambda: names(copy) == {"second", "third"}, SECONDS, "the copy is true again")
        kubectl.apply(job("fourth"))
        kubectl.until(lambda: names(copy) == {"second", "third", "fourth"}, SECONDS, "it goes on")
        assert proxy.expired
    finally:
        stopped.set()
        watches.hold()
        kubectl("annotate", "jetjob", "second", "the-last=change")
        following.join(SECONDS)


def names(copy):
    return {each["metadata"]["name"] for each in copy.all()}
