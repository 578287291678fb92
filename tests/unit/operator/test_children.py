import dataclasses
import json

import pytest

from pitstop.operator import kinds
from pitstop.operator.children import children
from pitstop.operator.cluster_names import Named
from pitstop.operator.resources.cluster import Hazelcast, ignored_fields
from pitstop.operator.settings import Image

IMAGE = Image(name="registry/pitstop:7", member_cores=2, storage="1Gi", storage_class="fast")


def named(**spec):
    return Named("hazelcast", "lab", "uid-1", Hazelcast.model_validate({"spec": spec}))


def made(cluster):
    return {(kind.name, each["metadata"]["name"]): each for kind, each in children(cluster, IMAGE, "mark")}


def pod(cluster, name):
    return made(cluster)["StatefulSet", name]["spec"]["template"]["spec"]


@pytest.fixture
def parts():
    return made(named(clusterSize=5))


def test_a_cluster_is_a_control_plane_members_and_what_leads_to_them(parts):
    assert set(parts) == {
        ("PersistentVolumeClaim", "hazelcast-data"),
        ("Service", "hazelcast"),
        ("Service", "hazelcast-pods"),
        ("NetworkPolicy", "hazelcast"),
        ("PodDisruptionBudget", "hazelcast"),
        ("StatefulSet", "hazelcast-control-plane"),
        ("StatefulSet", "hazelcast"),
    }
    assert parts["StatefulSet", "hazelcast"]["spec"]["replicas"] == 5
    assert parts["StatefulSet", "hazelcast-control-plane"]["spec"]["replicas"] == 1


def test_everything_goes_with_its_cluster_and_is_found_as_ours(parts):
    for each in parts.values():
        assert each["metadata"]["namespace"] == "lab"
        assert [owner["uid"] for owner in each["metadata"]["ownerReferences"]] == ["uid-1"]
        assert each["metadata"]["labels"]["app.kubernetes.io/managed-by"] == "pitstop-operator"


def test_pods_are_selected_by_labels_that_they_have(parts):
    pods = [
        parts["StatefulSet", name]["spec"]["template"]["metadata"]["labels"] for name in ("hazelcast-control-plane", "hazelcast")
    ]

    def selected(selector):
        return [all(labels.get(key) == value for key, value in selector.items()) for labels in pods]

    assert selected(parts["Service", "hazelcast"]["spec"]["selector"]) == [True, False]
    assert selected(parts["Service", "hazelcast-pods"]["spec"]["selector"]) == [True, True]
    assert selected(parts["NetworkPolicy", "hazelcast"]["spec"]["podSelector"]["matchLabels"]) == [True, True]
    for name, expected in (("hazelcast-control-plane", [True, False]), ("hazelcast", [False, True])):
        assert selected(parts["StatefulSet", name]["spec"]["selector"]["matchLabels"]) == expected
    assert all(labels["app.kubernetes.io/name"] == "hazelcast" for labels in pods)


@pytest.mark.parametrize("name", ["hazelcast", "hazelcast-control-plane"])
def test_pods_run_the_image_without_root_and_without_rights(name):
    found = pod(named(), name)
    (container,) = found["containers"]
    assert (container["name"], container["image"]) == ("hazelcast", "registry/pitstop:7")
    assert found["securityContext"]["runAsNonRoot"]
    assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    assert container["securityContext"]["readOnlyRootFilesystem"]
    assert found["automountServiceAccountToken"] is False
    assert found["enableServiceLinks"] is False
    assert found["securityContext"]["fsGroupChangePolicy"] == "OnRootMismatch"
    assert set(container["resources"]["requests"]) == {"cpu", "memory"}


def test_a_store_in_a_file_keeps_all_pods_on_one_node():
    members = pod(named(), "hazelcast")
    assert "podAffinity" in members["affinity"]
    assert "shared-file" in members["containers"][0]["args"]
    assert made(named())["PersistentVolumeClaim", "hazelcast-data"]["spec"]["accessModes"] == ["ReadWriteOnce"]
    assert made(named())["PodDisruptionBudget", "hazelcast"]["spec"]["maxUnavailable"] == "100%"  # all at once


