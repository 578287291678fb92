"""Hazelcast: a cluster."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

from pydantic import Field
from pydantic.alias_generators import to_camel

from pitstop.operator.resources.parts import (
    IGNORED,
    MOST_MEMBERS,
    QUANTITY_PATTERN,
    USUAL_BASE_DIR,
    USUAL_MEMBERS,
    USUAL_SCALE_UP_DELAY,
    Count,
    Part,
    ResourceName,
    Status,
    Text,
    ignored,
)
from pitstop.operator.resources.pods import (
    OWN_ANNOTATIONS,
    OWN_LABELS,
    OWN_VARIABLES,
    ContainerResources,
    ControlPlane,
    Scheduling,
    Variable,
)


class JetInstance(Part):
    """The settings by which the cluster runs its jobs."""

    lossless_restart_enabled: Annotated[
        bool,
        Field(
            description="Changes nothing: jobs come back after all of the cluster was stopped whatever it says. true needs "
            "persistence.baseDir"
        ),
    ] = False
    scale_up_delay_millis: Annotated[
        int, Field(ge=0, description="How long jobs wait before they use a new member, in milliseconds")
    ] = USUAL_SCALE_UP_DELAY
    backup_count: Annotated[Any, ignored("integer", ": the volume keeps the state of jobs")] = None
    cooperative_thread_count: Annotated[Any, ignored("integer", ": a member lends the cores that it requests")] = None
    flow_control_period_millis: Annotated[Any, ignored("integer")] = None
    max_processor_accumulated_records: Annotated[Any, ignored("integer")] = None


class Jet(Part):
    """Jobs."""

    enabled: Annotated[bool, Field(description="Whether jobs may run")] = True
    resource_upload_enabled: Annotated[bool, Field(description="Whether code of jobs may come from a bucket or a URL")] = False
    instance: Annotated[JetInstance, Field(description="How the cluster runs its jobs")] = JetInstance()
    edge_defaults: Annotated[Any, ignored("object")] = None
    bucket_config: Annotated[Any, ignored("object", ": a JetJob names its own bucket")] = None
    config_maps: Annotated[Any, ignored("array", items="string")] = None
    remote_urls: Annotated[Any, Field(alias="remoteURLs"), ignored("array", ": a JetJob names its own URL", "string")] = None


class Claim(Part):
    """The volume of a cluster."""

    access_modes: Annotated[
        list[str] | None,
        Field(max_length=4, description="How nodes may mount it; else ReadWriteOnce, with a store in PostgreSQL ReadWriteMany"),
    ] = None
    request_storage: Annotated[
        str | None,
        Field(
            max_length=32,
            description="Its size, such as 8Gi; else that of the chart",
            json_schema_extra={"pattern": QUANTITY_PATTERN},
        ),
    ] = None
    storage_class_name: Annotated[ResourceName | None, Field(description="Its storage class; else that of the chart")] = None


class ClusterPersistence(Part):
    """The part of a cluster that survives it."""

    base_dir: Annotated[
        str, Field(min_length=1, max_length=4096, description="Where snapshots, maps and job records are kept over a restart")
    ] = USUAL_BASE_DIR
    pvc: Annotated[Claim | None, Field(description="The volume; later changes have no effect on it")] = None
    cluster_data_recovery_policy: Annotated[Any, ignored("string", ": the store is there whole, or not")] = None
    data_recovery_timeout: Annotated[Any, ignored("integer", ": the store is there whole, or not")] = None
    startup_action: Annotated[Any, ignored("string", ": the store is there whole, or not")] = None
    restore: Annotated[Any, ignored("object", ": see docs/backup.md")] = None


class SparkMaster(StrEnum):
    """The processes that run the tasks of jobs."""

    MEMBERS = "members"
    KUBERNETES = "k8s"


class Drivers(StrEnum):
    """The place where the drivers of jobs run."""

    CONTROL_PLANE = "controlPlane"
    MEMBERS = "members"


class Spark(Part):
    """The way in which jobs reach their processors."""

    master: Annotated[
        SparkMaster, Field(description="members: the cluster's own; k8s: pods that Spark makes, clusterSize for each job")
    ] = SparkMaster.MEMBERS
    drivers: Annotated[
        Drivers,
        Field(
            description="controlPlane: in its pod, kept warm; members: in theirs: jobs then outlive the control plane's pod, "
            "and their drivers are spread"
        ),
    ] = Drivers.CONTROL_PLANE
    service_account_name: Annotated[
        ResourceName | None, Field(description="With master k8s: the ServiceAccount that may make pods and ConfigMaps")
    ] = None


class ServiceType(StrEnum):
    """The type of a Service."""

    CLUSTER_IP = "ClusterIP"
    LOAD_BALANCER = "LoadBalancer"
    NODE_PORT = "NodePort"


class PullPolicy(StrEnum):
    """The rule by which an image is pulled."""

    ALWAYS = "Always"
    IF_NOT_PRESENT = "IfNotPresent"
    NEVER = "Never"


class Exposure(Part):
    """The way to a cluster from outside of Kubernetes."""

    discovery_service_type: Annotated[ServiceType, Field(description="The type of its Service")] = ServiceType.LOAD_BALANCER
    type: Annotated[Any, ignored("string", ": clients call the Service alone")] = None
    member_access: Annotated[Any, ignored("string", ": clients call the Service alone")] = None


class PullSecret(Part):
    """A Secret with the right to pull an image."""

    name: Annotated[ResourceName, Field(description="Its name")]


class HazelcastSpec(Part):
    """A cluster as it is wanted."""

    cluster_size: Annotated[Count, Field(le=MOST_MEMBERS, description="Number of members")] = USUAL_MEMBERS
    license_key_secret_name: Annotated[
        ResourceName | None, Field(description="A Secret that must exist; no licence is needed")
    ] = None
    jet: Annotated[Jet, Field(description="Jobs")] = Jet()
    store_secret_name: Annotated[
        ResourceName | None,
        Field(description="A Secret with url (and password) of a store in PostgreSQL; else it is a file, all pods on one node"),
    ] = None
    job_secret_name: Annotated[
        ResourceName | None,
        Field(description="A Secret whose keys jobs name as secret:KEY; a change of it needs no restart of the cluster"),
    ] = None
    persistence: Annotated[ClusterPersistence | None, Field(description="What survives the cluster")] = None
    spark: Annotated[Spark | None, Field(description="How jobs reach their processors; else by the cluster's members")] = None

    repository: Annotated[
        str | None,
        Field(max_length=512, description="The image of its pods; one of Hazelcast (hazelcast/...) is ignored, with version"),
    ] = None
    version: Annotated[str | None, Field(max_length=128, description="The tag of that image; ignored without repository")] = None
    image_pull_policy: Annotated[PullPolicy | None, Field(description="When the image is pulled; else as the chart says")] = None
    image_pull_secrets: Annotated[
        list[PullSecret] | None, Field(max_length=16, description="Secrets that pull the image; else those of the chart")
    ] = None
    resources: Annotated[ContainerResources | None, Field(description="Requests of each member; else those of the chart")] = None
    control_plane: Annotated[ControlPlane | None, Field(description="The pod of its server")] = None
    scheduling: Annotated[Scheduling | None, Field(description="The nodes that its pods may be on")] = None
    labels: Annotated[
        dict[str, Text] | None, Field(description="Labels of its pods and its other objects, beside those that select them")
    ] = None
    annotations: Annotated[dict[str, Text] | None, Field(description="Annotations of its pods and its other objects")] = None
    env: Annotated[
        list[Variable] | None, Field(max_length=256, description="Variables of its pods, beside those of the operator")
    ] = None
    service_account_name: Annotated[
        ResourceName | None, Field(description="The ServiceAccount of its pods; its token is not mounted")
    ] = None
    expose_externally: Annotated[Exposure | None, Field(description="How it is reached from outside")] = None

    cluster_name: Annotated[Any, ignored("string", ": a cluster is named as its resource")] = None
    license_key_secret: Annotated[Any, ignored("string", ": name it as licenseKeySecretName")] = None
    logging_level: Annotated[Any, ignored("string", ": see pitstop log-level")] = None
    high_availability_mode: Annotated[Any, ignored("string", ": see scheduling.topologySpreadConstraints")] = None
    custom_config_cm_name: Annotated[Any, ignored("string")] = None
    tls: Annotated[Any, ignored("object", ": the server speaks HTTP")] = None
    agent: Annotated[Any, ignored("object")] = None
    jvm: Annotated[Any, ignored("object")] = None
    native_memory: Annotated[Any, ignored("object")] = None
    properties: Annotated[Any, ignored("object")] = None
    sql: Annotated[Any, ignored("object")] = None
    management_center: Annotated[Any, ignored("object", ": the server has a page")] = None
    advanced_network: Annotated[Any, ignored("object")] = None
    serialization: Annotated[Any, ignored("object")] = None
    cp_subsystem: Annotated[Any, ignored("object")] = None
    user_code_deployment: Annotated[Any, ignored("object", ": code comes with its job")] = None
    user_code_namespaces: Annotated[Any, ignored("object", ": code comes with its job")] = None
    executor_services: Annotated[Any, ignored("array")] = None
    durable_executor_services: Annotated[Any, ignored("array")] = None
    scheduled_executor_services: Annotated[Any, ignored("array")] = None
    local_devices: Annotated[Any, ignored("array")] = None

    @property
    def image(self) -> str | None:
        """The image that the spec asks for; None for the usual one. An image of Hazelcast has no Pitstop in it."""
        if self.repository is None or "hazelcast" in self.repository.split("/"):
            return None
        return f"{self.repository}:{self.version}" if self.version is not None else self.repository

    @property
    def own_labels(self) -> dict[str, str]:
        """The labels of the spec without those that select the objects of clusters."""
        return {name: value for name, value in (self.labels or {}).items() if name not in OWN_LABELS}

    @property
    def own_annotations(self) -> dict[str, str]:
        """The annotations of the spec without those of the operator."""
        return {name: value for name, value in (self.annotations or {}).items() if not name.startswith(OWN_ANNOTATIONS)}

    @property
    def own_variables(self) -> list[dict[str, Any]]:
        """The variables of the spec without those of the operator, as a pod has them."""
        others = [each for each in self.env or [] if each.name not in OWN_VARIABLES]
        return [each.model_dump(by_alias=True, exclude_none=True) for each in others]

    @property
    def executor_pods(self) -> bool:
        """True if Spark makes pods for the executors of each job. There are then no members."""
        return self.spark is not None and self.spark.master is SparkMaster.KUBERNETES

    @property
    def drivers_on_members(self) -> bool:
        """True if members run the drivers of jobs; False if the control plane does."""
        return self.spark is not None and self.spark.drivers is Drivers.MEMBERS


class ClusterPhase(StrEnum):
    """The phase of a cluster."""

    PENDING = "Pending"
    RUNNING = "Running"
    FAILED = "Failed"
    TERMINATING = "Terminating"


class ClusterMembers(Part):
    """The members that there are."""

    ready_members: Annotated[str, Field(description="Present and requested members, such as 3/3")]


class HazelcastStatus(Status):
    """A cluster as it is."""

    phase: Annotated[ClusterPhase | None, Field(description="How it is")] = None
    hazelcast_cluster_status: Annotated[ClusterMembers | None, Field(description="The members that there are")] = None
    members: Annotated[int | None, Field(description="How many there are, for kubectl scale")] = None
    selector: Annotated[str | None, Field(description="The labels of their pods, for a HorizontalPodAutoscaler")] = None
    message: Annotated[str | None, Field(description="What is wrong, and what to do")] = None


class Hazelcast(Part):
    """A cluster: a control plane with its store, and members on which jobs run."""

    spec: Annotated[HazelcastSpec, Field(description="As it is wanted")] = HazelcastSpec()
    status: Annotated[HazelcastStatus | None, Field(description="As it is")] = None


def ignored_fields(spec: Part, path: str = "spec") -> list[str]:
    """Return the paths of the fields in a spec that are accepted, and change nothing."""
    paths = []
    for name, about in type(spec).model_fields.items():
        value, where = getattr(spec, name), f"{path}.{about.alias or to_camel(name)}"
        if value is None:
            continue
        if isinstance(value, Part):
            paths += ignored_fields(value, where)
        elif (about.description or "").startswith(IGNORED):
            paths.append(where)
    if isinstance(spec, HazelcastSpec):
        if spec.image is None:
            paths += [f"{path}.{name}" for name in ("repository", "version") if getattr(spec, name) is not None]
        paths += [f"{path}.labels.{name}" for name in spec.labels or {} if name in OWN_LABELS]
        paths += [f"{path}.annotations.{name}" for name in spec.annotations or {} if name.startswith(OWN_ANNOTATIONS)]
        paths += [f"{path}.env.{each.name}" for each in spec.env or [] if each.name in OWN_VARIABLES]
    return paths
