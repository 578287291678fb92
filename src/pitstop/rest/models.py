"""Requests, and those answers that have another form over HTTP than in the service; the others travel as they are.

Unknown fields of a request are refused, never ignored.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, WithJsonSchema

from pitstop.machine.log_levels import LogLevel
from pitstop.maps.model import LONGEST_SECONDS, MOST_EVENTS
from pitstop.model.config import OPTIONS
from pitstop.model.operation import StateAtStart
from pitstop.model.options import Option
from pitstop.model.report import StageVerdict, Way
from pitstop.service.run_verbs import MOST_PEEK_SECONDS, MOST_PEEKED_ROWS, PEEK_SECONDS, PEEKED_ROWS
from pitstop.service.snapshot_results import Difference

Json = Annotated[dict[str, Any], Field(description="A JSON object")]


def _options_schema(options: Sequence[Option]) -> WithJsonSchema:
    """Job options by name. Their values may be JSON values or text, as on the command line, so words describe them; where all
    values can be listed they are the examples."""
    properties: dict[str, Any] = {option.name: {"description": option.sentence} for option in options}
    for option in options:
        if option.choices:
            properties[option.name]["examples"] = list(option.choices)
    return WithJsonSchema({"type": "object", "properties": properties, "additionalProperties": False})


JobOptions = Annotated[dict[str, Any], _options_schema(OPTIONS)]
UpdateOptions = Annotated[dict[str, Any], _options_schema([option for option in OPTIONS if option.on_update])]


LONGEST_WATCH = 7 * 86_400.0
"""Seconds."""
MOST_NUMBER = 2**63 - 1
"""The largest whole number of the store."""


class _Request(BaseModel):
    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)


class ArtifactBody(_Request):
    """The code to run. The artifact is uploaded beside this request, or read by the server from a path or URL."""

    artifact: str = Field(description="Name of the uploaded file, or a path or URL that the server reads")
    entry: str | None = Field(None, description="module:function; may be left out if there is exactly one job")
    args: list[str] = Field(default_factory=list, description="Arguments of the job's function, as text")


class SubmitBody(ArtifactBody):
    """A job to submit."""

    name: str | None = Field(None, description="Job name; default: the artifact's name without suffix")
    id: str | None = Field(None, description="Id for the job; a job of that id and name is the answer if there is one")
    initial_snapshot: str | None = Field(None, description="Named snapshot to start from")
    options: JobOptions = Field(default_factory=dict, description="Job options over those in the code; null leaves them")


class UpdateBody(ArtifactBody):
    """A new version for a running or suspended job."""

    snapshot: str | None = Field(None, description="Name of the snapshot to take; default: <job>-before-<version>")
    options: UpdateOptions = Field(default_factory=dict, description="Job options over those of the version before")
    watch_seconds: float = Field(
        0.0, ge=0, le=LONGEST_WATCH, description="Go back to the old version if the new one fails within this many seconds"
    )


class GoBackBody(_Request):
    """The way back to an earlier version."""

    options: UpdateOptions = Field(default_factory=dict, description="Job options over those of that version")
    watch_seconds: float = Field(0.0, ge=0, le=LONGEST_WATCH, description="Go back again if it fails so soon after its start")
    state: StateAtStart = Field(
        StateAtStart.PRESENT,
        description="The state from which it starts: the present one, which must have all of its stages and sources; its own "
        "latest snapshot, so that what came since is read again; or the present state, with what that lacks empty",
    )
    write_again: bool = Field(False, description="Rows may be written into sinks that have them already")


class UpdatedModel(BaseModel):
    """An update that went well."""

    version: int = Field(description="Number of the version that runs now")
    snapshot: str = Field(description="The snapshot that was taken of the version before")
    gap_seconds: float | None = Field(
        description="Seconds from the end of the old version's work until the new one is up; null if the job stays suspended"
    )
    report: ReportModel = Field(description="The fate of each stage's state")
    text: str = Field(description="The report as a person reads it, a line a stage")


class CheckBody(ArtifactBody):
    """A new version to compare with what is saved."""

    options: dict[str, Any] = Field(default_factory=dict, description="Job options: renamed stages, and what may be dropped")

    job: str | None = Field(None, description="The job to compare with, by name or id")
    snapshot: str | None = Field(None, description="The snapshot to compare with")


class AdoptBody(ArtifactBody):
    """A checkpoint of Spark to adopt for a job."""

    checkpoint: str = Field(description="The checkpointLocation of the query: a folder that the server reads, or an address")
    name: str | None = Field(None, description="Name of the snapshot; default: the name of the job")
    operators: dict[int, str] = Field(default_factory=dict, description="Number of an operator -> the stage that takes it over")
    sources: dict[int, str] = Field(default_factory=dict, description="Number of a source -> the source that goes on there")
    options: dict[str, Any] = Field(default_factory=dict, description="Job options")
    only_plan: bool = Field(False, description="Make nothing, and tell what would become of each operator and source")


class ConfigureBody(_Request):
    """Options of a suspended job that are to change."""

    options: dict[str, Any] = Field(description="Job options by name, as in docs/options.md")


class SignInBody(_Request):
    """The token by which a browser signs in."""

    token: str = Field(max_length=1000, description="The server's token, or that of its viewers")


class ExportBody(_Request):
    """A snapshot to take."""

    name: str = Field(description="Name of the snapshot; it replaces one of that name")
    cancel: bool = Field(False, description="End the job exactly where the snapshot ends")


class LogLevelBody(_Request):
    """The level that a logger is to have."""

    logger: str = Field(description="Its name, such as `pitstop.source.http_poll`; `root` is above all others")
    level: str | None = Field(description="One of " + ", ".join(LogLevel) + "; null: as usual")
    job: str | None = Field(None, description="Only the runs of this job, by name or id")


class StateQueryBody(_Request):
    """A query on a stage's state."""

    sql: str = Field(description="Spark SQL; the stage's rows are the table `state`", min_length=1)
    limit: int = Field(1000, ge=1, le=100_000, description="At most so many rows")


