"""The network between an operator and the API server, or the server of a cluster, drops all packets for a while, or those of
connections that both sides take for whole: nothing is lost, nothing is done twice, and no status says anything false."""

import contextlib
import json
import secrets
import subprocess
import time

import pytest

from pitstop.operator.kinds import JET_JOB, JET_JOB_SNAPSHOT
from tests.kubernetes.manifests import a_map, snapshot
from tests.kubernetes.operating import make_jar, operator
from tests.kubernetes.phases import Phases
from tests.kubernetes.rig.processes import RigError
from tests.kubernetes.rig.wires import Wire, Wires, address_of, connections
from tests.kubernetes.user import JOB_SECONDS, SOON_SECONDS, User

pytestmark = [pytest.mark.long, pytest.mark.timeout(2400)]

CUT_SECONDS = 40.0
NOTICED_SECONDS = 60.0
"""The time in which the operator notices by itself that a connection leads nowhere any more."""
MOMENTS = (0.1, 1.0, 4.0)
"""The times after which the network is cut once a job is asked for: before it, as it is submitted, and as it starts."""
FALSE = ("Failed", "ExecutionFailed")
FIRST = "transaction-v1"


@pytest.fixture(scope="module")
def wires(cluster, tmp_path_factory):
    try:
        its_own = Wires(tmp_path_factory.mktemp("wires"))
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"No network can be cut here: {error}.")
    try:
        its_own.cut()
        yield its_own
    except RigError as error:
        pytest.skip(str(error))
    finally:
        its_own.close()


@pytest.fixture(scope="module")
def user(cluster, node, wires, tmp_path_factory):
    """A user of a cluster with a job, and the operator on the wires."""
    files = tmp_path_factory.mktemp("artifacts")
    make_jar(files)
    name = f"test-{secrets.token_hex(4)}"
    cluster.kubectl("create", "namespace", name)
    options = (f"--files-from={files}", f"--namespace={name}", f"--lease-namespace={name}")
    folder = tmp_path_factory.mktemp("operator")
    kubectl = cluster.kubectl.within(name)
    kubectl.until(lambda: kubectl.exists("serviceaccount", "default"), 120, "the namespace gets its service account")
    there = User(kubectl, files)
    try:
        with operator(cluster, folder, *options, name="first", wires=wires) as first:
            there.start_cluster()
            there.submit(FIRST)
            yield there, first, lambda: operator(cluster, folder, *options, name="second")
            wires.join()
            kubectl("delete", "hazelcast", "--all", "--wait=true", seconds=120)
    finally:
        cluster.kubectl("delete", "namespace", name, "--wait=false")


@pytest.fixture
def statuses(cluster, user):
    """The statuses of JetJobs and snapshots as somebody sees them whose network is whole. At the end none of them was false."""
    kubectl = user[0].kubectl
    each_kind = [Phases(cluster, kind, kubectl.namespace) for kind in (JET_JOB, JET_JOB_SNAPSHOT)]
    yield
    for kind in each_kind:
        kind.stop()
        for body in kind.bodies:
            status, name = body.get("status", {}), body["metadata"]["name"]
            assert (status.get("phase") or status.get("state")) not in FALSE, f"{name}: {status}"
            degraded = [each for each in status.get("conditions", ()) if each["type"] == "Degraded" and each["status"] == "True"]
            assert degraded == [], f"{name}: {status}"


def server_of(kubectl):
    """The address at which the operator reaches the cluster."""
    return Wire(kubectl.get("service", "hazelcast")["spec"]["clusterIP"])


def names(user, *command):
    return sorted(each["name"] for each in json.loads(user.pitstop(*command, "-o", "json")))


def everything_once(user, jobs, snapshots):
    """Those of earlier tests are cancelled or gone."""
    assert [each for each in names(user, "list-jobs", "--all") if each in jobs] == sorted(jobs)
    assert names(user, "list-snapshots") == sorted(snapshots)


def delete_all_but_the_first(user):
    for kind in ("jetjobsnapshot", "jetjob"):
        others = [each["metadata"]["name"] for each in user.kubectl.list(kind) if each["metadata"]["name"] != FIRST]
        if others:
            user.kubectl("delete", kind, *others, "--wait=true", "--timeout=120s", seconds=130)


def goes_on(user, jobs, snapshots, began):
    """Wait until all that was asked for is there. The cluster answers soon, however long its jobs take to start."""
    user.until("hazelcast", "hazelcast", "Running", NOTICED_SECONDS)
    for name in jobs:
        user.until("jetjob", name, "Running", JOB_SECONDS)
    for name in snapshots:
        user.until("jetjobsnapshot", name, "Exported", JOB_SECONDS)
    print(f"{time.monotonic() - began:.0f} s after the network was whole again {[*jobs, *snapshots]} are there")


