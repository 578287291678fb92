"""JetJobSnapshot: a named snapshot of a job."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from pitstop.operator.resources.parts import Moment, Name, Part, ResourceName, Status

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
