"""What travels over HTTP."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, Field

from pitstop.kit.clock import iso
from pitstop.service.api import JobView


class SubmitBody(BaseModel):
    """What to run. The artifact is uploaded beside it, or read by the server from a path or URL."""

    artifact: str = Field(description="Name of the uploaded file, or a path or URL that the server reads")
    entry: str | None = Field(None, description="module:function; may be left out if there is exactly one job")
    args: list[str] = Field(default_factory=list, description="Arguments of the job's function, as text")
    name: str | None = Field(None, description="Job name; default: the artifact's name without suffix")
    initial_snapshot: str | None = Field(None, description="Named snapshot to start from")
    options: dict[str, Any] = Field(default_factory=dict, description="Job options, see JobConfig")
    job: str | None = Field(None, description="check only: the job to compare with")
    snapshot: str | None = Field(None, description="check only: the snapshot to compare with")


class JobModel(BaseModel):
    """A job, with what its run says of itself."""

    id: str
    name: str | None
    status: str = Field(description="NOT_RUNNING, STARTING, RUNNING, SUSPENDED, ..., FAILED, COMPLETED")
    submission_time: str | None
    start_time: str | None
    completion_time: str | None
    user_cancelled: bool
    suspension_cause: str | None
    failure: str | None
    failure_details: str | None
    config: dict[str, Any]
    source: dict[str, Any]
    token: int
    termination: str | None
    attempts: int
    lineage: str | None
    plan: dict[str, Any] | None
    progress: dict[str, Any]

    @classmethod
    def of(cls, view: JobView) -> JobModel:
        job = view.job
        return cls(
            id=job.id,
            name=job.name,
            status=job.state.value,
            submission_time=iso(job.submission_time),
            start_time=iso(job.start_time),
            completion_time=iso(job.completion_time),
            user_cancelled=job.user_cancelled,
            suspension_cause=job.suspension_cause,
            failure=job.failure,
            failure_details=job.failure_details,
            config=job.config.to_dict(),
            source=job.source.to_dict(),
            token=job.token,
            termination=job.termination,
            attempts=job.attempts,
            lineage=job.lineage,
            plan=job.plan,
            progress=view.progress.to_dict(),
        )


class ExportBody(BaseModel):
    name: str = Field(description="Name of the snapshot; one of that name is replaced")
    cancel: bool = Field(False, description="End the job exactly where the snapshot ends")


class SnapshotModel(BaseModel):
    name: str
    job_id: str
    job_name: str | None
    created: float = Field(description="Seconds since the epoch")
    bytes: int
    path: str
    epoch: int
    details: dict[str, Any] = Field(default_factory=dict)


class CheckModel(BaseModel):
    plan: dict[str, Any]
    report: dict[str, Any] | None
    text: str


class LogModel(BaseModel):
    lines: list[str]
    next: int = Field(description="Byte to go on from")


class EntriesBody(BaseModel):
    entries: dict[str, Any] = Field(description="Key -> any JSON value")


class MapSettingsBody(BaseModel):
    journal_capacity: int | None = Field(None, ge=0)
    ttl_seconds: float | None = Field(None, ge=0, description="0 keeps entries for ever")


class JournalModel(BaseModel):
    events: list[dict[str, Any]]
    lost: int
    oldest: int
    newest: int


class Problem(BaseModel):
    """RFC 9457, with our stable code."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    message: str
    details: dict[str, Any] = Field(default_factory=dict)
