"""Tasks of other processes: to compile a version, to look into saved state, to get ready for a run.

Each task names its result by the type of its answer (``Compile`` -> ``Compilation``), or has none.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from pitstop.kit.wire import described
from pitstop.model.config import JobConfig
from pitstop.model.job import JobSource
from pitstop.model.report import SourceFate

MOST_STATE_ROWS = 100_000
"""The most rows of a query on state."""


@dataclass(frozen=True)
class Compile:
    """Compile a version of a job, and try its migrations on the state that it is to take over."""

    kind: ClassVar = "compile"
    source: JobSource
    options: dict[str, Any] = field(default_factory=dict)
    """As written by users; they go over those of the code."""
    against: str | None = None
    """The folder of the snapshot or checkpoint whose state is to be taken over."""
    job_id: str = ""
    job_name: str = ""
    """The job that it is a version of, if there is one already."""
    looks: bool = False
    """True if the places that it reads and writes are looked at, too."""

    @property
    def seconds(self) -> float:
        """The most seconds that this may take, by the options that were asked for: those of the code are not known yet."""
        options = {key: value for key, value in self.options.items() if key == "compile_timeout"}
        return JobConfig.from_options(options).compile_timeout_ms / 1000


@dataclass(frozen=True)
class Compilation:
    """A version as it was compiled."""

    plan: dict[str, Any]
    """The plan (plan.model.Plan) in its stored form."""
    migrations: dict[str, str] = field(default_factory=dict)
    """Stage -> what its migration made of the state, in words."""
    allow_shared: bool = False
    """True if it may write where another job writes (option allow_shared)."""
    facts: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Stage of the saved version -> what was read from its state to compare it (plan.diff.unknown)."""
    fates: dict[str, SourceFate] = field(default_factory=dict)
    """Source -> what becomes of its saved place, where its kind has something to tell."""
    findings: tuple[str, ...] = ()
    """A sentence for each place that was looked at."""


@dataclass(frozen=True)
class Rehearse:
    """Start the compiled version once from a copy of a running checkpoint, or from a snapshot, without sources and sinks."""

    kind: ClassVar = "rehearse"
    lineage: str
    """The checkpoint of the version that runs."""
    stages: dict[str, Any] = field(default_factory=dict)
    """The contents of each stage's state by now, as the manifest of a snapshot has them."""
    snapshot: str | None = None
    """The folder of the snapshot from which the version starts in the place of that checkpoint."""


@dataclass(frozen=True)
class QueryState:
    """Run SQL on a stage's rows in a snapshot; answered with StateRows."""

    kind: ClassVar = "query_state"
    snapshot: str
    """The snapshot's folder."""
    stage: str
    sql: str
    limit: int


@dataclass(frozen=True)
class QueryCheckpoint:
    """Run SQL on the rows of an operator in a checkpoint of Spark; answered with StateRows."""

    kind: ClassVar = "query_checkpoint"
    checkpoint: str
    """The checkpoint's folder, or its address in an object store."""
    operator: int | None
    """The number of the operator; None: the only one."""
    sql: str
    limit: int


@described
@dataclass(frozen=True)
class StateRows:
    """Rows of a query on state."""

    columns: list[tuple[str, str]]
    """Name and Spark type of each column."""
    rows: list[list[Any]]
    """JSON values by row; times are ISO 8601 text."""
    more: bool
    """True if there are more rows than the limit."""


@dataclass(frozen=True)
class ExportState:
    """Write a stage's rows in a snapshot to a parquet file."""

    kind: ClassVar = "export_state"
    snapshot: str
    stage: str
    file: str


@dataclass(frozen=True)
class ImportState:
    """Make a snapshot of another one, with the rows of a parquet file as a stage's state; answered with its record."""

    kind: ClassVar = "import_state"
    snapshot: str
    stage: str
    file: str
    data: str
    """The data folder in which the new snapshot is made."""
    name: str
    """The new snapshot's name."""


@dataclass(frozen=True)
class Adopt:
    """Adopt a checkpoint of Spark for a job as a snapshot, or plan that; answered with an Adoption."""

    kind: ClassVar = "adopt"
    source: JobSource
    options: dict[str, Any]
    checkpoint: str
    """The checkpoint's folder, or its address in an object store."""
    operators: dict[int, str]
    """Number of an operator of the checkpoint -> the stage that takes over its state, where the user says it."""
    sources: dict[int, str]
    """Number of a source of the checkpoint -> the source that goes on in its place, where the user says it."""
    data: str
    """The data folder in which the snapshot is made."""
    name: str
    """The snapshot's name."""
    only_plan: bool = False
    """True if nothing is made."""


Task = Compile | Rehearse | QueryState | QueryCheckpoint | ExportState | ImportState | Adopt
TASKS: dict[str, type[Task]] = {
    kind.kind: kind for kind in (Compile, Rehearse, QueryState, QueryCheckpoint, ExportState, ImportState, Adopt)
}


def remedy(task: Task) -> str:
    """Return the remedy for a task that takes too long, as the end of its message."""
    return " Raise the option compile_timeout if that is too short." if isinstance(task, Compile) else ""


def in_words(task: Task) -> str:
    """Return the name of a task in messages."""
    if isinstance(task, Compile):
        return f"Compiling {task.source.artifact.rsplit('/', 1)[-1]}"
    if isinstance(task, Rehearse):
        return "The rehearsal"
    if isinstance(task, Adopt):
        return f"The adoption of {task.checkpoint}"
    if isinstance(task, QueryCheckpoint):
        return f"The query of the state in {task.checkpoint}"
    what = {QueryState: "query", ExportState: "export", ImportState: "import"}[type(task)]
    return f"The {what} of the state of stage '{task.stage}'"
