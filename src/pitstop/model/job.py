"""A job, its configuration, its states (jet.md §1)."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from pitstop.errors import UsageError
from pitstop.kit import durations


class JobState(StrEnum):
    """Where a job is in its life (jet.md §1.1). The value is the word every interface shows."""

    NOT_RUNNING = "NOT_RUNNING"
    STARTING = "STARTING"
    RUNNING = "RUNNING"
    SUSPENDED = "SUSPENDED"
    SUSPENDED_EXPORTING_SNAPSHOT = "SUSPENDED_EXPORTING_SNAPSHOT"
    COMPLETING = "COMPLETING"
    FAILED = "FAILED"
    COMPLETED = "COMPLETED"

    @property
    def terminal(self) -> bool:
        """True if the job has a result and will never run again."""
        return self in (JobState.FAILED, JobState.COMPLETED)

    @property
    def sentence(self) -> str:
        """What the state means, for people."""
        return _SENTENCES[self]


_SENTENCES = {
    JobState.NOT_RUNNING: "Submitted and not yet started, or interrupted and about to start again.",
    JobState.STARTING: "A runner is compiling the pipeline and restoring its state.",
    JobState.RUNNING: "Epochs are being processed.",
    JobState.SUSPENDED: "Stopped, by a user or by a failure; its state is kept.",
    JobState.SUSPENDED_EXPORTING_SNAPSHOT: "Suspended, and its state is being copied to a named snapshot.",
    JobState.COMPLETING: "All input is processed; the result is being stored.",
    JobState.FAILED: "Ended with an error, or cancelled by a user.",
    JobState.COMPLETED: "Ended normally.",
}


class ProcessingGuarantee(StrEnum):
    """What a restart promises (jet.md §1.4)."""

    NONE = "none"
    AT_LEAST_ONCE = "at_least_once"
    EXACTLY_ONCE = "exactly_once"


class StateStore(StrEnum):
    """Where a job's state lives while it runs; checkpoints and snapshots hold all of it either way."""

    ROCKSDB = "rocksdb"
    """On the runner's disk: as large as that, and of every kind."""
    MEMORY = "memory"
    """In the runner's heap: faster, for state that fits, of windows, sessions, rolling aggregates and state of one's own."""


@dataclass(frozen=True)
class JobConfig:
    """The options of a job (jet.md §1.4, S004)."""

    processing_guarantee: ProcessingGuarantee = ProcessingGuarantee.NONE
    snapshot_interval_ms: int = 10_000
    """Two recovery points (epochs) are never further apart than this."""
    suspend_on_failure: bool = False
    """On an error: SUSPENDED with its cause, instead of FAILED."""
    initial_snapshot: str | None = None
    partitions: int | None = None
    """Shuffle partitions of the query; None lets the engine take the number of cores."""
    state_store: StateStore = StateStore.ROCKSDB
    """A job that resumes saved state in the same form goes on in the store that it was saved from."""
    spark: dict[str, str] = field(default_factory=dict)
    """Further Spark SQL settings of this job's session, for experts."""
    renamed: dict[str, str] = field(default_factory=dict)
    """New name -> old name of stages whose state in ``initial_snapshot`` goes on under another name."""

    @classmethod
    def from_options(cls, options: dict[str, Any], base: JobConfig | None = None) -> JobConfig:
        """Build from user-written options, over ``base``; raises UsageError naming the wrong one.

        Accepted: processing_guarantee, snapshot_interval (text or seconds), snapshot_interval_ms,
        suspend_on_failure, initial_snapshot, partitions, state_store, spark, renamed (a mapping, or ``new=old,...``).
        None values are left out, so that a command line never overwrites what code has set with nothing (jet.md §5).
        """
        changes: dict[str, Any] = {}
        for key, value in options.items():
            if value is None:
                continue
            if key == "processing_guarantee":
                changes[key] = _guarantee(value)
            elif key == "snapshot_interval":
                changes["snapshot_interval_ms"] = durations.milliseconds(value, "snapshot_interval")
            elif key == "snapshot_interval_ms":
                changes[key] = _whole(key, value, least=0)
            elif key == "suspend_on_failure":
                changes[key] = _boolean(key, value)
            elif key == "initial_snapshot":
                changes[key] = str(value)
            elif key == "partitions":
                changes[key] = _whole(key, value, least=1)
            elif key == "state_store":
                changes[key] = _state_store(value)
            elif key == "spark":
                if not isinstance(value, dict):
                    raise UsageError("The job option 'spark' is a mapping of Spark settings to values.")
                changes[key] = {str(k): str(v) for k, v in value.items()}
            elif key == "renamed":
                changes[key] = renamed_stages(value)
            else:
                raise UsageError(f"Unknown job option: {key}. There are: {', '.join(sorted(_OPTIONS))}.")
        return dataclasses.replace(base or cls(), **changes)

    def to_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self) | {
            "processing_guarantee": self.processing_guarantee.value,
            "state_store": self.state_store.value,
        }


