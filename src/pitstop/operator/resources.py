"""The resources of group hazelcast.com in the form of Kubernetes. Their CRDs are made from these models."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema
from pydantic.alias_generators import to_camel

GROUP, VERSION = "hazelcast.com", "v1alpha1"
USUAL_SIZE_POLICY = "PER_NODE"
USUAL_MEMBERS, USUAL_JOURNAL, USUAL_SCALE_UP_DELAY = 3, 10_000, 10_000
MOST_MEMBERS = 1000

LONGEST_NAME = 200
NAME_PATTERN = r"^[\p{L}\p{N}]([\p{L}\p{N}_.\- ]*[\p{L}\p{N}_\-])?$"
"""The rule of kit.ids.check_name as a pattern. Kubernetes refuses other names; a resource that has one can still be deleted."""
Name = Annotated[str, Field(min_length=1, max_length=LONGEST_NAME, json_schema_extra={"pattern": NAME_PATTERN})]
"""The name of a job, map or snapshot."""
OBJECT_PATTERN = r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$"
ResourceName = Annotated[str, Field(min_length=1, max_length=253, json_schema_extra={"pattern": OBJECT_PATTERN})]
"""The name of an object of Kubernetes. Of other names there is none."""
LONGEST_CLUSTER_NAME = 38
"""The longest name of a cluster: a pod of <name>-control-plane has the name of its revision, ten more letters, as a label."""
CLUSTER_PATTERN = r"^[a-z]([-a-z0-9]*[a-z0-9])?$"
"""The rule for names of Services, which is stricter than that for resources."""
QUANTITY_PATTERN = r"^[0-9]+(\.[0-9]+)?(m|k|[KMGTPE]i?)?$"
Quantity = Annotated[
    str,
    BeforeValidator(str),
    WithJsonSchema(
        {"anyOf": [{"type": "integer"}, {"type": "string"}], "pattern": QUANTITY_PATTERN, "x-kubernetes-int-or-string": True}
    ),
]
"""An amount of a resource, which may be written as a number."""
USUAL_BASE_DIR = "/data"
Text = Annotated[str, Field(max_length=4096)]
Seconds = Annotated[int, Field(ge=0, json_schema_extra={"format": "int64"})]
Count = Annotated[int, Field(ge=0, json_schema_extra={"format": "int32"})]
Moment = Annotated[datetime, Field(json_schema_extra={"format": "date-time"})]


ANYTHING = {"x-kubernetes-preserve-unknown-fields": True}
IGNORED = "Of the Hazelcast operator; it is accepted, and changes nothing"
"""The beginning of the description of a field that manifests for the Hazelcast operator have, and that means nothing here."""


def _ignored(type_: str, says: str = "") -> Any:
    extra: dict[str, Any] = {"type": type_, **(ANYTHING if type_ == "object" else {})}
    if type_ == "array":
        extra["items"] = {"type": "object", **ANYTHING}
    return Field(description=f"{IGNORED}{says}", json_schema_extra=extra)


class Part(BaseModel):
    """A part of a resource. What a later version adds is left alone."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, frozen=True, extra="ignore")


class ConditionStatus(StrEnum):
    """The status of a condition; Unknown until it is looked at."""

    TRUE = "True"
    FALSE = "False"
    UNKNOWN = "Unknown"


class Condition(Part):
    """One thing that is so or is not: Ready, Progressing, Degraded or Stalled."""

    type: Annotated[str, Field(max_length=316, description="Ready, Progressing, Degraded or Stalled")]
    status: Annotated[ConditionStatus, Field(description="Whether it is so")]
    reason: Annotated[str, Field(max_length=1024, description="Why, in one word")]
    message: Annotated[str, Field(max_length=32768, description="Why, in a sentence")] = ""
    last_transition_time: Annotated[Moment, Field(description="Since when")]
    observed_generation: Annotated[int | None, Field(description="Of the spec that this is about")] = None


