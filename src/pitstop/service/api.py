"""The one layer that every door uses: verbs and reads, as plain values."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from pitstop.control.ports import Waiter
from pitstop.maps.model import Entry
from pitstop.model.audit import AuditEntry
from pitstop.model.job import JobState
from pitstop.model.operation import Operation, Request, StateAtStart
from pitstop.model.snapshot import SnapshotManifest, SnapshotRecord
from pitstop.model.task import StateRows
from pitstop.service.asked import Asked, Sign
from pitstop.service.changes import Changes
from pitstop.service.history import JobHistory, Step
from pitstop.service.job_views import JobGraph, JobVerb, JobVersion, OptionInForce
from pitstop.service.kept_artifacts import Artifact
from pitstop.service.results import (
    Backup,
    CheckResult,
    ClusterInfo,
    FoundEntries,
    JobEvents,
    JobStatus,
    JournalPage,
    KeptState,
    LoggerLevel,
    LogPage,
    MapFacts,
    OperationStatus,
    SnapshotDiff,
    UpdateResult,
)
from pitstop.service.settings import ServerSettings
from pitstop.service.sql_results import Result
from pitstop.sql.statements import Statement

OPERATION_SECONDS = 300.0
"""How long a verb waits for its answer."""
UPDATE_SECONDS = 1800.0
"""How long an update does: it compiles and rehearses the new version before anything stops."""


@dataclass(frozen=True)
class SubmitRequest:
    """Code to run, and how. Verbs say what of it they read."""

    artifact_name: str
    """Name of the file whose bytes are given; without bytes, a path or URL that the server can read."""
    artifact_bytes: bytes | None = None
    entry: str | None = None
    """``module:function``; None if the artifact holds exactly one job."""
    args: tuple[str, ...] = ()
    """Arguments of the job's function."""
    name: str | None = None
    """Name of the job; None takes that of its CREATE JOB, else the artifact's name without suffix."""
    initial_snapshot: str | None = None
    """submit: the snapshot to start from. update: the name of the snapshot to take of the old version."""
    options: dict[str, Any] = field(default_factory=dict)
    """Job options as a user writes them (``model.config``); None leaves what the code says."""
    id: str | None = None
    """submit: the id that the job is to have; None makes one. Whoever submits with an id may do so again: see there."""