_OPTIONS = (
    "processing_guarantee", "snapshot_interval", "suspend_on_failure", "initial_snapshot", "partitions", "state_store", "spark",
    "renamed",
)  # fmt: skip


def renamed_stages(value: Any) -> dict[str, str]:
    """New name -> old name, from a mapping or from ``new=old,new=old``; UsageError if it is neither."""
    if isinstance(value, dict):
        return {str(new): str(old) for new, old in value.items()}
    found = {}
    for pair in filter(None, str(value).split(",")):
        new, equals, old = (part.strip() for part in pair.partition("="))
        if not (new and equals and old):
            raise UsageError(f"A renamed stage is told as new=old, not '{pair}'.")
        found[new] = old
    return found


def _guarantee(value: Any) -> ProcessingGuarantee:
    words = {"atleastonce": "at_least_once", "exactlyonce": "exactly_once"}
    text = str(value).strip().lower().replace("-", "_")
    try:
        return ProcessingGuarantee(words.get(text.replace("_", ""), text))
    except ValueError:
        raise UsageError(
            f"Unsupported value for processing_guarantee: {value}. Use none, at_least_once or exactly_once."
        ) from None


def _state_store(value: Any) -> StateStore:
    try:
        return StateStore(str(value).strip().lower())
    except ValueError:
        raise UsageError(f"Unsupported value for state_store: {value}. Use {' or '.join(StateStore)}.") from None


def _whole(key: str, value: Any, least: int) -> int:
    try:
        number = int(str(value))
    except ValueError:
        raise UsageError(f"Invalid number for {key}: {value}") from None
    if number < least:
        raise UsageError(f"{key} can't be {'negative' if number < 0 else f'less than {least}'}: {value}")
    return number


def _boolean(key: str, value: Any) -> bool:
    text = str(value).strip().lower()
    if text not in ("true", "false"):
        raise UsageError(f"Invalid value for {key}: {value}. Use true or false.")
    return text == "true"


@dataclass(frozen=True)
class JobSource:
    """What to run: an artifact's file, the entry in it and its arguments."""

    artifact: str
    """Path of the stored file on the server (.py, .zip or .whl)."""
    entry: str | None = None
    """``module:function``; None if the artifact holds exactly one job."""
    args: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        return {"artifact": self.artifact, "entry": self.entry, "args": list(self.args)}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> JobSource:
        return cls(data["artifact"], data.get("entry"), tuple(data.get("args", ())))


