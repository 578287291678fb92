"""What travels over HTTP. Times are RFC 3339 in UTC; unknown fields of a request are refused, never ignored."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, JsonValue, WithJsonSchema

from pitstop.model.config import OPTIONS, JobConfig
from pitstop.model.job import JobState
from pitstop.model.options import Option
from pitstop.model.snapshot import SnapshotRecord
from pitstop.service.api import JobView


def _moment(value: Any) -> Any:
    """Seconds since the epoch, as the service counts time, become a moment in UTC."""
    return datetime.fromtimestamp(value, UTC) if isinstance(value, (int, float)) else value


Moment = Annotated[datetime, BeforeValidator(_moment)]
Json = Annotated[dict[str, Any], Field(description="A JSON object")]


def _options_schema(options: Iterable[Option]) -> WithJsonSchema:
    """Job options by name. Their values may be JSON values or text, as on the command line, so only words describe them."""
    properties = {option.name: {"description": option.sentence} for option in options}
    return WithJsonSchema({"type": "object", "properties": properties, "additionalProperties": False})


JobOptions = Annotated[dict[str, Any], _options_schema(OPTIONS)]
UpdateOptions = Annotated[dict[str, Any], _options_schema(option for option in OPTIONS if option.on_update)]


class _Request(BaseModel):
    model_config = ConfigDict(extra="forbid")


class ArtifactBody(_Request):
    """Which code to run. The artifact is uploaded beside this request, or read by the server from a path or URL."""

    artifact: str = Field(description="Name of the uploaded file, or a path or URL that the server reads")
    entry: str | None = Field(None, description="module:function; may be left out if there is exactly one job")
    args: list[str] = Field(default_factory=list, description="Arguments of the job's function, as text")


class SubmitBody(ArtifactBody):
    """A job to submit."""

    name: str | None = Field(None, description="Job name; default: the artifact's name without suffix")
    initial_snapshot: str | None = Field(None, description="Named snapshot to start from")
    options: JobOptions = Field(default_factory=dict, description="Job options over those in the code; null leaves them")


class UpdateBody(ArtifactBody):
    """A new version for a running or suspended job."""

    snapshot: str | None = Field(None, description="Name of the snapshot to take; default: <job>-before-<version>")
    options: UpdateOptions = Field(default_factory=dict, description="Job options over those of the version before")
    watch_seconds: float = Field(0.0, ge=0, description="Go back to the old version if the new one fails within so many seconds")


class UpdatedModel(BaseModel):
    """An update that went well."""

    version: int = Field(description="Number of the version that runs now")
    snapshot: str = Field(description="The snapshot that was taken of the version before")
    gap_seconds: float | None = Field(
        description="From the last epoch of the old version to the first of the new one; null if the job stays suspended"
    )
    report: ReportModel = Field(description="What became of each stage's state")
    text: str = Field(description="The report as a person reads it, a line a stage")


class CheckBody(ArtifactBody):
    """A new version to compare with what is saved."""

    options: dict[str, Any] = Field(default_factory=dict, description="Job options: renamed stages")

    job: str | None = Field(None, description="The job to compare with, by name or id")
    snapshot: str | None = Field(None, description="The snapshot to compare with")


class SourceModel(BaseModel):
    """What a job runs."""

    artifact: str = Field(description="Path of the stored file on the server")
    entry: str | None = Field(description="module:function; null if the artifact holds exactly one job")
    args: list[str] = Field(description="Arguments of the job's function")


class ProgressModel(BaseModel):
    """What the job's run says of itself."""

    epoch: int = Field(description="The last committed epoch; -1 before the first")
    watermark_ms: int | None = Field(description="Event time up to which windows are closed, in milliseconds since the epoch")
    input_rows: int = Field(description="Rows read from all sources since the job was submitted")
    rows_per_second: float = Field(description="Input rate of the last epoch")
    epoch_ms: int = Field(description="How long the last epoch with data took")
    bad_rows: int = Field(description="Rows that could not be parsed, since the job was submitted")
    stages: dict[str, Json] = Field(description="Per stage: rows in and out, state rows and bytes, late rows, offsets")


