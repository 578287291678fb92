"""The chart, installed on a cluster that knows nothing of us."""

import io
import subprocess
import tarfile
from pathlib import Path

import pytest
import yaml

from tests.kubernetes.manifests import job
from tests.kubernetes.operating import IMAGES, ROOT
from tests.kubernetes.rig.clients import ClientError
from tests.kubernetes.rig.cluster import Cluster
from tests.kubernetes.rig.node import Node

pytestmark = pytest.mark.long

CHART = ROOT / "deploy" / "helm" / "pitstop"
OPTIONS = (
    "--set=metrics.serviceMonitor.enabled=true",
    "--set=metrics.rules.enabled=true",
    "--set=metrics.dashboard.enabled=true",
)
KINDS = {"hazelcasts.hazelcast.com", "jetjobs.hazelcast.com", "jetjobsnapshots.hazelcast.com", "maps.hazelcast.com"}
SECONDS = 120


def changes_of_the_chart():
    """The commits that changed it, the newest first."""
    command = ("git", "-C", str(ROOT), "log", "--format=%H", "--", str(CHART))
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()


@pytest.fixture
def chart_before(tmp_path):
    """The chart as it was before it was last changed."""
    changes = changes_of_the_chart()
    if len(changes) < 2:
        pytest.skip("This checkout does not have the history of the chart.")
    archive = subprocess.run(
        ("git", "-C", str(ROOT), "archive", changes[1], str(CHART.relative_to(ROOT))), capture_output=True, check=True
    )
    with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as files:
        files.extractall(tmp_path, filter="data")
    return tmp_path / CHART.relative_to(ROOT)


@pytest.fixture(scope="module")
def empty(tools, tmp_path_factory):
    """A cluster without our kinds."""
    folder = tmp_path_factory.mktemp("helm")
    with Cluster.start(folder / "cluster", tools) as cluster, Node.start(cluster, folder / "node-1", images=IMAGES):
        yield cluster


def rendered(cluster, *options):
    text = cluster.helm("template", "pitstop", str(CHART), "--namespace=pitstop", "--kube-version=1.35", *options)
    return [each for each in yaml.safe_load_all(text) if each]


def kinds_of(objects):
    return {each["kind"] for each in objects}


def test_the_chart_is_sound_and_its_options_add_what_they_say(empty):
    empty.helm("lint", "--strict", str(CHART))
    assert kinds_of(rendered(empty, *OPTIONS)) - kinds_of(rendered(empty)) == {
        "ConfigMap",
        "PrometheusRule",
        "Service",
        "ServiceMonitor",
    }


def test_one_namespace_needs_no_rights_in_others(empty):
    assert not {each for each in kinds_of(rendered(empty, "--set=watchNamespace=lab")) if each.startswith("ClusterRole")}


def test_the_chart_tells_the_operator_of_pull_secrets_and_of_a_folder_with_code(empty):
    volume = "--set=filesFrom.persistentVolumeClaim.claimName=code"
    (found,) = [each for each in rendered(empty, "--set=clusters.imagePullSecrets={a,b}", volume) if each["kind"] == "Deployment"]
    pod = found["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert {"--image-pull-secret=a", "--image-pull-secret=b", "--files-from=/files"} <= set(container["args"])
    assert {"name": "files", "mountPath": "/files", "readOnly": True} in container["volumeMounts"]
    assert {"name": "files", "persistentVolumeClaim": {"claimName": "code"}} in pod["volumes"]


def test_the_plain_manifests_are_what_the_chart_makes(empty):
    plain = Path(ROOT / "deploy" / "kubernetes" / "operator.yaml").read_text()
    made = empty.helm("template", "pitstop", str(CHART), "--namespace=pitstop", "--set=crds.install=false", "--kube-version=1.35")
    assert list(yaml.safe_load_all(plain)) == list(yaml.safe_load_all(made)), "write deploy/kubernetes/operator.yaml again"


def install_or_upgrade(cluster, verb, chart, *options):
    """Returns once all of the operator's pods are as the chart says."""
    command = (verb, "pitstop", str(chart), "--namespace=pitstop", "--wait", "--timeout=110s", *options)
    cluster.helm(*command, seconds=SECONDS)
    told = cluster.kubectl.within("pitstop")
    told("rollout", "status", "deployment/pitstop-operator", f"--timeout={SECONDS}s", seconds=SECONDS + 5)


def is_seen(kubectl, name):
    """No cluster has been made: an operator that is there says that the job has failed."""
    kubectl.apply(job(name))
    kubectl.until(lambda: kubectl.get("jetjob", name)["status"]["phase"] == "Failed", SECONDS, "the operator has seen it")


def test_it_is_installed_upgraded_and_removed_and_keeps_what_people_have_applied(empty, tmp_path):
    kubectl, pitstop = empty.kubectl, empty.kubectl.within("pitstop")
    install_or_upgrade(empty, "install", CHART, "--create-namespace")
    pods = pitstop.list("pod", "app.kubernetes.io/name=pitstop-operator")
    assert len(pods) == 2
    lab = kubectl.within("default")
    is_seen(lab, "transaction-v1")
    with pytest.raises(ClientError, match="JetJob transaction-v1 already uses the same name"):
        lab.apply(job("doubled", name="transaction-v1"))
    lab.apply(job("elsewhere", name="transaction-v1", hazelcastResourceName="another"))
    lab("delete", "jetjob", "elsewhere")
    holder = pitstop.get("lease", "pitstop-operator")["spec"]["holderIdentity"]
    assert holder in {each["metadata"]["name"] for each in pods}

    install_or_upgrade(empty, "upgrade", CHART, "--set=clusters.spares=0")
    is_seen(lab, "second")

    empty.helm("uninstall", "pitstop", "--namespace=pitstop", "--wait", seconds=SECONDS)
    assert {each["metadata"]["name"] for each in kubectl.list("crd")} >= KINDS
    assert {each["metadata"]["name"] for each in lab.list("jetjob")} == {"transaction-v1", "second"}


def test_the_chart_before_is_upgraded_to_this_one(empty, chart_before):
    lab = empty.kubectl.within("default")
    install_or_upgrade(empty, "install", chart_before, "--create-namespace")
    is_seen(lab, "of-the-chart-before")
    install_or_upgrade(empty, "upgrade", CHART)
    assert lab.get("jetjob", "of-the-chart-before")["status"]["phase"] == "Failed"
    is_seen(lab, "of-this-chart")
    empty.helm("uninstall", "pitstop", "--namespace=pitstop", "--wait", seconds=SECONDS)


def test_values_that_are_none_of_the_chart_are_refused(empty):
    command = empty.helm.command("template", "pitstop", str(CHART), "--set=replica=3")
    ended = subprocess.run(command, capture_output=True, text=True, env=dict(empty.helm.variables))
    assert ended.returncode != 0
    assert "replica" in ended.stderr