def test_a_store_of_its_own_lets_pods_be_anywhere():
    cluster = named(storeSecretName="postgres")
    members = pod(cluster, "hazelcast")
    assert "affinity" not in members
    variables = {each["name"]: each for each in members["containers"][0]["env"]}
    assert variables["PITSTOP_STORE"]["valueFrom"]["secretKeyRef"] == {"name": "postgres", "key": "url"}
    assert made(cluster)["PersistentVolumeClaim", "hazelcast-data"]["spec"]["accessModes"] == ["ReadWriteMany"]
    assert made(cluster)["PodDisruptionBudget", "hazelcast"]["spec"]["maxUnavailable"] == 1


def test_the_volume_is_where_persistence_says():
    cluster = named(persistence={"baseDir": "/kept"})
    (container,) = pod(cluster, "hazelcast")["containers"]
    assert {"name": "data", "mountPath": "/kept"} in container["volumeMounts"]
    assert {"name": "PITSTOP_DATA", "value": "/kept/pitstop"} in container["env"]
    claim = made(cluster)["PersistentVolumeClaim", "hazelcast-data"]["spec"]
    assert (claim["storageClassName"], claim["resources"]["requests"]["storage"]) == ("fast", "1Gi")


def test_the_delay_before_jobs_use_a_new_member_is_the_one_of_the_spec():
    cluster = named(jet={"instance": {"scaleUpDelayMillis": 2500}})
    arguments = pod(cluster, "hazelcast-control-plane")["containers"][0]["args"]
    assert arguments[arguments.index("--scale-up-delay") + 1] == "2.5"


def test_no_secret_stands_in_what_others_may_read():
    text = json.dumps([each for _, each in children(named(storeSecretName="postgres"), IMAGE, "mark")])
    assert "secretKeyRef" in text
    assert "password=" not in text


@pytest.fixture
def on_pods():
    return named(clusterSize=3, spark={"master": "k8s", "serviceAccountName": "spark"}, storeSecretName="store")


def test_all_that_is_made_is_watched(on_pods):
    made_of_all = {kind for cluster in (named(), on_pods) for kind, _ in children(cluster, IMAGE, "mark")}
    assert made_of_all == set(kinds.CHILDREN)


def test_jobs_whose_executors_are_pods_need_no_members(on_pods):
    assert made(on_pods)["StatefulSet", "hazelcast"]["spec"]["replicas"] == 0
    control_plane = pod(on_pods, "hazelcast-control-plane")
    arguments = control_plane["containers"][0]["args"]
    assert arguments[arguments.index("--master") + 1] == "k8s://https://kubernetes.default.svc"
    assert arguments[arguments.index("--spares") + 1] == "0"
    assert "--cluster-host" not in arguments
    assert (control_plane["serviceAccountName"], control_plane["automountServiceAccountToken"]) == ("spark", True)


def test_spark_makes_the_pods_of_executors_as_confined_as_all_others(on_pods):
    files = made(on_pods)["ConfigMap", "hazelcast-spark"]["data"]
    settings = dict(line.split(" ", 1) for line in files["spark-defaults.conf"].splitlines())
    assert settings["spark.executor.instances"] == "3"
    assert settings["spark.executor.cores"] == "2"
    assert settings["spark.kubernetes.container.image"] == "registry/pitstop:7"
    assert settings["spark.kubernetes.driver.pod.name"] == "hazelcast-control-plane-0"
    template = json.loads(files["executor.json"])
    control_plane = pod(on_pods, "hazelcast-control-plane")
    assert template["spec"]["securityContext"] == control_plane["securityContext"]
    assert template["spec"]["automountServiceAccountToken"] is False
    (container,) = template["spec"]["containers"]
    assert container["securityContext"] == control_plane["containers"][0]["securityContext"]
    assert {mount["name"] for mount in container["volumeMounts"]} <= {volume["name"] for volume in template["spec"]["volumes"]}
    selected = made(on_pods)["NetworkPolicy", "hazelcast"]["spec"]["podSelector"]["matchLabels"]
    assert selected.items() <= template["metadata"]["labels"].items()