class Status(Part):
    """The part that every status has."""

    observed_generation: Annotated[
        int | None, Field(description="The generation of the spec that the rest is about", json_schema_extra={"format": "int64"})
    ] = None
    conditions: Annotated[
        list[Condition],
        Field(
            description="Ready, Progressing, Degraded, Stalled",
            json_schema_extra={"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]},
        ),
    ] = []


# Hazelcast


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
    backup_count: Annotated[Any, _ignored("integer", ": the volume keeps the state of jobs")] = None


class Jet(Part):
    """Jobs."""

    enabled: Annotated[bool, Field(description="Whether jobs may run")] = True
    resource_upload_enabled: Annotated[bool, Field(description="Whether code of jobs may come from a bucket or a URL")] = False
    instance: Annotated[JetInstance, Field(description="How the cluster runs its jobs")] = JetInstance()


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
    cluster_data_recovery_policy: Annotated[Any, _ignored("string", ": the store is there whole, or not")] = None


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
    type: Annotated[Any, _ignored("string", ": clients call the Service alone")] = None
    member_access: Annotated[Any, _ignored("string", ": clients call the Service alone")] = None


class ContainerResources(Part):
    """The resources of a container."""

    requests: Annotated[dict[str, Quantity] | None, Field(description="Requests: cpu, memory")] = None
    limits: Annotated[dict[str, Quantity] | None, Field(description="Limits: cpu, memory")] = None


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
    expose_externally: Annotated[Exposure | None, Field(description="How it is reached from outside")] = None
    cluster_name: Annotated[Any, _ignored("string", ": a cluster is named as its resource")] = None

    @property
    def image(self) -> str | None:
        """The image that the spec asks for; None for the usual one. An image of Hazelcast has no Pitstop in it."""
        if self.repository is None or "hazelcast" in self.repository.split("/"):
            return None
        return f"{self.repository}:{self.version}" if self.version is not None else self.repository

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


# Map


class EventJournal(Part):
    """The last changes of a map, from which jobs read."""

    capacity: Annotated[
        int, Field(ge=1, description="How many changes are kept; cannot be changed later", json_schema_extra={"format": "int32"})
    ] = USUAL_JOURNAL
    time_to_live_seconds: Annotated[Seconds, Field(description="For how long each is kept; 0: no limit")] = 0


class EvictionPolicy(StrEnum):
    """The order in which entries leave a full map."""

    NONE = "NONE"
    LRU = "LRU"
    LFU = "LFU"
    RANDOM = "RANDOM"


class Eviction(Part):
    """The handling of a full map."""

    eviction_policy: Annotated[EvictionPolicy, Field(description="Which entries go first; NONE: none")] = EvictionPolicy.NONE
    max_size: Annotated[Count, Field(description="How many entries it holds; 0: no limit")] = 0
    max_size_policy: Annotated[str, Field(max_length=64, description="What maxSize counts; refused without one")] = (
        USUAL_SIZE_POLICY
    )


class MapSpec(Part):
    """A map as it is wanted."""

    name: Annotated[Name | None, Field(description="Its name; else that of this resource. Cannot be changed later")] = None
    hazelcast_resource_name: Annotated[
        ResourceName, Field(description="The Hazelcast resource whose map it is. Cannot be changed later")
    ]
    event_journal: Annotated[EventJournal | None, Field(description="The last changes of the map")] = None
    time_to_live_seconds: Annotated[Seconds, Field(description="Seconds after a write when an entry expires; 0: never")] = 0
    max_idle_seconds: Annotated[Seconds, Field(description="Seconds after the last use when an entry expires; 0: never")] = 0
    eviction: Annotated[Eviction | None, Field(description="Behaviour when the map is full")] = None
    persistence_enabled: Annotated[
        bool,
        Field(description="Changes nothing: every map survives all pods of its cluster, and goes with the Hazelcast resource"),
    ] = False
    backup_count: Annotated[Any, _ignored("integer", ": maps are kept on the volume")] = None
    async_backup_count: Annotated[Any, _ignored("integer", ": maps are kept on the volume")] = None
    indexes: Annotated[Any, _ignored("array", ": maps are read by key, or whole")] = None
    in_memory_format: Annotated[Any, _ignored("string", ": maps are kept on the volume")] = None
    near_cache: Annotated[Any, _ignored("object", ": clients keep no copies")] = None
    entry_listeners: Annotated[Any, _ignored("array", ": jobs read the journal of a map")] = None


class MapState(StrEnum):
    """The state of a map."""

    SUCCESS = "Success"
    FAILED = "Failed"
    PENDING = "Pending"
    PERSISTING = "Persisting"
    TERMINATING = "Terminating"


class MapStatus(Status):
    """A map as it is."""

    state: Annotated[MapState | None, Field(description="How it is")] = None
    message: Annotated[str | None, Field(description="What is wrong, and what to do")] = None


class Map(Part):
    """A map, with the journal from which jobs read its changes."""

    spec: Annotated[MapSpec, Field(description="As it is wanted")]
    status: Annotated[MapStatus | None, Field(description="As it is")] = None


# JetJob


class BucketConfig(Part):
    """The place of a job's code, and the means to read it."""

    bucket_uri: Annotated[
        str,
        Field(
            alias="bucketURI",
            min_length=1,
            max_length=4096,
            pattern=r"^(s3|gs|az|file)://",
            description="The folder: s3://, gs://, az:// or file://",
        ),
    ]
    secret_name: Annotated[ResourceName | None, Field(description="A Secret with the credentials of the bucket")] = None


class JobStateWanted(StrEnum):
    """The state that a job should be in."""

    RUNNING = "Running"
    SUSPENDED = "Suspended"
    CANCELED = "Canceled"
    RESTARTED = "Restarted"


class JetJobSpec(Part):
    """A job as it is wanted."""

    name: Annotated[Name | None, Field(description="Its name; else that of this resource. Cannot be changed later")] = None
    hazelcast_resource_name: Annotated[
        ResourceName, Field(description="The Hazelcast resource that it runs on. Cannot be changed later")
    ]
    state: Annotated[JobStateWanted, Field(description="Requested state of the job; Running when it is created")] = (
        JobStateWanted.RUNNING
    )
    jar_name: Annotated[
        str,
        Field(min_length=1, max_length=255, description="Its code: .py, .sql, .zip, .whl, or .jar with Python in it. Stays"),
    ]
    main_class: Annotated[
        str | None, Field(max_length=1024, description="module:function or module.function of the job. Cannot be changed later")
    ] = None
    arguments: Annotated[
        list[Text] | None, Field(max_length=64, description="Arguments of the job's function. Cannot be changed later")
    ] = None
    options: Annotated[
        dict[str, Text] | None,
        Field(
            description="Options of the job over those of its code, such as processing_guarantee. Cannot be changed later",
            json_schema_extra={"maxProperties": 64},
        ),
    ] = None
    initial_snapshot_resource_name: Annotated[
        ResourceName | None, Field(description="The JetJobSnapshot from whose state it starts. Cannot be changed later")
    ] = None
    allow_drop: Annotated[
        list[Text] | None,
        Field(
            max_length=64,
            description="Stages and sources of that snapshot whose state or place it may drop; * for all. Cannot be changed",
        ),
    ] = None
    allow_shared: Annotated[
        bool | None,
        Field(description="Whether it may write into folders and maps that another active job writes into. Cannot be changed"),
    ] = None
    bucket_config: Annotated[BucketConfig | None, Field(description="Where its code is; cannot be added later")] = None
    remote_url: Annotated[
        str | None,
        Field(alias="remoteURL", max_length=4096, pattern=r"^https?://", description="Place of its code"),
    ] = None


class JobPhase(StrEnum):
    """The phases of a job's life."""

    FAILED = "Failed"
    NOT_RUNNING = "NotRunning"
    STARTING = "Starting"
    RUNNING = "Running"
    SUSPENDED = "Suspended"
    SUSPENDED_EXPORTING_SNAPSHOT = "SuspendedExportingSnapshot"
    COMPLETING = "Completing"
    EXECUTION_FAILED = "ExecutionFailed"
    COMPLETED = "Completed"


FINISHED = (JobPhase.COMPLETING, JobPhase.EXECUTION_FAILED, JobPhase.COMPLETED)


class JetJobStatus(Status):
    """A job as it is."""

    phase: Annotated[JobPhase | None, Field(description="Where it is in its life")] = None
    id: Annotated[int | None, Field(description="Its id", json_schema_extra={"format": "int64"})] = None
    submission_time: Annotated[Moment | None, Field(description="When it was submitted")] = None
    completion_time: Annotated[Moment | None, Field(description="When it ended")] = None
    failure_text: Annotated[str | None, Field(description="Why it failed")] = None
    suspension_cause: Annotated[str | None, Field(description="Why it is suspended")] = None
    artifact_digest: Annotated[str | None, Field(description="SHA-256 of the code that it runs")] = None
    observed_state: Annotated[
        JobStateWanted | None, Field(description="spec.state of the generation that was brought about last")
    ] = None
    observed_source: Annotated[
        str | None,
        Field(description="Place of the code in the spec of that generation; only the code at the time of submission is used"),
    ] = None


class JetJob(Part):
    """A job: a pipeline that runs until it is ended."""

    spec: Annotated[JetJobSpec, Field(description="As it is wanted")]
    status: Annotated[JetJobStatus | None, Field(description="As it is")] = None


# JetJobSnapshot


class JetJobSnapshotSpec(Part):
    """A snapshot as it is wanted."""

    name: Annotated[Name | None, Field(description="Its name; else that of this resource")] = None
    cancel_job: Annotated[bool, Field(description="Whether the job ends exactly there")] = False
    jet_job_resource_name: Annotated[ResourceName, Field(description="The JetJob whose state is saved; it must be Running")]


class SnapshotState(StrEnum):
    """The state of a snapshot."""

    WAITING = "Waiting"
    EXPORTING = "Exporting"
    EXPORTED = "Exported"
    FAILED = "Failed"


class JetJobSnapshotStatus(Status):
    """A snapshot as it is."""

    state: Annotated[SnapshotState | None, Field(description="How far it is")] = None
    creation_time: Annotated[Moment | None, Field(description="When the state was saved")] = None
    saved_as: Annotated[
        str | None, Field(description="Which of the saved states of its cluster is its own: the name of that one's folder")
    ] = None
    message: Annotated[str | None, Field(description="What is wrong, and what to do")] = None


class JetJobSnapshot(Part):
    """The state of a job, saved under a name. Its removal removes the saved state."""

    spec: Annotated[JetJobSnapshotSpec, Field(description="As it is wanted")]
    status: Annotated[JetJobSnapshotStatus | None, Field(description="As it is")] = None


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
    if isinstance(spec, HazelcastSpec) and spec.image is None:
        paths += [f"{path}.{name}" for name in ("repository", "version") if getattr(spec, name) is not None]
    return paths
