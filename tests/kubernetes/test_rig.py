"""The rig itself: what tests on Kubernetes rely on holds, as seen through the real kubectl and helm."""

import json
import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from tests.kubernetes.objects import config_map, container, pod, secret, service, workload
from tests.kubernetes.rig.agent.settings import Image
from tests.kubernetes.rig.clients import ClientError
from tests.kubernetes.rig.node import Node

READY = 60.0
SLEEP = ("sleep", "1000")
SERVE = ("python", "-u", "-m", "http.server", "8000", "--directory")
GARDEN = {"apiVersion": "rig.example/v1", "kind": "Garden", "metadata": {"name": "mine"}, "spec": {"beds": 3, "crop": "oats"}}
CHART = """
apiVersion: v1
kind: ConfigMap
metadata: {name: "{{ .Release.Name }}-told"}
data: {greeting: {{ .Values.greeting | quote }}}
"""
BESIDE = """
import sys
from pathlib import Path
from tests.kubernetes.objects import container, pod
from tests.kubernetes.rig.cluster import Cluster
from tests.kubernetes.rig.node import Node
from tests.kubernetes.rig.tools import Tools

folder = Path(sys.argv[1])
with Cluster.start(folder / "cluster", Tools.find()) as cluster, Node.start(cluster, folder / "node") as node:
    guest = {"runAsUser": 1000, "runAsGroup": 1000}
    cluster.kubectl.apply(
        pod("sleeper", container("sleep", "1000")), pod("guest", container("sleep", "1000"), securityContext=guest)
    )
    cluster.kubectl("wait", "--for=condition=Ready", "pod/sleeper", "pod/guest", "--timeout=60s")
    pids = [process.pid for process in (*cluster.processes.values(), node.process)]
    print(*pids, *(node.pid("default", name, "main") for name in ("sleeper", "guest")), flush=True)
    sys.stdin.read()
"""


def is_ready(kubectl, name):
    conditions = kubectl.get("pod", name)["status"].get("conditions", [])
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)


def until_ready(kubectl, *names):
    for name in names:
        kubectl.until(lambda name=name: is_ready(kubectl, name), READY, f"the pod {name} is ready")


def container_status(kubectl, name):
    return kubectl.get("pod", name)["status"]["containerStatuses"][0]


def read(url):
    with urllib.request.urlopen(url, timeout=10) as answer:
        return answer.read().decode()


def is_refused(url):
    try:
        read(url)
    except urllib.error.URLError as error:
        return isinstance(error.reason, ConnectionRefusedError)
    except ConnectionResetError:
        return False
    return False


def test_a_deployment_of_two_becomes_ready_and_follows_its_new_version(kubectl):
    kubectl.apply(workload("Deployment", "two", 2, container(*SLEEP)))
    kubectl("rollout", "status", "deployment/two", f"--timeout={READY:.0f}s")
    assert kubectl.get("deployment", "two")["status"]["readyReplicas"] == 2
    before = {each["metadata"]["uid"] for each in kubectl.list("pods", "app=two")}
    kubectl("set", "env", "deployment/two", "VERSION=2")
    kubectl("rollout", "status", "deployment/two", f"--timeout={READY:.0f}s")
    after = [each for each in kubectl.list("pods", "app=two") if "deletionTimestamp" not in each["metadata"]]
    assert len(after) == 2
    assert before.isdisjoint(each["metadata"]["uid"] for each in after)


def test_a_killed_process_is_back_and_what_it_printed_before_can_be_read(kubectl, node, namespace):
    kubectl.apply(pod("victim", container("sh", "-c", "echo here is $HOSTNAME; exec sleep 1000")))
    until_ready(kubectl, "victim")
    before = node.pid(namespace, "victim", "main")
    node.signal(namespace, "victim", "main", signal.SIGKILL)
    kubectl.until(lambda: container_status(kubectl, "victim")["restartCount"] == 1, READY, "the container is started again")
    until_ready(kubectl, "victim")
    assert node.pid(namespace, "victim", "main") != before
    assert container_status(kubectl, "victim")["lastState"]["terminated"]["exitCode"] == 128 + signal.SIGKILL
    assert kubectl("logs", "--previous", "victim") == kubectl("logs", "victim") == "here is victim\n"