class Service(Protocol):
    """What can be asked of Pitstop, by any door.

    Jobs are named by name or id; of several jobs that had a name it is the one that has not ended, else the newest. Verbs
    return once they are carried out unless told otherwise. Errors are PitstopError: NotFoundError if there is no such job,
    snapshot, stage or map, ConflictError if the state of a job forbids the verb, UsageError for what cannot be right.
    """

    def submit(self, request: SubmitRequest) -> JobStatus:
        """Record the job and let it start; returns at once, in state NOT_RUNNING.

        If there is a job of the id that is asked for, that one is returned as it is: who has not heard the answer asks again, and
        the job is submitted once. ConflictError if it has another name than the one that is asked for.
        ArtifactError if the artifact cannot be read, ConflictError if the name belongs to a job that has not ended.
        """
        ...

    def check(self, request: SubmitRequest, job: str | None = None, snapshot: str | None = None) -> CheckResult:
        """Compile a new version and compare it with a job or a snapshot, stage by stage; touches nothing.

        Beside a job, entry and arguments default to those of its version, as in an update.
        """
        ...

    def update(self, name_or_id: str, request: SubmitRequest, watch_seconds: float = 0.0) -> UpdateResult:
        """Put a new version in the place of a running or suspended job's; the old one goes on if it is refused or fails.

        A suspended job stays suspended: the new version starts when it is resumed. A job that has failed is suspended with it.

        ``request``: what to run (entry and arguments default to those of the version before), options over those it was
        submitted with, and the name of the snapshot to take. IncompatibleError before anything stops, its DropError if it would
        drop what the option ``allow_drop`` does not name; EngineError if the new version failed before it was up, or within
        ``watch_seconds`` after.
        """
        ...

    def suspend(self, name_or_id: str) -> None:
        """Stop a running job after its present epoch; its state is kept."""
        ...

    def resume(self, name_or_id: str) -> None:
        """Let a job start again from its kept state: a suspended one, or one that has failed or was cancelled.

        Returns before it runs. Does nothing to a job that runs. ConflictError if the state was removed meanwhile.
        """
        ...

    def restart(self, name_or_id: str) -> None:
        """Stop a running job after its present epoch and let it start again; returns before it runs again."""
        ...

    def cancel(self, name_or_id: str) -> None:
        """End a job at once. Its state is kept for a while, a day by default: resume brings it back.

        Does nothing to a job that has ended.
        """
        ...

    def configure(self, name_or_id: str, options: dict[str, Any]) -> None:
        """Change options of a suspended job, without a new version: its next run has them.

        UsageError for an option that only an update may change, or none; ConflictError if the job is not suspended.
        """
        ...

    def rollback(self, name_or_id: str) -> None:
        """Go back to the version before an update that is being made ready, starts or is watched; returns before that runs.

        ConflictError if there is no such update.
        """
        ...

    def discard(self, name_or_id: str) -> None:
        """Remove the state that an ended job keeps. ConflictError if the job has not ended."""
        ...

    def export_snapshot(self, name_or_id: str, snapshot: str, cancel: bool = False) -> SnapshotRecord:
        """Save the state of a job under a name, be it running, suspended or failed; a snapshot of that name is replaced.

        ``cancel``: the job ends exactly where the snapshot does.
        """
        ...

    def jobs(self, include_ended: bool = False) -> list[JobStatus]:
        """Jobs that have not ended, or all that are remembered; newest first."""
        ...

    def kept_states(self) -> list[KeptState]:
        """What ended jobs keep on disk, so that they can be brought back; the largest first."""
        ...

    def job(self, name_or_id: str) -> JobStatus:
        """NotFoundError ``No job with name or id '<x>' was found``."""
        ...

    def wait_for(self, name_or_id: str, states: tuple[JobState, ...], timeout: float) -> JobStatus:
        """Block until the job is in one of the states; WaitTimeoutError after ``timeout`` seconds."""
        ...

    def graph(self, name_or_id: str, version: int | None = None) -> JobGraph:
        """The pipeline of a version of the job, by default its present one: its stages and what they read.

        ConflictError if it was never compiled; NotFoundError for a version that there is not.
        """
        ...

    def versions(self, name_or_id: str) -> list[JobVersion]:
        """The versions that the job has and had, the newest first; 50 are kept."""
        ...

    def go_back(
        self,
        name_or_id: str,
        version: int,
        options: dict[str, Any] | None = None,
        watch_seconds: float = 0.0,
        start: StateAtStart = StateAtStart.PRESENT,
        write_again: bool = False,
    ) -> UpdateResult:
        """Update the job to the code, arguments and options of an earlier version. ``options`` go over these.

        Otherwise as :meth:`update`: it becomes a new version, and goes on from the state of the present one, or as ``start``
        says. IncompatibleError if it would lack any of its state, or write rows again without ``write_again``.
        """
        ...

    def verbs(self, name_or_id: str) -> list[JobVerb]:
        """What can be asked of the job, and what each would be refused with as the job is now; nothing is asked for."""
        ...

    def options(self, name_or_id: str) -> list[OptionInForce]:
        """All options of the job, each with the value in force and where that comes from."""
        ...

    def history(self, name_or_id: str, step: Step = Step.SECOND, after: float = 0.0) -> JobHistory:
        """How the job did in each second, or minute, of the last while, later than a time.

        ``after``: seconds since the epoch. By default 15 minutes of seconds are kept, and a day of minutes (``settings``).
        """
        ...

    def job_events(self, name_or_id: str, after: int = 0, limit: int = 1000, wait_seconds: float = 0.0) -> JobEvents:
        """At most ``limit`` events of the job after number ``after``, oldest first; by default the newest 1,000 are kept.

        While there are none it waits so long for one, unless the job has ended.
        """
        ...

    def logs(self, name_or_id: str, after: int = 0, limit: int = 1000) -> LogPage:
        """At most ``limit`` lines of the job's log from byte ``after`` on."""
        ...

    def artifacts(self) -> list[Artifact]:
        """The files of jobs that are kept, by name, each with the versions of jobs that use it."""
        ...

    def audit(self, before: int | None = None, limit: int = 1000) -> list[AuditEntry]:
        """Who changed what, the newest first, at most so many; with ``before`` only what has a lower sequence."""
        ...

    def log_levels(self, job: str | None = None) -> list[LoggerLevel]:
        """The levels of loggers that are set, for all and for the job, and the usual ones; by logger."""
        ...

    def set_log_level(self, logger: str, level: str | None, job: str | None = None) -> list[LoggerLevel]:
        """Let a logger tell what is of this level and graver, for servers and all runs or for the job's runs; None: as usual.

        Those that run take it over within two seconds. Answers like ``log_levels``; UsageError if there is no such level.
        """
        ...

    def snapshots(self) -> list[SnapshotRecord]:
        """All named snapshots, by name."""
        ...

    def snapshot(self, name: str) -> SnapshotManifest:
        """What a snapshot holds."""
        ...

    def snapshot_diff(self, first: str, second: str) -> SnapshotDiff:
        """What differs between two snapshots, and what would become of the first one's state in the second one's pipeline."""
        ...

    def delete_snapshot(self, name: str) -> None:
        """Remove a snapshot's files and its name."""
        ...

    def query_state(self, snapshot: str, stage: str, sql: str, limit: int = 1000) -> StateRows:
        """Spark SQL on the rows of a stage's state, which are the table ``state``. UsageError if the SQL is wrong."""
        ...

    def export_state(self, snapshot: str, stage: str) -> bytes:
        """A parquet file of the rows of a stage's state."""
        ...

    def import_state(self, snapshot: str, stage: str, content: bytes, name: str | None = None) -> SnapshotRecord:
        """Make snapshot ``name`` (default: the same, replaced) with the rows of a parquet file as the stage's state.

        UsageError if they do not have the form of the stage's state.
        """
        ...

    def maps(self) -> list[MapFacts]:
        """All maps, by name."""
        ...

    def map_get(self, name: str, key: str) -> str | None:
        """The value of a key as JSON text; None if there is none."""
        ...

    def map_entry(self, name: str, key: str) -> Entry | None:
        """The entry of a key with its version and times; None if there is none."""
        ...

    def map_put(self, name: str, entries: dict[str, str], expected_version: int | None = None) -> None:
        """Write entries (key -> JSON text), all or none; makes the map if there is none of that name.

        ``expected_version``: they are written if that is the version of each still (0: there is none); ConflictError if somebody
        else has written one of them meanwhile.
        """
        ...

    def map_delete(self, name: str, key: str, version: int | None = None) -> bool:
        """False if there was no such entry. With a version only if that is its version still, else ConflictError."""
        ...

    def map_entries(self, name: str, prefix: str = "", after: str | None = None, limit: int = 1000) -> list[Entry]:
        """At most ``limit`` entries by key, of those that begin with ``prefix`` and come after key ``after``."""
        ...

    def map_search(self, name: str, where: str, prefix: str = "", after: str | None = None, limit: int = 1000) -> FoundEntries:
        """As ``map_entries``, those whose values fulfil a condition (maps.condition); UsageError if it cannot be read.

        One call looks at 10,000 entries and for a second at most, and says where it has stopped.
        """
        ...

    def map_size(self, name: str) -> int:
        """How many entries; 0 for a map that nobody has written to."""
        ...

    def map_configure(self, name: str, journal_capacity: int | None = None, ttl_seconds: float | None = None) -> None:
        """Make a map or change its settings. None leaves one as it is; ``ttl_seconds`` 0 keeps entries for ever."""
        ...

    def map_journal(self, name: str, after: int | None = None, limit: int = 1000) -> JournalPage:
        """At most ``limit`` events with a sequence after ``after`` (None: from the oldest that is kept), oldest first."""
        ...

    def server_info(self) -> ClusterInfo:
        """State, version and members of the cluster."""
        ...

    def settings(self) -> ServerSettings:
        """Settings of the server: how much it keeps of what grows."""
        ...

    def add_member(self) -> str:
        """Start one more member on the server's machine; its name. ConflictError if the server has no members of its own."""
        ...

    def remove_member(self, name: str) -> None:
        """Let a member leave. NotFoundError if there is none of that name, ConflictError if it is the last one."""
        ...

    def backup(self, folder: str) -> Backup:
        """Copy all that the server keeps into a new or empty folder of its machine, as it is at one moment; jobs go on meanwhile.

        ``folder`` is an absolute path. UsageError for another one, or if the store is in PostgreSQL.
        """
        ...

    def sql(self, statements: str) -> Iterator[Result]:
        """Carry out statements of SQL, with ``;`` between them, each once the result of the one before was taken.

        UsageError, with its place, for a text that is none: nothing of it is done then. The first one that fails ends the rest.
        """
        ...

    def shut_down(self) -> None:
        """End all jobs at an epoch boundary, then members and server. Started again, all goes on where it stopped."""
        ...