class JobModel(BaseModel):
    """A job, with what its run says of itself."""

    id: str = Field(description="Four groups of four hex digits", examples=["0401-9f77-b9c0-0001"])
    name: str | None = Field(description="Unique among the jobs that have not ended")
    status: JobState = Field(description="Where the job is in its life")
    submission_time: Moment = Field(description="Never changes on restart, suspend or resume")
    start_time: Moment | None = Field(description="Of the present or last execution")
    completion_time: Moment | None = Field(description="When it ended")
    user_cancelled: bool = Field(description="FAILED because a user cancelled it")
    suspension_cause: str | None = Field(description="'Requested by user', or 'Execution failure:' and the error")
    failure: str | None = Field(description="The sentence that says why it FAILED")
    failure_details: str | None = Field(description="Stack trace of that failure")
    config: JobConfig = Field(description="The options in force")
    options: Json = Field(description="The options asked for at submission")
    source: SourceModel = Field(description="What it runs")
    token: int = Field(description="Number of the present run")
    termination: str | None = Field(description="How the present run is being ended, MODE#operation")
    attempts: int = Field(description="Starts since the last committed epoch")
    due: Moment | None = Field(description="NOT_RUNNING: it is not started again before this time")
    lineage: str | None = Field(description="The checkpoint in use")
    version: int = Field(description="Counts the updates of the job")
    update_failure: str | None = Field(description="Why the last update was rolled back")
    plan: Json | None = Field(description="The compiled plan; null until compiled")
    progress: ProgressModel = Field(description="What its run says of itself")

    @classmethod
    def of(cls, view: JobView) -> JobModel:
        job = view.job
        facts = {name: getattr(job, name) for name in cls.model_fields if hasattr(job, name)}
        made = {"status": job.state, "config": job.config, "source": job.source.to_dict()}
        return cls.model_validate(facts | made | {"progress": view.progress.to_dict()})


class ExportBody(_Request):
    """A snapshot to take."""

    name: str = Field(description="Name of the snapshot; one of that name is replaced")
    cancel: bool = Field(False, description="End the job exactly where the snapshot ends")


class SnapshotModel(BaseModel):
    """A named snapshot."""

    name: str = Field(description="Its name")
    job_id: str = Field(description="The job it was taken of")
    job_name: str | None = Field(description="That job's name")
    created: Moment = Field(description="When it was taken")
    bytes: int = Field(description="Size of its files")
    path: str = Field(description="The folder on the server that holds it")
    epoch: int = Field(description="The last epoch whose effects it holds")
    details: Json = Field(default_factory=dict, description="Further facts")

    @classmethod
    def of(cls, record: SnapshotRecord) -> SnapshotModel:
        return cls.model_validate(asdict(record))


class SnapshotFileModel(BaseModel):
    """One file of a snapshot."""

    path: str = Field(description="Path below the snapshot's folder")
    bytes: int = Field(description="Size")
    sha256: str = Field(description="Checksum of its content, in hex")


class ManifestModel(BaseModel):
    """What a snapshot holds, as written in its manifest.json."""

    name: str = Field(description="Name of the snapshot")
    job_id: str = Field(description="The job it was taken of")
    job_name: str | None = Field(description="That job's name")
    lineage: str = Field(description="The checkpoint it was copied from")
    epoch: int = Field(description="The last epoch whose effects it holds")
    created: float = Field(description="When it was taken, in seconds since the epoch (the manifest's own form)")
    watermark_ms: int | None = Field(description="Event time up to which windows were closed")
    plan: Json = Field(description="The compiled plan of the job, with the layout of each stage's state")
    partitions: int = Field(description="Shuffle partitions of its state")
    provider: str = Field(description="Spark's state store provider class")
    offsets: dict[str, dict[str, str]] = Field(description="Source stage -> what reads it -> offset as JSON text")
    stages: dict[str, Json] = Field(description="Stage -> operator ids, rows and bytes of its state")
    versions: dict[str, str] = Field(description="Of Spark and Pitstop")
    files: list[SnapshotFileModel] = Field(description="Every file, with its checksum")
    imported: dict[str, list[SnapshotFileModel]] = Field(description="Stage -> files with rows put in the place of its state")
    format: int = Field(description="Version of the manifest's form")


class StateQueryBody(BaseModel):
    """A query on a stage's state."""

    model_config = ConfigDict(extra="forbid")

    sql: str = Field(description="Spark SQL; the stage's rows are the table `state`", min_length=1)
    limit: int = Field(1000, ge=1, le=100_000, description="At most so many rows")


class RowsModel(BaseModel):
    """Rows of a query."""

    columns: list[tuple[str, str]] = Field(description="Name and Spark type of each column")
    rows: list[list[JsonValue]] = Field(description="Values by row; times are ISO 8601 text")
    more: bool = Field(description="True if there are more rows than the limit")


class VerdictModel(BaseModel):
    """What becomes of one stage."""

    stage: str = Field(description="Name of the stage")
    verdict: Literal["restored", "new", "dropped", "converted", "refused"] = Field(description="What becomes of its state")
    detail: str = Field(description="Why, in words")
    rule: str | None = Field(description="The rule it was judged by")