def test_pods_that_spark_makes_do_not_keep_others_from_being_drained(on_pods):
    """Kubernetes counts by the controllers of the pods that a budget selects, and of a pod as controller it knows no count."""
    parts = made(on_pods)
    selector = parts["PodDisruptionBudget", "hazelcast"]["spec"]["selector"]
    template = json.loads(parts["ConfigMap", "hazelcast-spark"]["data"]["executor.json"])
    pods = [parts["StatefulSet", name]["spec"]["template"] for name in ("hazelcast-control-plane", "hazelcast")]

    def selects(labels):
        listed = all(
            labels.get(rule["key"]) in rule["values"] for rule in selector.get("matchExpressions", []) if rule["operator"] == "In"
        )
        return listed and selector["matchLabels"].items() <= labels.items()

    assert [selects(each["metadata"]["labels"]) for each in (*pods, template)] == [True, True, False]


def test_the_settings_of_drivers_are_where_their_control_plane_looks(on_pods):
    control_plane = pod(on_pods, "hazelcast-control-plane")
    (container,) = control_plane["containers"]
    folder = next(each["value"] for each in container["env"] if each["name"] == "SPARK_CONF_DIR")
    (mounted,) = [mount["name"] for mount in container["volumeMounts"] if mount["mountPath"] == folder]
    (volume,) = [volume for volume in control_plane["volumes"] if volume["name"] == mounted]
    assert volume["configMap"]["name"] == "hazelcast-spark"
    assert container["args"][container["args"].index("--pass-env") + 1] == "SPARK_CONF_DIR"


def test_drivers_on_members_have_their_memory_and_outlive_the_control_plane():
    cluster = named(spark={"drivers": "members"})
    (control_plane,) = pod(cluster, "hazelcast-control-plane")["containers"]
    (member,) = pod(cluster, "hazelcast")["containers"]
    assert {"--runners-on-members", "--cluster-host"} <= set(control_plane["args"])
    assert "--stop-jobs-on-exit" not in control_plane["args"]
    assert control_plane["args"][control_plane["args"].index("--spares") + 1] == "0"
    assert "--print-job-logs" in member["args"]
    assert member["resources"]["limits"]["memory"] == IMAGE.control_plane_memory
    assert control_plane["resources"]["limits"]["memory"] == IMAGE.member_memory


OF_HAZELCAST = {
    "clusterName": "dev",
    "repository": "docker.io/hazelcast/hazelcast-enterprise",
    "version": "5.3.2-slim",
    "imagePullPolicy": "Always",
    "imagePullSecrets": [{"name": "registry"}],
    "resources": {"requests": {"cpu": 3, "memory": "8Gi"}, "limits": {"memory": "8Gi"}},
    "exposeExternally": {"type": "Smart", "discoveryServiceType": "NodePort", "memberAccess": "NodePortExternalIP"},
    "persistence": {
        "clusterDataRecoveryPolicy": "FullRecoveryOnly",
        "pvc": {"accessModes": ["ReadWriteOncePod"], "requestStorage": "20Gi", "storageClassName": "slow"},
    },
    "jet": {"instance": {"backupCount": 1}},
}
"""The fields of a manifest that was written for the Hazelcast operator."""


def test_what_a_manifest_of_hazelcast_asks_for_is_carried_out():
    cluster = named(**OF_HAZELCAST)
    assert made(cluster)["PersistentVolumeClaim", "hazelcast-data"]["spec"] == {
        "accessModes": ["ReadWriteOncePod"],
        "resources": {"requests": {"storage": "20Gi"}},
        "storageClassName": "slow",
    }
    assert made(cluster)["Service", "hazelcast"]["spec"]["type"] == "NodePort"
    for name in ("hazelcast", "hazelcast-control-plane"):
        assert pod(cluster, name)["imagePullSecrets"] == [{"name": "registry"}]
        assert pod(cluster, name)["containers"][0]["imagePullPolicy"] == "Always"
    (member,) = pod(cluster, "hazelcast")["containers"]
    assert member["resources"] == {"requests": {"cpu": "3", "memory": "8Gi"}, "limits": {"memory": "8Gi"}}
    assert member["args"][member["args"].index("--cores") + 1] == "3"


