import dataclasses
import json

import pytest

from pitstop.operator import kinds
from pitstop.operator.children import children
from pitstop.operator.cluster_names import Named
from pitstop.operator.resources.cluster import Hazelcast, ignored_fields
from pitstop.operator.resources.pods import OWN_VARIABLES
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


SCHEDULING = {
    "nodeSelector": {"disk": "ssd"},
    "tolerations": [{"key": "dedicated", "operator": "Equal", "value": "streams", "effect": "NoSchedule"}],
    "topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}],
}
PODS = ("hazelcast", "hazelcast-control-plane")


def test_pods_are_scheduled_as_the_spec_says():
    for name in PODS:
        assert {key: pod(named(scheduling=SCHEDULING), name)[key] for key in SCHEDULING} == SCHEDULING
        assert not SCHEDULING.keys() & pod(named(), name).keys()


def test_the_servers_own_scheduling_takes_the_place_of_that_of_all_pods_field_by_field():
    cluster = named(scheduling=SCHEDULING, controlPlane={"scheduling": {"nodeSelector": {"disk": "nvme"}}})
    assert pod(cluster, "hazelcast")["nodeSelector"] == {"disk": "ssd"}
    assert pod(cluster, "hazelcast-control-plane")["nodeSelector"] == {"disk": "nvme"}
    assert pod(cluster, "hazelcast-control-plane")["tolerations"] == SCHEDULING["tolerations"]


def test_an_affinity_of_the_spec_comes_beside_the_one_to_the_node_of_the_store():
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    theirs = {"labelSelector": {"matchLabels": {"app": "cache"}}, "topologyKey": "zone"}
    affinity = {"nodeAffinity": {required: {"nodeSelectorTerms": []}}, "podAffinity": {required: [theirs], "x": 1}}
    (ours,) = pod(named(), "hazelcast")["affinity"]["podAffinity"][required]
    both = pod(named(scheduling={"affinity": affinity}), "hazelcast")["affinity"]
    assert both == {"nodeAffinity": affinity["nodeAffinity"], "podAffinity": {required: [ours, theirs], "x": 1}}
    assert pod(named(scheduling={"affinity": affinity}), "hazelcast-control-plane")["affinity"] == affinity
    assert pod(named(scheduling={"affinity": affinity}, storeSecretName="store"), "hazelcast")["affinity"] == affinity


def test_the_servers_resources_are_those_of_the_spec_and_members_keep_theirs():
    cluster = named(controlPlane={"resources": {"requests": {"cpu": 2, "memory": "16Gi"}, "limits": {"memory": "16Gi"}}})
    (server,) = pod(cluster, "hazelcast-control-plane")["containers"]
    assert server["resources"] == {"requests": {"cpu": "2", "memory": "16Gi"}, "limits": {"memory": "16Gi"}}
    assert pod(cluster, "hazelcast")["containers"][0]["resources"] == pod(named(), "hazelcast")["containers"][0]["resources"]


def test_labels_and_annotations_of_the_spec_are_on_pods_and_objects_and_change_nothing_of_ours():
    theirs = {"team": "fleet", "app.kubernetes.io/name": "x", "app.kubernetes.io/managed-by": "x"}
    cluster = named(labels=theirs, annotations={"scrape": "yes", "hazelcast.com/token": "x"})
    before, after = made(named()), made(cluster)
    for place, part in after.items():
        assert part["metadata"]["labels"] == {"team": "fleet", **before[place]["metadata"]["labels"]}
        assert part["metadata"]["annotations"] == {"scrape": "yes"}
    for name in PODS:
        template, usual = (parts["StatefulSet", name]["spec"]["template"]["metadata"] for parts in (after, before))
        assert template["labels"] == {"team": "fleet", **usual["labels"]}
        assert template["annotations"] == {"scrape": "yes", **usual["annotations"]}
        assert after["StatefulSet", name]["spec"]["selector"] == before["StatefulSet", name]["spec"]["selector"]
    assert sorted(ignored_fields(cluster.resource.spec)) == [
        "spec.annotations.hazelcast.com/token",
        "spec.labels.app.kubernetes.io/managed-by",
        "spec.labels.app.kubernetes.io/name",
    ]