class ReportModel(BaseModel):
    """How a new version would take over saved state."""

    refused: bool = Field(description="True if any stage is refused: the new version would not start from there")
    way: Literal["resume", "rebuild"] = Field(description="The checkpoint is resumed, or laid down anew")
    lines: list[VerdictModel] = Field(description="A verdict for each stage that keeps something")
    partitions: list[int | None] = Field(description="Shuffle partitions before and after")


class CheckModel(BaseModel):
    """The compiled plan of a new version, and how it compares."""

    plan: Json = Field(description="The compiled plan")
    report: ReportModel | None = Field(description="Null if there was nothing to compare with")
    text: str = Field(description="The report as a person reads it, a line a stage")


class LogModel(BaseModel):
    """A page of a job's log."""

    lines: list[str] = Field(description="Whole lines")
    next: int = Field(description="Byte to go on from: the `after` of the next call")


class MapModel(BaseModel):
    """A map and its journal."""

    name: str = Field(description="Its name")
    size: int = Field(description="Entries")
    journal_capacity: int = Field(description="Events its journal keeps")
    ttl_seconds: float | None = Field(description="Entries expire so long after their last write; null: never")
    oldest: int = Field(description="Sequence of the oldest event kept")
    newest: int = Field(description="Sequence of the newest event; less than oldest if there is none")


class MapSettingsBody(_Request):
    """Settings of a map; what is left out stays as it is."""

    journal_capacity: int | None = Field(None, ge=0, description="Events the journal keeps; 0: no journal")
    ttl_seconds: float | None = Field(None, ge=0, description="Entries expire so long after their last write; 0: never")


class EntriesBody(_Request):
    """Entries to write, all or none."""

    entries: dict[str, JsonValue] = Field(description="Key -> any JSON value")


class EntryModel(BaseModel):
    """One entry of a map."""

    key: str = Field(description="Its key")
    value: JsonValue = Field(description="Its value")
    created: Moment = Field(description="First write")
    updated: Moment = Field(description="Last write")
    expires: Moment | None = Field(description="When it vanishes by itself; null: never")
    version: int = Field(description="How often it was written")


class ValueModel(BaseModel):
    """The value of one key."""

    key: str = Field(description="Its key")
    value: JsonValue = Field(description="Its value")


class DeletedModel(BaseModel):
    """Whether there was something to delete."""

    deleted: bool = Field(description="False if there was no such entry")


class SizeModel(BaseModel):
    """How many entries a map has."""

    size: int = Field(description="Entries")


class EventModel(BaseModel):
    """One change of a map."""

    sequence: int = Field(description="From 1, without gaps")
    kind: Literal["ADDED", "UPDATED", "REMOVED", "EXPIRED"] = Field(description="What happened")
    key: str = Field(description="Of the entry")
    old_value: JsonValue = Field(description="Value before; null if there was none")
    new_value: JsonValue = Field(description="Value after; null if there is none")
    at: Moment = Field(description="When")


class JournalModel(BaseModel):
    """A page of a map's journal."""

    events: list[EventModel] = Field(description="Oldest first")
    lost: int = Field(description="Events after `after` that are no longer kept")
    oldest: int = Field(description="Sequence of the oldest event kept")
    newest: int = Field(description="Sequence of the newest event")


class MemberModel(BaseModel):
    """A member of the cluster."""

    model_config = ConfigDict(extra="allow")
    address: str = Field(description="Where it listens")
    uuid: str = Field(description="Its identity")


class ClusterModel(BaseModel):
    """The cluster."""

    model_config = ConfigDict(extra="allow")
    state: str = Field(description="ACTIVE when jobs can run")
    version: str = Field(description="Of Pitstop")
    size: int = Field(description="Members")
    members: list[MemberModel] = Field(description="All members")


class HealthModel(BaseModel):
    """An answer to a probe."""

    status: Literal["ok", "ready"] = Field(description="Good as long as it comes")


class Problem(BaseModel):
    """RFC 9457, with our stable code."""

    type: str = Field(description="urn:pitstop: and the code")
    title: str = Field(description="What kind of error")
    status: int = Field(description="The HTTP status")
    detail: str = Field(description="One sentence: what is wrong, where, and what to do")
    code: str = Field(description="Stable code for programs", examples=["NOT_FOUND", "CONFLICT", "USAGE"])
    message: str = Field(description="The same sentence as detail")
    details: Json = Field(default_factory=dict, description="Facts for programs, by code")
