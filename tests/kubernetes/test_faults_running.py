"""Faults that users met by hand, each through kubectl again: those of jobs, on two clusters that all tests here share."""

import contextlib
import json
import os
import re
import secrets
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tests.dripping import DRIPS, serving
from tests.kubernetes.interrupting_proxy import InterruptingProxy
from tests.kubernetes.manifests import a_map, cluster_of, job, snapshot
from tests.kubernetes.objects import secret
from tests.kubernetes.operating import JAR, NEXT_IMAGE, make_jar, operator
from tests.kubernetes.user import JOB_SECONDS, SOON_SECONDS, UP_SECONDS, UPLOADS, User

pytestmark = [pytest.mark.long, pytest.mark.timeout(1200)]

B = "b"
OTHERS_SECONDS = 10.0
"""The time in which a resource is looked at while others wait for their code: seconds, on a busy machine."""
IDLE_SECONDS = 30.0
TRIES_SECONDS = 45.0
"""The time in which the operator tries a refused job three times: after 10 s, and after 20 s more."""
POD_FORM = {
    "labels": {"team": "fleet"},
    "annotations": {"example.org/scrape": "yes"},
    "env": [{"name": "TZ", "value": "Asia/Tokyo"}, {"name": "KEY", "valueFrom": {"secretKeyRef": {"name": "own", "key": "k"}}}],
    "scheduling": {"nodeSelector": {"disk": "ssd"}, "tolerations": [{"key": "dedicated", "operator": "Exists"}]},
    "controlPlane": {"resources": {"requests": {"cpu": "150m"}}, "scheduling": {"nodeSelector": {"disk": "ssd", "fast": "yes"}}},
    "resources": {"requests": {"cpu": "50m", "memory": "80Mi"}},
}
CODE = """import pitstop as ps


@ps.job()
def once() -> ps.Pipeline:
    pipeline = ps.Pipeline()
    words = pipeline.read_from(ps.sources.items([("a",), ("b",)], "word string"), name="words")
    words.write_to(ps.sinks.map("words", key="word", value="word"), name="map")
    return pipeline


@ps.job()
def failing() -> ps.Pipeline:
    pipeline = ps.Pipeline()
    numbers = pipeline.read_from(ps.sources.rate(1), name="numbers")
    numbers.filter("raise_error('the code is wrong') IS NULL").write_to(ps.sinks.noop(), name="out")
    return pipeline
"""