def test_variables_of_the_spec_come_beside_those_of_the_operator():
    secret = {"secretKeyRef": {"name": "s", "key": "k"}}
    theirs = [{"name": "TZ", "value": "UTC"}, {"name": "KEY", "valueFrom": secret}]
    cluster = named(env=[*theirs, {"name": "PITSTOP_DATA", "value": "/elsewhere"}], serviceAccountName="reader")
    for name in PODS:
        usual = pod(named(), name)["containers"][0]["env"]
        assert pod(cluster, name)["containers"][0]["env"] == [*usual, *theirs]
        assert pod(cluster, name)["serviceAccountName"] == "reader"
        assert pod(cluster, name)["automountServiceAccountToken"] is False
    assert ignored_fields(cluster.resource.spec) == ["spec.env.PITSTOP_DATA"]


def test_all_variables_of_the_operator_are_known_as_its_own(on_pods):
    spec = on_pods.resource.spec.model_dump(by_alias=True, exclude_none=True) | {"storeSecretName": "s", "jobSecretName": "j"}
    names = {each["name"] for name in PODS for each in pod(named(**spec), name)["containers"][0]["env"]}
    assert names == OWN_VARIABLES


def test_pods_that_spark_makes_are_scheduled_and_labelled_as_all_others(on_pods):
    spec = on_pods.resource.spec.model_dump(by_alias=True, exclude_none=True)
    cluster = named(**spec | {"scheduling": SCHEDULING, "labels": {"team": "fleet"}, "env": [{"name": "TZ", "value": "UTC"}]})
    executor = json.loads(made(cluster)["ConfigMap", "hazelcast-spark"]["data"]["executor.json"])
    assert {key: executor["spec"][key] for key in SCHEDULING} == SCHEDULING
    assert executor["metadata"]["labels"]["team"] == "fleet"
    assert {"name": "TZ", "value": "UTC"} in executor["spec"]["containers"][0]["env"]


OTHERS_OF_HAZELCAST = {
    "licenseKeySecret": "old",
    "loggingLevel": "DEBUG",
    "highAvailabilityMode": "ZONE",
    "customConfigCmName": "more",
    "tls": {"secretName": "certificate"},
    "agent": {"repository": "r"},
    "jvm": {"memory": {"maxRAMPercentage": "80"}},
    "nativeMemory": {"size": "1Gi"},
    "properties": {"a": "b"},
    "sql": {"statementTimeout": 1},
    "managementCenter": {"consoleEnabled": True},
    "advancedNetwork": {},
    "serialization": {"byteOrder": "BigEndian"},
    "cpSubsystem": {},
    "userCodeDeployment": {},
    "userCodeNamespaces": {},
    "executorServices": [{"name": "e"}],
    "durableExecutorServices": [{"name": "e"}],
    "scheduledExecutorServices": [{"name": "e"}],
    "localDevices": [{"name": "d"}],
}


def test_all_other_fields_of_a_manifest_of_hazelcast_are_accepted_and_named():
    of_jet = {"edgeDefaults": {}, "bucketConfig": {}, "configMaps": ["c"], "remoteURLs": ["https://h/f.jar"]}
    of_instance = {"cooperativeThreadCount": 2, "flowControlPeriodMillis": 100, "maxProcessorAccumulatedRecords": 1}
    of_persistence = {"dataRecoveryTimeout": 1, "startupAction": "ForceStart", "restore": {"hotBackupResourceName": "b"}}
    spec = OTHERS_OF_HAZELCAST | {"jet": of_jet | {"instance": of_instance}, "persistence": of_persistence}
    assert set(ignored_fields(named(**spec).resource.spec)) == {
        *(f"spec.{name}" for name in OTHERS_OF_HAZELCAST),
        *(f"spec.jet.{name}" for name in of_jet),
        *(f"spec.jet.instance.{name}" for name in of_instance),
        *(f"spec.persistence.{name}" for name in of_persistence),
    }