def test_a_volume_keeps_its_file_when_a_pod_of_a_stateful_set_is_made_again(kubectl):
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    template = {"metadata": {"name": "data"}, "spec": claim}
    kept = container(*SLEEP, volumeMounts=[{"name": "data", "mountPath": "/data"}])
    kubectl.apply(
        service("kept", 80, 8000, headless=True),
        workload("StatefulSet", "kept", 1, kept, serviceName="kept", volumeClaimTemplates=[template]),
    )
    until_ready(kubectl, "kept-0")
    kubectl("exec", "kept-0", "--", "sh", "-c", "echo from the first > /data/file; echo gone > /elsewhere")
    assert not Path("/elsewhere").exists()
    first = kubectl.get("pod", "kept-0")["metadata"]["uid"]
    kubectl("delete", "pod", "kept-0")
    kubectl.until(lambda: kubectl.get("pod", "kept-0")["metadata"]["uid"] != first, READY, "the pod is made again")
    until_ready(kubectl, "kept-0")
    assert kubectl("exec", "kept-0", "--", "cat", "/data/file") == "from the first\n"
    address = kubectl.get("pod", "kept-0")["status"]["podIP"]
    assert kubectl("exec", "kept-0", "--", "getent", "hosts", "kept-0.kept").split()[0] == address
    with pytest.raises(ClientError, match="No such file"):
        kubectl("exec", "kept-0", "--", "cat", "/elsewhere")


def test_logs_are_read_and_followed_to_the_end(kubectl):
    script = "echo first; while [ ! -e /go-on ]; do sleep 0.1; done; echo second; echo error >&2"
    kubectl.apply(pod("talker", container("sh", "-c", script), restartPolicy="Never"))
    until_ready(kubectl, "talker")
    follower = kubectl.start("logs", "--follow", "talker")
    assert follower.stdout.readline() == "first\n"
    kubectl("exec", "talker", "--", "touch", "/go-on")
    printed, _ = follower.communicate(timeout=READY)
    assert printed == "second\nerror\n"
    assert kubectl("logs", "--tail=1", "talker") == "error\n"


def test_commands_run_in_a_container_with_their_input_and_exit_code(kubectl):
    kubectl.apply(pod("host", container(*SLEEP, workingDir="/tmp", env=[{"name": "COLOUR", "value": "green"}])))
    until_ready(kubectl, "host")
    assert kubectl("exec", "host", "--", "sh", "-c", "pwd; echo $COLOUR; cat /proc/1/comm") == "/tmp\ngreen\nsleep\n"
    assert kubectl("exec", "--stdin", "host", "--", "tr", "a-z", "A-Z", send="loud") == "LOUD"
    with pytest.raises(ClientError) as raised:
        kubectl("exec", "host", "--", "sh", "-c", "echo no >&2; exit 7")
    assert (raised.value.code, str(raised.value)) == (7, "no\ncommand terminated with exit code 7")