def leads(kubectl, name):
    return kubectl.get("lease", "pitstop-operator")["spec"]["holderIdentity"] == name


def has_ended(process):
    try:
        process.check()
    except RigError:
        return True
    return False


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_cluster_that_cannot_be_reached_for_a_while(user, wires, statuses, moment):
    there, first, _ = user
    job_name, saved = f"job-{moment:g}".replace(".", "-"), f"saved-{moment:g}".replace(".", "-")
    there.kubectl.apply(there.job(job_name), snapshot(saved))
    time.sleep(moment)
    wires.cut(server_of(there.kubectl))
    time.sleep(CUT_SECONDS)
    wires.join()
    goes_on(there, [FIRST, job_name], [saved], time.monotonic())
    everything_once(there, [FIRST, job_name], [saved])
    first.check()
    delete_all_but_the_first(there)


def test_connections_to_a_cluster_that_lead_nowhere_any_more(user, wires, statuses):
    """New ones do."""
    there, first, _ = user
    there.kubectl.apply(there.job("half"), snapshot("half-saved"))
    time.sleep(MOMENTS[1])
    wires.cut(*connections(first.pid, server_of(there.kubectl).address))
    goes_on(there, [FIRST, "half"], ["half-saved"], time.monotonic())
    everything_once(there, [FIRST, "half"], ["half-saved"])
    there.ask_for("half", "Suspended")
    there.until("jetjob", "half", "Suspended", NOTICED_SECONDS + SOON_SECONDS)
    first.check()
    wires.join()
    delete_all_but_the_first(there)


def test_connections_to_the_api_server_that_lead_nowhere_any_more(cluster, user, wires, statuses):
    there, first, _ = user
    there.kubectl.apply(there.job("half-known"), snapshot("half-saved"))
    time.sleep(MOMENTS[0])
    wires.cut(*connections(first.pid, address_of(cluster.url)))
    began = time.monotonic()
    there.kubectl.apply(a_map("unseen"))
    there.until("map", "unseen", "Success", NOTICED_SECONDS)
    goes_on(there, [FIRST, "half-known"], ["half-saved"], began)
    everything_once(there, [FIRST, "half-known"], ["half-saved"])
    first.check()
    wires.join()
    delete_all_but_the_first(there)


def test_the_operator_that_leads_cannot_reach_the_api_server_and_another_one_takes_over(cluster, user, wires, statuses):
    """The first one still reaches the cluster."""
    there, first, another = user
    with another() as second, contextlib.ExitStack() as at_the_end:
        there.kubectl.apply(there.job("orphan"), snapshot("orphan-saved"))
        time.sleep(MOMENTS[1])
        wires.cut(Wire(address_of(cluster.url)))
        at_the_end.callback(wires.join)
        began = time.monotonic()
        there.kubectl.apply(there.job("meanwhile"))
        there.kubectl.until(lambda: leads(there.kubectl, "second"), CUT_SECONDS, "the second operator leads")
        there.kubectl.until(lambda: has_ended(first), CUT_SECONDS, "the first one ends")
        assert "the lead is lost: this operator ends" in first.log.read_text()
        time.sleep(max(0.0, began + CUT_SECONDS - time.monotonic()))
        wires.join()
        first.start()  # as a Deployment does
        goes_on(there, [FIRST, "orphan", "meanwhile"], ["orphan-saved"], time.monotonic())
        everything_once(there, [FIRST, "orphan", "meanwhile"], ["orphan-saved"])
        second.check()
        delete_all_but_the_first(there)
        second.stop()
        there.kubectl.until(lambda: leads(there.kubectl, "first"), CUT_SECONDS, "the first one leads again")


def test_the_only_operator_cannot_reach_the_api_server_for_a_while(cluster, user, wires, statuses):
    there, first, _ = user
    there.kubectl.apply(there.job("alone"), snapshot("alone-saved"))
    time.sleep(MOMENTS[1])
    wires.cut(Wire(address_of(cluster.url)))
    there.kubectl.until(lambda: has_ended(first), CUT_SECONDS, "the operator ends")
    first.start()
    time.sleep(CUT_SECONDS)  # it waits for the API server
    wires.join()
    goes_on(there, [FIRST, "alone"], ["alone-saved"], time.monotonic())
    everything_once(there, [FIRST, "alone"], ["alone-saved"])
    first.check()
    delete_all_but_the_first(there)
