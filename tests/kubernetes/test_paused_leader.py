"""An operator that leads, is paused for longer than its lease, and wakes while another one leads."""

import signal

from tests.kubernetes.interrupting_proxy import InterruptingProxy
from tests.kubernetes.manifests import job
from tests.kubernetes.operating import operator
from tests.kubernetes.rig.processes import RigError
from tests.kubernetes.user import User

SECONDS, LEASE_SECONDS = 30, 15
JOBS = [f"job-{number}" for number in range(20)]


def holder(kubectl):
    return kubectl.get("lease", "pitstop-operator")["spec"]["holderIdentity"]


def has_ended(process):
    try:
        process.check()
    except RigError:
        return True
    return False


def test_it_does_nothing_more_when_it_wakes(cluster, kubectl, tmp_path):
    user = User(kubectl, tmp_path)
    own = (f"--namespace={kubectl.namespace}", f"--lease-namespace={kubectl.namespace}")
    with (
        InterruptingProxy(cluster, tmp_path).serving() as proxy,
        operator(proxy, tmp_path / "first", *own, name="first") as first,
    ):
        kubectl.until(lambda: holder(kubectl) == "first", SECONDS, "the first operator leads")
        with operator(cluster, tmp_path / "second", *own, name="second") as second:
            first.signal(signal.SIGSTOP)
            kubectl.until(lambda: holder(kubectl) == "second", LEASE_SECONDS + SECONDS, "the second one takes over")
            writes = proxy.writes
            kubectl.apply(*(job(name) for name in JOBS))
            for name in JOBS:
                user.until("jetjob", name, "Failed", SECONDS)
            first.signal(signal.SIGCONT)
            kubectl.until(lambda: has_ended(first), SECONDS, "the first one ends")
            assert "the lead is lost: this operator ends" in first.log.read_text()
            assert proxy.writes == writes
            assert holder(kubectl) == "second"
            second.check()
