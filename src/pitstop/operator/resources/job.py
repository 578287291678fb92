"""JetJob: a job of a cluster."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from pitstop.operator.resources.parts import Moment, Name, Part, ResourceName, Status, Text

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