@dataclass(frozen=True)
class Progress:
    """What a run says of itself; counters restart with each run, totals of the job do not."""

    epoch: int = -1
    """The last committed epoch; -1 before the first."""
    watermark_ms: int | None = None
    input_rows: int = 0
    """Rows read from all sources since the job was submitted."""
    rows_per_second: float = 0.0
    epoch_ms: int = 0
    """How long the last epoch with data took."""
    bad_rows: int = 0
    """Rows that could not be parsed, since the job was submitted."""
    stages: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Per stage: rows in and out, state rows and bytes, late rows dropped, source offsets."""

    @property
    def late_rows(self) -> int:
        """Rows that all stages dropped as late, since the job was submitted."""
        return sum(int(facts.get("late_rows", 0)) for facts in self.stages.values())

    def to_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, data: dict[str, Any] | None) -> Progress:
        return cls(**data) if data else cls()


@dataclass(frozen=True)
class Version:
    """What a job runs, and on which checkpoint."""

    number: int
    source: JobSource
    options: dict[str, Any]
    config: JobConfig
    plan: dict[str, Any] | None = None
    lineage: str | None = None

    def to_dict(self) -> dict[str, Any]:
        return {
            "number": self.number,
            "source": self.source.to_dict(),
            "options": self.options,
            "config": self.config.to_dict(),
            "plan": self.plan,
            "lineage": self.lineage,
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Version:
        source, config = JobSource.from_dict(data["source"]), JobConfig.from_options(data["config"])
        return cls(data["number"], source, data["options"], config, data["plan"], data["lineage"])


@dataclass(frozen=True)
class Update:
    """An update under way, or being watched: what to go back to, or forward to."""

    operation: int
    watch_seconds: float
    """How long after its start a failure of the new version still brings back the old one."""
    target: Version | None = None
    """The new version, until the old one has stopped, or its saved state is exported."""
    previous: Version | None = None
    """The old version, from then on: until the new one is up, or is not watched any more."""
    stopped_at: float = 0.0
    """When the old version's last epoch was committed, in seconds since the epoch."""
    started_at: float | None = None
    """When the new version was up."""
    standby: str | None = None
    """The warm runner that has made itself ready for the new version."""

    def to_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self) | {
            "target": self.target.to_dict() if self.target else None,
            "previous": self.previous.to_dict() if self.previous else None,
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Update:
        versions = {key: Version.from_dict(data[key]) if data[key] else None for key in ("target", "previous")}
        return cls(**(data | versions))


@dataclass(frozen=True)
class Job:
    """A job as recorded in the store."""

    id: str
    name: str | None
    state: JobState
    source: JobSource
    config: JobConfig
    submission_time: float
    """Seconds since the epoch; never changes on restart, suspend or resume."""
    options: dict[str, Any] = field(default_factory=dict)
    """What was asked for at submission; goes over the options in the job's code."""
    start_time: float | None = None
    """Of the present or last execution."""
    completion_time: float | None = None
    user_cancelled: bool = False
    """FAILED because a user cancelled it."""
    suspension_cause: str | None = None
    """``Requested by user`` or ``Execution failure:`` and the error."""
    failure: str | None = None
    """The sentence that says why it FAILED."""
    failure_details: str | None = None
    """Stack trace, shown only with -v."""
    token: int = 0
    """Fencing token of the present run; every run of a job has a higher one than the run before."""
    termination: str | None = None
    """``<MODE>#<operation>`` while a run is being ended, or exported from, on request (``SUSPEND#17``)."""
    attempts: int = 0
    """Starts since the last committed epoch; bounds a loop of crashes."""
    due: float | None = None
    """NOT_RUNNING: it is not started again before this time, in seconds since the epoch."""
    lineage: str | None = None
    """Names the checkpoint in use."""
    plan: dict[str, Any] | None = None
    """The compiled plan, once a runner has compiled it."""
    version: int = 1
    """Counts the updates of the job."""
    update: Update | None = None
    update_failure: str | None = None
    """Why the last update was rolled back; None if there was none, or it went well."""

    @property
    def saved(self) -> Version:
        """The version that has written the job's state: after an update of a suspended job, still the one before."""
        update = self.update
        if update is not None and update.previous is not None and update.started_at is None:
            return update.previous
        return Version(self.version, self.source, self.options, self.config, self.plan, self.lineage)

    @property
    def display_name(self) -> str:
        return self.name or "N/A"

    @property
    def active(self) -> bool:
        """True while its name is taken."""
        return not self.state.terminal