@pytest.mark.parametrize(
    ("resources", "requests", "limits"),
    [
        ({"requests": {"memory": "64Gi"}}, {"cpu": str(IMAGE.member_cores), "memory": "64Gi"}, {"memory": "64Gi"}),
        ({"limits": {"memory": "16Mi"}}, {"cpu": str(IMAGE.member_cores), "memory": "16Mi"}, {"memory": "16Mi"}),
        (
            {"limits": {"cpu": "500m"}},
            {"cpu": "500m", "memory": IMAGE.member_memory},
            {"cpu": "500m", "memory": IMAGE.member_memory},
        ),
    ],
)
def test_a_usual_request_or_limit_gives_way_to_the_one_that_is_asked_for(resources, requests, limits):
    (member,) = pod(named(resources=resources), "hazelcast")["containers"]
    assert member["resources"] == {"requests": requests, "limits": limits}


def test_the_type_of_a_service_that_nobody_asks_to_expose_is_left_alone():
    assert "type" not in made(named())["Service", "hazelcast"]["spec"]


def test_what_means_nothing_here_is_named():
    assert sorted(ignored_fields(named(**OF_HAZELCAST).resource.spec)) == [
        "spec.clusterName",
        "spec.exposeExternally.memberAccess",
        "spec.exposeExternally.type",
        "spec.jet.instance.backupCount",
        "spec.persistence.clusterDataRecoveryPolicy",
        "spec.repository",
        "spec.version",
    ]
    assert ignored_fields(named().resource.spec) == []
    assert ignored_fields(named(repository="registry.example.org/pitstop", version="1").resource.spec) == []


@pytest.mark.parametrize(
    ("spec", "image"),
    [
        ({"repository": "registry.example.org/pitstop", "version": "0.2.0"}, "registry.example.org/pitstop:0.2.0"),
        ({"repository": "registry.example.org/pitstop"}, "registry.example.org/pitstop"),
        ({"repository": "hazelcast/hazelcast", "version": "5.3.2"}, IMAGE.name),  # it has no Pitstop in it
        ({"version": "5.3.2"}, IMAGE.name),
    ],
)
def test_the_image_is_that_of_the_spec_unless_it_is_hazelcasts(spec, image):
    for name in ("hazelcast", "hazelcast-control-plane"):
        assert pod(named(**spec), name)["containers"][0]["image"] == image


def test_executors_are_of_the_same_image_and_pull_it_with_the_same_secrets(on_pods):
    spec = on_pods.resource.spec.model_dump(by_alias=True, exclude_none=True)
    cluster = named(**spec | {"repository": "r/pitstop", "imagePullSecrets": [{"name": "registry"}]})
    files = made(cluster)["ConfigMap", "hazelcast-spark"]["data"]
    assert "spark.kubernetes.container.image r/pitstop\n" in files["spark-defaults.conf"]
    assert json.loads(files["executor.json"])["spec"]["imagePullSecrets"] == [{"name": "registry"}]


def test_secrets_of_the_chart_pull_images_of_clusters_that_name_none():
    image = dataclasses.replace(IMAGE, pull_secrets=("usual",))
    parts = {each["metadata"]["name"]: each for kind, each in children(named(), image, "mark") if kind is kinds.STATEFUL_SET}
    assert parts["hazelcast"]["spec"]["template"]["spec"]["imagePullSecrets"] == [{"name": "usual"}]


def test_the_secret_of_jobs_is_a_folder_of_the_pods_that_run_drivers_and_of_no_others():
    cluster = named(jobSecretName="passwords", spark={"master": "k8s", "serviceAccountName": "spark"})
    for name in ("hazelcast-control-plane", "hazelcast"):
        described = pod(cluster, name)
        (volume,) = [each for each in described["volumes"] if each["name"] == "secrets"]
        assert volume["secret"] == {"secretName": "passwords", "defaultMode": 0o440}
        (container,) = described["containers"]
        (mount,) = [each for each in container["volumeMounts"] if each["name"] == "secrets"]
        assert mount["readOnly"]
        assert {"name": "PITSTOP_SECRETS", "value": mount["mountPath"]} in container["env"]
    assert "passwords" not in json.dumps(made(cluster)["ConfigMap", "hazelcast-spark"])
    assert "secrets" not in json.dumps(pod(named(), "hazelcast")["volumes"])