def test_variables_come_from_secrets_config_maps_and_fields(kubectl, namespace):
    variables = [
        {"name": "PASSWORD", "valueFrom": {"secretKeyRef": {"name": "told", "key": "password"}}},
        {"name": "NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
        {"name": "PLACE", "valueFrom": {"fieldRef": {"fieldPath": "metadata.namespace"}}},
        {"name": "BOTH", "value": "$(NAME) in $(PLACE), $(NOBODY) $$(NAME)"},
    ]
    script = "echo $PASSWORD; echo $BOTH; echo $C_colour; cat /files/password"
    asker = container(
        "sh",
        "-c",
        script,
        env=variables,
        envFrom=[{"prefix": "C_", "configMapRef": {"name": "told"}}],
        volumeMounts=[{"name": "files", "mountPath": "/files"}],
    )
    volume = {"name": "files", "secret": {"secretName": "told"}}
    kubectl.apply(pod("asker", asker, volumes=[volume], restartPolicy="Never"), config_map("told", colour="blue"))
    kubectl.until(lambda: "told" in json.dumps(kubectl.get("pod", "asker")["status"]), READY, "it is said what is missing")
    kubectl.apply(secret("told", password="hush"))
    kubectl("wait", "--for=jsonpath={.status.phase}=Succeeded", "pod/asker", f"--timeout={READY:.0f}s")
    assert kubectl("logs", "asker") == f"hush\nasker in {namespace}, $(NOBODY) $(NAME)\nblue\nhush"


def test_a_service_reaches_its_pods_by_address_and_name(kubectl, namespace):
    server = container(*SERVE, "/data", ports=[{"name": "http", "containerPort": 8000}])
    server["readinessProbe"] = {"httpGet": {"path": "/who", "port": "http"}, "periodSeconds": 1}
    server["volumeMounts"] = [{"name": "data", "mountPath": "/data"}]
    files = [{"name": "data", "downwardAPI": {"items": [{"path": "who", "fieldRef": {"fieldPath": "metadata.name"}}]}}]
    kubectl.apply(
        service("web", 80, "http"),
        *(pod(name, server, labels={"app": "web"}, volumes=files) for name in ("web-a", "web-b")),
        pod("client", container(*SLEEP)),
    )
    until_ready(kubectl, "web-a", "web-b", "client")
    address = kubectl.get("service", "web")["spec"]["clusterIP"]
    met = set()
    kubectl.until(lambda: met.add(read(f"http://{address}/who")) or met == {"web-a", "web-b"}, READY, "both pods are met")
    ask = "import sys, urllib.request as r; print(r.urlopen(sys.argv[1], timeout=10).read().decode())"
    for name in ("web", f"web.{namespace}.svc.cluster.local"):
        assert kubectl("exec", "client", "--", "python", "-c", ask, f"http://{name}/who").strip() in met
    # What a pod calls localhost is the pod.
    assert kubectl("exec", "web-a", "--", "python", "-c", ask, "http://localhost:8000/who").strip() == "web-a"
    kubectl("delete", "pod", "web-a", "web-b")
    kubectl.until(lambda: is_refused(f"http://{address}/who"), READY, "a Service without pods refuses")


def test_a_pod_may_ask_the_api_server_as_its_service_account(kubectl, namespace):
    account = "/var/run/secrets/kubernetes.io/serviceaccount"
    script = f"""
import os, ssl, sys, urllib.request
token = open("{account}/token").read()
trusted = ssl.create_default_context(cafile="{account}/ca.crt")
for place in (os.environ["KUBERNETES_SERVICE_HOST"] + ":" + os.environ["KUBERNETES_SERVICE_PORT"], "kubernetes.default.svc"):
    url = f"https://{{place}}/api/v1/namespaces/{namespace}/" + sys.argv[1]
    request = urllib.request.Request(url, headers={{"Authorization": "Bearer " + token}})
    try:
        print(urllib.request.urlopen(request, context=trusted, timeout=10).status)
    except urllib.error.HTTPError as error:
        print(error.code)
"""
    kubectl("create", "role", "reader", "--verb=list", "--resource=pods")
    kubectl("create", "rolebinding", "reader", "--role=reader", f"--serviceaccount={namespace}:default")
    kubectl.apply(pod("asker", container(*SLEEP)))
    until_ready(kubectl, "asker")
    assert kubectl("exec", "asker", "--", "python", "-c", script, "pods") == "200\n200\n"
    assert kubectl("exec", "asker", "--", "python", "-c", script, "secrets") == "403\n403\n"


def test_a_container_may_run_as_another_user_and_write_to_its_volumes_alone(kubectl):
    guest = {"runAsUser": 1000, "runAsGroup": 1001, "runAsNonRoot": True, "readOnlyRootFilesystem": True}
    mounts = [{"name": "scratch", "mountPath": "/scratch"}, {"name": "told", "mountPath": "/told"}]
    volumes = [{"name": "scratch", "emptyDir": {}}, {"name": "told", "secret": {"secretName": "told", "defaultMode": 0o400}}]
    kubectl.apply(
        secret("told", password="hush"),
        pod(
            "guest",
            container(*SLEEP, securityContext=guest, volumeMounts=mounts),
            volumes=volumes,
            securityContext={"fsGroup": 1002},
        ),
        pod("root", container(*SLEEP, securityContext={"runAsNonRoot": True})),
    )
    until_ready(kubectl, "guest")
    assert kubectl("exec", "guest", "--", "sh", "-c", "id -u; id -g; id -G; cat /told/password") == "1000\n1001\n1001 1002\nhush"
    assert kubectl("exec", "guest", "--", "sh", "-c", "touch /scratch/mine && stat -c %g /scratch/mine") == "1002\n"
    with pytest.raises(ClientError, match="Read-only file system"):
        kubectl("exec", "guest", "--", "touch", "/mine")
    assert container_status(kubectl, "root")["state"]["waiting"]["reason"] == "CreateContainerConfigError"


def test_all_processes_of_a_container_end_with_its_first_one(kubectl, node, namespace):
    script = "setsid sleep 1000 & echo $!; exec sleep 1000"
    kubectl.apply(pod("parent", container("sh", "-c", script), restartPolicy="Never"))
    until_ready(kubectl, "parent")
    kubectl.until(lambda: kubectl("logs", "parent") != "", READY, "the child is there")
    inside = os.readlink(f"/proc/{node.pid(namespace, 'parent', 'main')}/ns/pid")
    assert len(processes_in(inside)) == 2
    node.signal(namespace, "parent", "main")
    kubectl("wait", "--for=jsonpath={.status.phase}=Failed", "pod/parent", f"--timeout={READY:.0f}s")
    assert processes_in(inside) == []


def processes_in(namespace):
    """The processes of a namespace of processes."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if os.readlink(folder / "ns" / "pid") == namespace:
                found.append(int(folder.name))
        except OSError:
            continue
    return found


def test_a_pod_is_asked_to_end_and_has_its_time_for_it(kubectl):
    script = "trap 'echo asked; sleep 0.5; echo over; exit 0' TERM; echo up; while true; do sleep 0.1; done"
    kubectl.apply(pod("polite", container("sh", "-c", script)))
    until_ready(kubectl, "polite")
    follower = kubectl.start("logs", "--follow", "polite")
    assert follower.stdout.readline() == "up\n"
    kubectl("delete", "pod", "polite", "--grace-period=20")
    printed, _ = follower.communicate(timeout=READY)
    assert printed == "asked\nover\n"


def test_containers_come_in_their_order_and_those_that_stay_end_with_the_last_one(kubectl):
    shared = [{"name": "shared", "mountPath": "/shared"}]
    first = container("sh", "-c", "echo first > /shared/order", name="first", volumeMounts=shared)
    stays = container("sh", "-c", "echo stays >> /shared/order; exec sleep 1000", name="stays", volumeMounts=shared)
    stays |= {"restartPolicy": "Always", "startupProbe": {"exec": {"command": ["grep", "stays", "/shared/order"]}}}
    last = container("cat", "/shared/order", volumeMounts=shared)
    template = pod("", last, initContainers=[first, stays], volumes=[{"name": "shared", "emptyDir": {}}], restartPolicy="Never")
    spec = {"completions": 2, "parallelism": 2, "template": {"spec": template["spec"]}}
    kubectl.apply({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "once"}, "spec": spec})
    kubectl("wait", "--for=condition=Complete", "job/once", f"--timeout={READY:.0f}s")
    pods = kubectl.list("pods", "job-name=once")
    assert len(pods) == 2
    for each in pods:
        assert kubectl("logs", each["metadata"]["name"], "--container=main") == "first\nstays\n"


def test_who_is_not_alive_is_started_again_and_who_is_not_ready_is_left_out(kubectl):
    probed = container("sh", "-c", "touch /ready /alive; exec sleep 1000")
    times = {"periodSeconds": 1, "timeoutSeconds": 10, "failureThreshold": 2}
    probed["readinessProbe"] = {"exec": {"command": ["test", "-e", "/ready"]}} | times
    probed["livenessProbe"] = {"exec": {"command": ["test", "-e", "/alive"]}} | times
    kubectl.apply(pod("probed", probed))
    until_ready(kubectl, "probed")
    kubectl("exec", "probed", "--", "rm", "/ready")
    kubectl.until(lambda: not is_ready(kubectl, "probed"), READY, "the pod is not ready any more")
    assert container_status(kubectl, "probed")["restartCount"] == 0
    kubectl("exec", "probed", "--", "rm", "/alive")
    kubectl.until(lambda: container_status(kubectl, "probed")["restartCount"] == 1, READY, "the container is started again")
    until_ready(kubectl, "probed")


def test_a_pod_that_others_have_declared_unready_is_soon_ready_again(kubectl):
    """As the controller of nodes does for a node that it has not heard of for a while."""
    kubectl.apply(pod("steady", container(*SLEEP)))
    until_ready(kubectl, "steady")
    before = ready_since(kubectl, "steady")
    unready = json.dumps(
        {"status": {"conditions": [{"type": "Ready", "status": "False", "lastTransitionTime": "2026-01-01T00:00:00Z"}]}}
    )
    kubectl("patch", "pod", "steady", "--subresource=status", "--type=strategic", f"--patch={unready}")
    kubectl.until(lambda: is_ready(kubectl, "steady") and ready_since(kubectl, "steady") == before, READY, "it is ready again")


def ready_since(kubectl, name):
    (ready,) = (each for each in kubectl.get("pod", name)["status"]["conditions"] if each["type"] == "Ready")
    return ready["lastTransitionTime"]


def test_another_node_has_an_image_and_takes_its_pods_along(cluster, kubectl, namespace, tmp_path):
    there = {"nodeSelector": {"kubernetes.io/hostname": "node-2"}, "tolerations": [{"operator": "Exists"}]}
    greeter = {"name": "main", "image": "greeter", "args": ["night"]}
    image = Image(("sh", "-c", "echo good $0 from $WHO; exec sleep 1000"), ("day",), {"WHO": "the image"})
    kubectl.apply(pod("known", greeter, **there), pod("unknown", greeter | {"image": "nobody"}, **there))
    with Node.start(cluster, tmp_path / "node-2", "node-2", {"greeter": image}) as second:
        until_ready(kubectl, "known")
        assert kubectl("logs", "known") == "good night from the image\n"
        assert container_status(kubectl, "unknown")["state"]["waiting"]["reason"] == "ErrImagePull"
        pid = second.pid(namespace, "known", "main")
        second.process.kill()
        kubectl.until(lambda: not Path(f"/proc/{pid}").exists(), READY, "its processes end with it")
        second.process.start()
        kubectl.until(lambda: container_status(kubectl, "known")["restartCount"] == 1, READY, "it goes on with its pods")
    assert not kubectl.exists("node", "node-2")


def test_what_an_owner_owns_is_deleted_with_it(kubectl):
    kubectl.apply(GARDEN)
    uid = kubectl.get("garden", "mine")["metadata"]["uid"]
    owner = {"apiVersion": "rig.example/v1", "kind": "Garden", "name": "mine", "uid": uid}
    owned = config_map("owned", of="mine")
    owned["metadata"]["ownerReferences"] = [owner]
    kubectl.apply(owned, config_map("free", of="nobody"))
    kubectl("delete", "garden", "mine")
    kubectl.until(lambda: not kubectl.exists("configmap", "owned"), READY, "what it owned is deleted")
    assert kubectl.exists("configmap", "free")


def test_a_resource_is_refused_with_the_message_of_its_rule(kubectl):
    kubectl.apply(GARDEN)
    with pytest.raises(ClientError, match="more than 5 beds are for hay only"):
        kubectl.apply(GARDEN | {"spec": {"beds": 6, "crop": "oats"}})
    with pytest.raises(ClientError, match="a garden keeps its crop"):
        kubectl.apply(GARDEN | {"spec": {"beds": 3, "crop": "hay"}})
    with pytest.raises(ClientError, match='missing required field "beds"'):
        kubectl.apply(GARDEN | {"spec": {"crop": "oats"}})
    kubectl("scale", "garden", "mine", "--replicas=4")
    kubectl("patch", "garden", "mine", "--subresource=status", "--type=merge", '--patch={"status":{"beds":4}}')
    assert kubectl.get("garden", "mine")["spec"]["beds"] == kubectl.get("garden", "mine")["status"]["beds"] == 4


def test_a_lease_is_had_by_one_of_two(kubectl):
    spec = {"holderIdentity": "a", "leaseDurationSeconds": 15}
    kubectl.apply({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "leader"}, "spec": spec})
    seen = kubectl.get("lease", "leader")
    kubectl("replace", "--filename=-", send=json.dumps(seen | {"spec": spec | {"holderIdentity": "b"}}))
    with pytest.raises(ClientError, match="the object has been modified"):
        kubectl("replace", "--filename=-", send=json.dumps(seen | {"spec": spec | {"holderIdentity": "c"}}))
    assert kubectl.get("lease", "leader")["spec"]["holderIdentity"] == "b"


def test_helm_installs_a_chart(cluster, namespace, kubectl, tmp_path):
    (tmp_path / "templates").mkdir()
    (tmp_path / "Chart.yaml").write_text("{apiVersion: v2, name: greeter, version: 0.1.0}")
    (tmp_path / "values.yaml").write_text("greeting: hello")
    (tmp_path / "templates" / "told.yaml").write_text(CHART)
    helm = cluster.helm.within(namespace)
    helm("install", "first", str(tmp_path), "--set=greeting=good morning")
    assert kubectl.get("configmap", "first-told")["data"] == {"greeting": "good morning"}
    helm("uninstall", "first")
    assert not kubectl.exists("configmap", "first-told")


@pytest.mark.long
def test_pods_outlive_the_api_server_and_are_followed_by_the_next_one(cluster, kubectl, node, namespace):
    kubectl.apply(workload("Deployment", "steady", 1, container(*SLEEP)))
    kubectl("rollout", "status", "deployment/steady", f"--timeout={READY:.0f}s")
    (only,) = kubectl.list("pods", "app=steady")
    name = only["metadata"]["name"]
    before = node.pid(namespace, name, "main")
    cluster.restart("kube-apiserver")
    kubectl.until(lambda: is_ready(kubectl, name), READY, "the API server knows the pod")
    assert node.pid(namespace, name, "main") == before
    node.signal(namespace, name, "main")
    kubectl.until(lambda: container_status(kubectl, name)["restartCount"] == 1, READY, "the restart is told to the next one")


@pytest.mark.long
def test_another_session_runs_beside_this_one_and_leaves_no_process_when_it_is_killed(cluster, tmp_path):
    beside = subprocess.Popen(
        [sys.executable, "-c", BESIDE, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
    )
    pids = [int(pid) for pid in beside.stdout.readline().split()]
    assert len(pids) == 7
    assert all(Path(f"/proc/{pid}").exists() for pid in pids)
    assert not cluster.kubectl.exists("pod", "sleeper")
    beside.kill()
    beside.communicate()
    cluster.kubectl.until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in pids), READY, "all its processes end")