@pytest.fixture(scope="module")
def cloud():
    """(The variables that lead to a server that stands for all of a cloud, as on one of its nodes; the requests that it got)"""
    requests = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            requests.append(self.path)
            self.send_error(404)

        do_PUT = do_POST = do_HEAD = do_GET

        def log_message(self, *_):
            """Nobody reads it."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}"
        variables = {
            "AWS_METADATA_ENDPOINT": url,
            "GCE_METADATA_HOST": url.removeprefix("http://"),
            "IDENTITY_ENDPOINT": f"{url}/identity",
            "AZURE_MSI_ENDPOINT": f"{url}/identity",
            "AWS_ALLOW_HTTP": "true",
        }
        yield variables, requests
        server.shutdown()


@pytest.fixture(scope="module")
def proxy(cluster, tmp_path_factory):
    """The way of the operator to the API server."""
    with InterruptingProxy(cluster, tmp_path_factory.mktemp("proxy")).serving() as found:
        yield found


@pytest.fixture(scope="module")
def user(cluster, node, proxy, cloud, tmp_path_factory):
    """A user of two clusters: hazelcast, with the job transaction-v1, and b, whose spec forms its pods."""
    files = tmp_path_factory.mktemp("artifacts")
    make_jar(files)
    (files / "faults.py").write_text(CODE)
    name = f"test-{secrets.token_hex(4)}"
    cluster.kubectl("create", "namespace", name)
    cluster.kubectl("label", "node", node.name, "disk=ssd", "fast=yes")
    options = (f"--files-from={files}", f"--lease-namespace={name}")
    with operator(proxy, tmp_path_factory.mktemp("operator"), *options, variables=cloud[0]) as process:
        kubectl = cluster.kubectl.within(name)
        kubectl.until(lambda: kubectl.exists("serviceaccount", "default"), 120, "the namespace gets its service account")
        found = User(kubectl, files)
        try:
            kubectl.apply(secret("own", k="of-the-secret"), cluster_of(B, clusterSize=1, jet=UPLOADS, **POD_FORM))
            found.start_cluster()
            found.submit("transaction-v1")
            found.until("hazelcast", B, "Running", UP_SECONDS)
            kubectl.apply(a_map("transaction-b", name="transaction", hazelcastResourceName=B, eventJournal={"capacity": 9000}))
            found.until("map", "transaction-b", "Success")
            yield found
            kubectl("delete", "hazelcast", "--all", "--wait=true", seconds=120)
            process.check()
        finally:
            cluster.kubectl("label", "node", node.name, "disk-", "fast-")
            cluster.kubectl("delete", "namespace", name, "--wait=false")


def failure(user, name):
    return user.status("jetjob", name).get("failureText") or ""


def until_says(user, name, text, seconds=SOON_SECONDS):
    user.kubectl.until(lambda: text in failure(user, name), seconds, f"{name} says {text!r}, not {failure(user, name)!r}")


def conditions(user, kind, name):
    return {each["type"]: each["status"] for each in user.status(kind, name)["conditions"]}


def events(user, name):
    """The reasons of the events of a resource, in the order of the alphabet: several have the same second."""
    return sorted(each["reason"] for each in user.kubectl.list("event") if each["involvedObject"]["name"] == name)


def delete(user, *names, kind="jetjob"):
    user.kubectl("delete", kind, *names, "--wait=true", "--timeout=120s", seconds=130)


def of_faults(user, name, function, **more):
    return user.job(name, jarName="faults.py", mainClass=f"faults.{function}", **more)


def active_jobs(user):
    return {each["name"] for each in json.loads(user.pitstop("list-jobs", "-o", "json"))}


def test_idle_clusters_cost_no_request_but_watches_and_leases(user, proxy):
    last = [len(proxy.requests), time.monotonic()]

    def is_quiet():
        if len(proxy.requests) != last[0]:
            last[:] = len(proxy.requests), time.monotonic()
        return time.monotonic() - last[1] > IDLE_SECONDS

    def renewed():
        return user.kubectl.get("lease", "pitstop-operator")["spec"]["renewTime"]

    user.until("hazelcast", B, "Running")
    before = renewed()
    user.kubectl.until(is_quiet, 4 * IDLE_SECONDS, f"there is no request for {IDLE_SECONDS:.0f} s: {proxy.requests[-5:]}")
    assert renewed() != before  # it was not asleep
    count = len(proxy.requests)
    user.kubectl("annotate", "map", "transaction-b", "looked=at")
    user.kubectl.apply(a_map("new", hazelcastResourceName=B))
    user.until("map", "new", "Success")
    assert 0 < len(proxy.requests) - count < 10


def test_the_spec_of_a_cluster_forms_its_pods(user, node):
    kubectl = user.kubectl
    pods = {each["metadata"]["name"]: each for each in kubectl.list("pod", f"app.kubernetes.io/instance={B}")}
    assert set(pods) == {"b-0", "b-control-plane-0"}
    for name, pod in pods.items():
        assert pod["metadata"]["labels"]["team"] == "fleet"
        assert pod["metadata"]["annotations"]["example.org/scrape"] == "yes"
        assert pod["spec"]["nodeName"] == node.name
        assert {"key": "dedicated", "operator": "Exists"} in pod["spec"]["tolerations"]
        printed = kubectl("exec", name, "--container=hazelcast", "--", "sh", "-c", "echo $TZ $KEY; date +%Z")
        assert printed.split() == ["Asia/Tokyo", "of-the-secret", "JST"]
    assert pods["b-0"]["spec"]["nodeSelector"] == {"disk": "ssd"}
    assert pods["b-control-plane-0"]["spec"]["nodeSelector"] == {"disk": "ssd", "fast": "yes"}
    (member,), (server,) = pods["b-0"]["spec"]["containers"], pods["b-control-plane-0"]["spec"]["containers"]
    assert member["resources"]["requests"] == {"cpu": "50m", "memory": "80Mi"}
    assert server["resources"]["requests"] == {"cpu": "150m", "memory": "64Mi"}
    for kind in ("statefulset", "service", "networkpolicy", "poddisruptionbudget", "persistentvolumeclaim"):
        objects = kubectl.list(kind, f"app.kubernetes.io/instance={B}")
        assert objects
        assert {each["metadata"]["labels"]["team"] for each in objects} == {"fleet"}


def test_a_node_without_the_labels_of_a_selector_gets_no_pod(user):
    kubectl = user.kubectl
    kubectl.apply(cluster_of("elsewhere", clusterSize=1, scheduling={"nodeSelector": {"disk": "tape"}}))

    def reasons():
        pods = kubectl.list("pod", "app.kubernetes.io/instance=elsewhere")
        found = [each for pod in pods for each in pod["status"].get("conditions", []) if each["type"] == "PodScheduled"]
        return [(each["status"], each["reason"]) for each in found]

    kubectl.until(lambda: reasons() == [("False", "Unschedulable")] * 2, SOON_SECONDS, "no node takes its pods")
    kubectl("patch", "hazelcast", "elsewhere", "--type=merge", '--patch={"spec": {"scheduling": null, "clusterSize": 0}}')
    user.until("hazelcast", "elsewhere", "Running", UP_SECONDS)
    delete(user, "elsewhere", kind="hazelcast")


def test_what_does_not_fit_on_the_nodes_is_told_by_a_condition_that_names_the_reason(user):
    """Such as the members of a cluster that is to run more jobs than the nodes have memory for."""
    kubectl = user.kubectl
    kubectl.apply(cluster_of("large", clusterSize=1, resources={"requests": {"memory": "5Ti"}}))
    kubectl("wait", "--for=condition=PodsWait", "hazelcast/large", f"--timeout={SOON_SECONDS:.0f}s", seconds=SOON_SECONDS + 10)
    reason = "pod 'large-0' waits for a node: 0/1 nodes are available: 1 Insufficient memory"

    def message():
        return user.status("hazelcast", "large").get("message")

    expected = f"0 of 1 members have joined: {reason}"
    kubectl.until(lambda: message() == expected, UP_SECONDS, f"{message()!r} is {expected!r}")
    told = {each["type"]: each["message"] for each in user.status("hazelcast", "large")["conditions"]}
    assert told["PodsWait"] == reason
    assert told["Ready"] == told["Progressing"] == expected
    assert reason in kubectl("describe", "hazelcast", "large")
    kubectl("patch", "hazelcast", "large", "--type=merge", '--patch={"spec": {"resources": null}}')
    user.until("hazelcast", "large", "Running", UP_SECONDS)
    assert "PodsWait" not in conditions(user, "hazelcast", "large")
    delete(user, "large", kind="hazelcast")


def test_the_cloud_of_these_tests_gives_credentials_to_whoever_asks(cloud):
    """What is not asked below could be asked: the library does it if it is left to itself."""
    variables, requests = cloud
    reading = "from obstore.store import S3Store; S3Store.from_url('s3://jobs').get('jobs.zip')"
    program = [sys.executable, "-c", reading]
    ended = subprocess.run(program, env={"PATH": os.environ["PATH"], **variables}, capture_output=True, timeout=60)
    assert ended.returncode != 0
    assert any("/api/token" in each or "/meta-data" in each for each in requests)


@pytest.mark.parametrize(
    ("scheme", "missing"),
    [
        ("s3", "access-key-id and no secret-access-key"),
        ("gs", "google-credentials-path"),
        ("az", "storage-account and no storage-key"),
    ],
)
def test_a_bucket_is_never_read_with_the_role_of_the_node(user, cloud, scheme, missing):
    requests, name = cloud[1], f"poor-{scheme}"
    requests.clear()
    bucket = {"bucketURI": f"{scheme}://jobs", "secretName": "poor"}
    user.kubectl.apply(secret("poor", x="y"), user.job(name, bucketConfig=bucket))
    until_says(user, name, f"Secret 'poor' has no {missing}: {scheme}://jobs is read only with the rights of that Secret.")
    user.kubectl("wait", "--for=condition=Degraded", f"jetjob/{name}", "--timeout=10s")
    delete(user, name)
    assert requests == []


def test_a_job_starts_from_the_state_of_its_own_cluster_only(user):
    kubectl = user.kubectl

    def put(number):
        kubectl(
            *("exec", "b-control-plane-0", "--container=hazelcast", "--"),
            *("pitstop", "map", "put", "transaction", f"transaction-{number}", '{"amount": 1}'),
        )

    user.submit("of-b", hazelcastResourceName=B)
    put(21)
    user.until_logged("of-b", [21])
    kubectl.apply(snapshot("mine", name="state"), snapshot("of-b-state", name="state", jetJobResourceName="of-b", cancelJob=True))
    for name in ("mine", "of-b-state"):
        user.until("jetjobsnapshot", name, "Exported", JOB_SECONDS)
    user.until("jetjob", "of-b", "ExecutionFailed")
    put(22)
    kubectl.apply(user.job("stranger", hazelcastResourceName=B, initialSnapshotResourceName="mine"))
    until_says(
        user,
        "stranger",
        "JetJobSnapshot 'mine' is of Hazelcast 'hazelcast', and this job runs on 'b': a job starts from the state of its own "
        "cluster",
    )
    user.submit("heir", hazelcastResourceName=B, initialSnapshotResourceName="of-b-state")
    user.until_logged("heir", [22])
    assert user.phase("jetjob", "stranger") == "Failed"
    delete(user, "stranger", "heir", "of-b")
    delete(user, "mine", "of-b-state", kind="jetjobsnapshot")


def test_code_that_drips_holds_up_nobody_else(cluster, user, namespace):
    kubectl, other = user.kubectl, cluster.kubectl.within(namespace)
    names = [f"drip-{number}" for number in range(10)]
    with contextlib.ExitStack() as servers:
        urls = [servers.enter_context(serving(*DRIPS["body"], most_pieces=100_000)) for _ in names]
        kubectl.apply(
            *(user.job(name, bucketConfig=None, remoteURL=url) for name, url in zip(names, urls, strict=True)),
        )

        def all_wait():
            return [user.phase("jetjob", name) for name in names] == ["NotRunning"] * len(names)

        kubectl.until(all_wait, SOON_SECONDS, "all of them wait for their code")
        other.apply(job(), a_map())
        there = User(other, user.bucket)
        other.until(lambda: "not found" in failure(there, "transaction-v1"), OTHERS_SECONDS, "a job elsewhere has its status")
        there.until("map", "transaction", "Pending", OTHERS_SECONDS)
        kubectl.apply(a_map("beside"), snapshot("beside"))
        user.until("map", "beside", "Success", OTHERS_SECONDS)
        user.until("jetjobsnapshot", "beside", "Exported", 2 * OTHERS_SECONDS)
        assert all_wait()
        delete(user, *names)  # at once, though their code has yet to come
        assert not active_jobs(user) & {*names}


def test_a_bucket_that_refuses_connections_is_told_once_with_its_address(user):
    keys = {"region": "us-east-1", "access-key-id": "reader", "secret-access-key": "s", "endpoint": "http://127.0.0.1:9"}
    bucket = {"bucketURI": "s3://jobs", "secretName": "away"}
    user.kubectl.apply(secret("away", **keys), user.job("unlucky", bucketConfig=bucket))
    text = f"{JAR} cannot be read from s3://jobs: 127.0.0.1:9 refuses connections: nothing listens there."
    until_says(user, "unlucky", text)
    began, phases = time.monotonic(), set()
    while time.monotonic() - began < TRIES_SECONDS:
        phases.add(user.phase("jetjob", "unlucky"))
        time.sleep(0.5)
    assert phases == {"Failed"}
    assert failure(user, "unlucky") == text
    assert events(user, "unlucky") == ["Failed", "NotRunning"]
    assert text in user.kubectl("describe", "jetjob", "unlucky")
    delete(user, "unlucky")


def test_a_job_and_its_snapshot_can_be_applied_together_and_a_planned_end_is_no_fault(user):
    user.kubectl.apply(user.job("together"), snapshot("with-it", jetJobResourceName="together"))
    user.until("jetjobsnapshot", "with-it", "Exported", JOB_SECONDS)
    assert "Failed" not in events(user, "with-it")
    user.kubectl("wait", "--for=condition=Ready", "jetjobsnapshot/with-it", "jetjob/together", "--timeout=60s", seconds=70)
    user.kubectl.apply(snapshot("the-last", jetJobResourceName="together", cancelJob=True))
    user.until("jetjob", "together", "ExecutionFailed", JOB_SECONDS)
    user.until("jetjobsnapshot", "the-last", "Exported")
    user.kubectl("wait", "--for=condition=Ready", "jetjob/together", "--timeout=20s")
    expected = {"Ready": "True", "Progressing": "False", "Degraded": "False", "Stalled": "False"}
    assert conditions(user, "jetjob", "together") == expected
    delete(user, "together")
    delete(user, "with-it", "the-last", kind="jetjobsnapshot")


def test_a_snapshot_that_is_applied_as_the_control_plane_dies_is_exported_later(user, node):
    node.signal(user.kubectl.namespace, "hazelcast-control-plane-0", "hazelcast")
    user.kubectl.apply(snapshot("in-the-fall"))
    user.until("jetjobsnapshot", "in-the-fall", "Exported", JOB_SECONDS)
    assert "Failed" not in events(user, "in-the-fall")
    user.until("jetjob", "transaction-v1", "Running", JOB_SECONDS)
    delete(user, "in-the-fall", kind="jetjobsnapshot")


def test_a_suspended_job_is_waited_for_and_can_be_cancelled(user):
    user.submit("pausing")
    user.ask_for("pausing", "Suspended")
    user.kubectl("wait", "--for=jsonpath={.status.phase}=Suspended", "jetjob/pausing", "--timeout=60s", seconds=70)
    user.kubectl("wait", "--for=condition=Ready", "jetjob/pausing", "--timeout=20s")
    user.ask_for("pausing", "Canceled")
    user.until("jetjob", "pausing", "ExecutionFailed")
    user.kubectl("wait", "--for=condition=Ready", "jetjob/pausing", "--timeout=20s")
    assert conditions(user, "jetjob", "pausing")["Degraded"] == "False"
    delete(user, "pausing")


def test_a_completed_job_is_waited_for(user):
    user.kubectl.apply(of_faults(user, "once", "once"))
    user.until("jetjob", "once", "Completed", JOB_SECONDS)
    user.kubectl("wait", "--for=condition=Ready", "jetjob/once", "--timeout=20s")
    assert conditions(user, "jetjob", "once")["Progressing"] == "False"
    delete(user, "once")


@pytest.mark.parametrize(
    ("name", "options", "phase", "reason"),
    [
        ("failing", {}, "ExecutionFailed", "failureText"),
        ("halting", {"suspend_on_failure": "true"}, "Suspended", "suspensionCause"),
    ],
)
def test_a_failed_job_is_stalled_so_that_whoever_waits_can_give_up(user, name, options, phase, reason):
    user.kubectl.apply(of_faults(user, name, "failing", options=options))
    user.kubectl("wait", "--for=condition=Stalled", f"jetjob/{name}", f"--timeout={JOB_SECONDS:.0f}s", seconds=JOB_SECONDS + 10)
    assert user.phase("jetjob", name) == phase
    assert "the code is wrong" in user.status("jetjob", name)[reason]
    expected = {"Ready": "False", "Progressing": "False", "Degraded": "True", "Stalled": "True"}
    assert conditions(user, "jetjob", name) == expected
    delete(user, name)


@pytest.mark.parametrize("jar", [JAR, "faults.py"])
def test_a_job_that_is_not_in_its_code_is_named_as_the_spec_names_it(user, jar):
    name = f"nosuch-{len(jar)}"
    user.kubectl.apply(user.job(name, jarName=jar, mainClass="nosuch.job"))
    user.until("jetjob", name, "ExecutionFailed", JOB_SECONDS)
    assert re.search(r"\bnosuch\b", failure(user, name))
    delete(user, name)


@pytest.mark.parametrize("phase", ["Failed", "Starting", "Running", "Suspended", "ExecutionFailed", "Completed"])
def test_a_job_can_be_deleted_in_each_phase_and_leaves_nothing_active(user, phase):
    name = f"in-{phase.lower()}"
    if phase == "Failed":
        user.kubectl.apply(user.job(name, jarName="nothing.py"))
    elif phase in ("Completed", "ExecutionFailed"):
        user.kubectl.apply(of_faults(user, name, "once" if phase == "Completed" else "failing"))
    else:
        user.kubectl.apply(user.job(name))
    if phase == "Suspended":
        user.until("jetjob", name, "Running", JOB_SECONDS)
        user.ask_for(name, "Suspended")
    user.until("jetjob", name, phase, JOB_SECONDS)
    delete(user, name)
    assert name not in active_jobs(user)
    user.kubectl.apply(user.job(name))  # the name is free again
    user.kubectl.until(lambda: user.status("jetjob", name)["submissionTime"], SOON_SECONDS, "its job is submitted")
    delete(user, name)
    assert name not in active_jobs(user)


def test_a_snapshot_that_a_job_started_from_can_be_deleted_later(user):
    user.kubectl.apply(snapshot("early"))
    user.until("jetjobsnapshot", "early", "Exported", JOB_SECONDS)
    user.submit("late", initialSnapshotResourceName="early")
    delete(user, "early", kind="jetjobsnapshot")
    assert "early" not in user.pitstop("list-snapshots")
    user.put(31)
    user.until_logged("late", [31])
    user.ask_for("late", "Suspended")
    user.until("jetjob", "late", "Suspended")
    user.ask_for("late", "Running")
    user.until("jetjob", "late", "Running", JOB_SECONDS)
    user.put(32)
    user.until_logged("late", [31, 32])
    delete(user, "late")


def test_a_job_whose_snapshot_is_gone_says_so_and_does_not_start_empty(user):
    user.kubectl.apply(user.job("orphan", initialSnapshotResourceName="gone"))
    until_says(user, "orphan", "JetJobSnapshot 'gone' not found")
    user.kubectl.apply(snapshot("gone"))
    user.until("jetjob", "orphan", "Running", JOB_SECONDS)
    delete(user, "orphan")
    delete(user, "gone", kind="jetjobsnapshot")


def test_a_cluster_gets_another_image_pod_by_pod_and_its_job_goes_on(user):
    kubectl, (repository, _, version) = user.kubectl, NEXT_IMAGE.rpartition(":")
    user.until("jetjob", "transaction-v1", "Running", JOB_SECONDS)
    kubectl.apply(snapshot("before-the-image"))  # what was logged is done
    user.until("jetjobsnapshot", "before-the-image", "Exported", JOB_SECONDS)
    patch = json.dumps({"spec": {"repository": repository, "version": version}})
    kubectl("patch", "hazelcast", "hazelcast", "--type=merge", f"--patch={patch}")

    def images():
        pods = kubectl.list("pod", "app.kubernetes.io/instance=hazelcast")
        return {container["image"] for pod in pods for container in pod["spec"]["containers"]}

    kubectl.until(lambda: images() == {NEXT_IMAGE}, UP_SECONDS, "all pods have the next image")
    for name in ("hazelcast-control-plane", "hazelcast"):
        kubectl("rollout", "status", f"statefulset/{name}", f"--timeout={UP_SECONDS:.0f}s", seconds=UP_SECONDS + 10)
    user.until("hazelcast", "hazelcast", "Running", UP_SECONDS)
    user.until("jetjob", "transaction-v1", "Running", JOB_SECONDS)
    user.put(41)
    # The pods are new, and so are their logs: what was logged before is not logged again.
    kubectl.until(lambda: user.logged("transaction-v1") != [], JOB_SECONDS, "it goes on")
    assert user.logged("transaction-v1") == [41]