class Cluster(Protocol):
    """The cluster of a server, as it describes and changes it."""

    def info(self) -> ClusterInfo: ...

    def add_member(self) -> str: ...

    def remove_member(self, name: str) -> None: ...

    def shut_down(self) -> None:
        """Begin to; returns at once."""
        ...


class BackupDesk(Protocol):
    """Takes backups of a server."""

    def take(self, target: Path) -> Backup:
        """As Service.backup."""
        ...


class ServerService(Service, Protocol):
    """The service where the store is. What takes a while can also be asked for now and waited for later, without a thread.

    ``ask...`` does what the verb of that name does up to the moment in which that one would begin to wait.
    """

    changes: Changes
    """Tells when to look whether there is an answer."""

    def note_audit(self, entries: Sequence[AuditEntry]) -> None:
        """Record who changed what."""
        ...

    def carry_out(self, statement: Statement) -> Result:
        """Do what one statement of SQL says."""
        ...

    def is_look(self, statement: Statement) -> bool:
        """True for a statement that does no more than reads do that viewers may ask for."""
        ...

    def progress_waiter(self) -> Waiter:
        """Who is woken when a run has reported its progress; for one at a time."""
        ...

    def operations(self) -> list[OperationStatus]:
        """What was asked of jobs and is not answered, or was in the last minute; by number."""
        ...

    def jobs_named(self, names: Collection[str]) -> dict[str, JobStatus]:
        """The job of each of these names and ids, of those that there are."""
        ...

    def shown(self, signs: Collection[Sign]) -> set[Sign]:
        """Those of the signs that have come; quick for thousands."""
        ...

    def ask(self, name_or_id: str, request: Request) -> Asked[Operation]: ...

    def ask_configure(self, name_or_id: str, options: dict[str, Any]) -> Asked[Operation]: ...

    def ask_export(self, name_or_id: str, snapshot: str, cancel: bool = False) -> Asked[Operation]: ...

    def ask_update(self, name_or_id: str, request: SubmitRequest, watch_seconds: float = 0.0) -> Asked[UpdateResult]: ...

    def ask_go_back(
        self,
        name_or_id: str,
        version: int,
        options: dict[str, Any] | None = None,
        watch_seconds: float = 0.0,
        start: StateAtStart = StateAtStart.PRESENT,
        write_again: bool = False,
    ) -> Asked[UpdateResult]: ...

    def ask_job_events(
        self, name_or_id: str, after: int = 0, limit: int = 1000, wait_seconds: float = 0.0
    ) -> Asked[JobEvents]: ...

    def ask_wait_for(self, name_or_id: str, states: tuple[JobState, ...], timeout: float) -> Asked[JobStatus]: ...