class PeekBody(_Request):
    """A look at the rows of a stage."""

    limit: int = Field(PEEKED_ROWS, ge=1, le=MOST_PEEKED_ROWS, description="At most so many rows")
    wait_seconds: float = Field(PEEK_SECONDS, gt=0, le=MOST_PEEK_SECONDS, description="Seconds to wait for an epoch with rows")


class ReportModel(BaseModel):
    """The way in which a new version would take over saved state (model.report.Report)."""

    refused: bool = Field(description="True if any stage is refused: the new version would not start from there")
    way: Way = Field(description="The checkpoint is resumed, or created anew")
    lines: list[StageVerdict] = Field(description="A verdict for each stage that keeps something")
    partitions: tuple[int | None, int | None] = Field(description="Shuffle partitions before and after")
    needs_allow_drop: list[str] = Field(
        description="Stages and sources that would be dropped: such an update is refused (DROPS_STATE) unless the option "
        "`allow_drop` is true, or names them"
    )


class DiffModel(BaseModel):
    """Two snapshots compared."""

    differences: list[Difference] = Field(description="All that differs but the names")
    report: ReportModel = Field(description="The fate that the first one's state would have under the second one's pipeline")


class CheckModel(BaseModel):
    """The compiled plan of a new version, and how it compares."""

    plan: Json = Field(description="The compiled plan")
    report: ReportModel | None = Field(description="Null if there was nothing to compare with")
    text: str = Field(description="The report as a person reads it, a line a stage, and the warnings")
    warnings: list[str] = Field(
        description="A sentence for each thing that is amiss now, such as a folder that is not there, and hinders nothing"
    )
    findings: list[str] = Field(
        description="A sentence for each topic and table that it reads or writes: what is there now, or why nobody could look"
    )


class MemberModel(BaseModel):
    """A member that was added."""

    name: str = Field(description="Its name")


class JobsModel(BaseModel):
    """The jobs of an engine that was replaced."""

    jobs: list[str] = Field(description="Their names; the ids of those that have none")


class BackupRequest(_Request):
    """The folder for a backup."""

    folder: str = Field(description="Absolute path of a new or empty folder on the server's machine")


class MapSettingsBody(_Request):
    """Settings of a map; what is left out stays as it is."""

    journal_capacity: int | None = Field(None, ge=0, le=MOST_EVENTS, description="Events the journal keeps; 0: no journal")
    ttl_seconds: float | None = Field(
        None, ge=0, le=LONGEST_SECONDS, description="Time after the last write when an entry expires; 0: never"
    )


class EntriesBody(_Request):
    """Entries to write, all or none."""

    entries: dict[str, JsonValue] = Field(description="Key -> any JSON value")
    expected_version: int | None = Field(
        None,
        ge=0,
        le=MOST_NUMBER,
        description="Write them only if this is the version of each still; 0: if there are none",
    )


class DeletedModel(BaseModel):
    """The answer to a request to delete."""

    deleted: bool = Field(description="False if there was no such entry")


class ClearedModel(BaseModel):
    """The answer to a request to delete all entries."""

    deleted: int = Field(description="The number of entries that were there")


class SizeModel(BaseModel):
    """The number of entries of a map."""

    size: int = Field(description="Entries")


class HealthModel(BaseModel):
    """An answer to a probe."""

    status: Literal["ok", "ready"] = Field(description="Always this word; a problem is an error response")


class Problem(BaseModel):
    """RFC 9457, with our stable code."""

    type: str = Field(description="urn:pitstop: and the code")
    title: str = Field(description="The kind of error")
    status: int = Field(description="The HTTP status")
    detail: str = Field(description="One sentence: what is wrong, where, and what to do")
    code: str = Field(description="Stable code for programs", examples=["NOT_FOUND", "CONFLICT", "USAGE"])
    message: str = Field(description="The same sentence as detail")
    details: Json = Field(default_factory=dict, description="Facts for programs, by code")
