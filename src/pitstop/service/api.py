"""The service that every door uses: verbs and reads, as plain values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Protocol

from pitstop.maps.model import Entry
from pitstop.model.adoption import Adoption
from pitstop.model.audit import AuditEntry
from pitstop.model.execution import EPOCHS, ExecutionFacts
from pitstop.model.job import JobState
from pitstop.model.operation import Answer, StateAtStart, UserRequest
from pitstop.model.origin import ELSEWHERE, PathOrigin
from pitstop.model.snapshot import SnapshotManifest, SnapshotRecord
from pitstop.model.task import StateRows
from pitstop.service.cluster_results import Backup, ClusterInfo
from pitstop.service.history import JobHistory, Step
from pitstop.service.job_results import CheckResult, JobEvents, JobStatus, KeptState, UpdateResult
from pitstop.service.job_views import JobGraph, JobVerb, JobVersion, OptionInForce
from pitstop.service.kept_artifacts import Artifact
from pitstop.service.log_results import LoggerLevel, LogPage
from pitstop.service.map_results import FoundEntries, JournalPage, MapFacts
from pitstop.service.settings import ServerSettings
from pitstop.service.snapshot_results import SnapshotDiff
from pitstop.service.sql_results import Result

OPERATION_SECONDS = 300.0
"""The longest that a verb waits for its answer."""
ADOPT_SECONDS = 6 * 3600.0
"""The longest that an adoption waits: it writes all state of a checkpoint anew."""
NOTHING_SAID: Mapping[int, str] = MappingProxyType({})
"""Nothing of a checkpoint is assigned by hand."""
UPDATE_SECONDS = 1800.0
"""The longest that an update waits: it compiles and rehearses the new version before anything stops."""


@dataclass(frozen=True)
class SubmitRequest:
    """The code to run, and its settings. Each verb documents the fields that it reads."""

    artifact_name: str
    """The name of the file whose bytes are given; without bytes, a path or URL that the server can read."""
    artifact_bytes: bytes | None = None
    entry: str | None = None
    """``module:function``; None if the artifact holds exactly one job."""
    args: tuple[str, ...] = ()
    """The arguments of the job's function."""
    name: str | None = None
    """The name of the job; None takes the name in its CREATE JOB, else the artifact's name without suffix."""
    initial_snapshot: str | None = None
    """For submit: the snapshot to start from. For update: the name of the snapshot to take of the old version."""
    options: dict[str, Any] = field(default_factory=dict)
    """The job options in the form that users write (``model.config``). A value of None leaves what the code says."""
    id: str | None = None
    """For submit: the id that the job should have; None makes one. A submission with an id can be repeated: see ``submit``."""
    origin: PathOrigin | None = ELSEWHERE
    """The base of relative paths and ``~`` of the job; None: the server's own folder and home, as in older releases."""


class Service(Protocol):
    """The verbs and reads of Pitstop, for any door.

    A job is given by name or id. If several jobs had the name, it means the one that has not ended, else the newest. A verb
    returns once it is carried out, unless its description says otherwise. Errors are PitstopError: NotFoundError if there is no
    such job, snapshot, stage or map, ConflictError if the state of a job forbids the verb, UsageError if the input cannot be
    right.
    """

    def submit(self, request: SubmitRequest) -> JobStatus:
        """Record the job and let it start. Return at once, in state NOT_RUNNING.

        If a job already has the requested id, return it as it is: a caller that has lost the answer can ask again, and the job is
        submitted once. ConflictError if that job has another name than the requested one. ArtifactError if the artifact cannot be
        read, ConflictError if the name belongs to a job that has not ended.
        """
        ...

    def check(self, request: SubmitRequest, job: str | None = None, snapshot: str | None = None) -> CheckResult:
        """Compile a new version, and compare it with a job or a snapshot, stage by stage. Nothing is changed.

        If a job is given, entry and arguments default to those of its version, as in an update.
        """
        ...

    def update(self, name_or_id: str, request: SubmitRequest, watch_seconds: float = 0.0) -> UpdateResult:
        """Replace the version of a running or suspended job. The old version continues if the new one is refused or fails.

        A suspended job stays suspended: the new version starts when it is resumed. A failed job becomes suspended with it.

        ``request`` holds the code to run, options that override those of the submission, and the name of the snapshot to take.
        Entry and arguments default to those of the version before. IncompatibleError is raised before anything stops; it is a
        DropError if the update would drop state that the option ``allow_drop`` does not name. EngineError if the new version
        fails before it is up, or within ``watch_seconds`` after.
        """
        ...

    def do(self, name_or_id: str, request: UserRequest[Answer]) -> Answer:
        """Carry out a request about a job, and return its answer, such as the snapshot of an :class:`Export`.

        What each request means is said at its class. A job that is resumed or restarted may not run yet, and neither may one
        that is rolled back. UsageError if the request cannot be right, ConflictError if the job's state forbids it.
        """
        ...

    def jobs(self, include_ended: bool = False) -> list[JobStatus]:
        """Return the jobs that have not ended, or all that are remembered, newest first."""
        ...

    def kept_states(self) -> list[KeptState]:
        """Return the state that ended jobs keep on disk, so that they can be brought back, the largest first."""
        ...

    def job(self, name_or_id: str) -> JobStatus:
        """Return a job. NotFoundError ``No job with name or id '<x>' was found``."""
        ...

    def wait_for(self, name_or_id: str, states: tuple[JobState, ...], timeout: float) -> JobStatus:
        """Block until the job is in one of the states, and return it. WaitTimeoutError after ``timeout`` seconds."""
        ...

    def graph(self, name_or_id: str, version: int | None = None) -> JobGraph:
        """Return the pipeline of a version, by default of the present one: its stages, and the stages that each of them reads.

        ConflictError if the version was never compiled, NotFoundError if there is no such version.
        """
        ...

    def versions(self, name_or_id: str) -> list[JobVersion]:
        """Return the versions that the job has and had, the newest first. By default 50 are kept."""
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
        """Update the job to the code, arguments and options of an earlier version. ``options`` override these.

        All else is as in :meth:`update`: the result is a new version, which continues from the state of the present one, or as
        ``start`` says. IncompatibleError if the version would lack any of its state, or would write rows again without
        ``write_again``.
        """
        ...

    def verbs(self, name_or_id: str) -> list[JobVerb]:
        """Return the verbs for the job, each with the refusal that it would get now. No verb is carried out."""
        ...

    def options(self, name_or_id: str) -> list[OptionInForce]:
        """Return all options of the job, each with the value in force and its origin."""
        ...

    def history(self, name_or_id: str, step: Step = Step.SECOND, after: float = 0.0) -> JobHistory:
        """Return the job's figures for each second, or each minute, after a time.

        ``after`` is in seconds since the epoch. By default 15 minutes of seconds are kept, and a day of minutes (``settings``).
        """
        ...

    def job_events(self, name_or_id: str, after: int = 0, limit: int = 1000, wait_seconds: float = 0.0) -> JobEvents:
        """Return at most ``limit`` events of the job after number ``after``, oldest first. By default the newest 1,000 are kept.

        If there are none yet, wait up to ``wait_seconds`` for one, unless the job has ended.
        """
        ...

    def execution(self, name_or_id: str, epochs: int = EPOCHS) -> ExecutionFacts:
        """Return the tasks of the last epochs of a running job, at most ``epochs``, and Spark's plan.

        The run tells what Spark remembers, and does nothing for it while nobody asks. ConflictError if the job is not RUNNING,
        WaitTimeoutError if its run does not answer.
        """
        ...

    def peek(self, name_or_id: str, stage: str, limit: int = 20, wait_seconds: float = 30.0) -> StateRows:
        """Return the rows, at most ``limit``, that a stage of a running job gives in its next epoch that gives any.

        Only that epoch does anything for it. The stage must be the last one with state before a sink, or behind it, or it must
        feed several sinks: Spark keeps the rows of no other. ConflictError if its rows are not kept, or the job is not RUNNING;
        WaitTimeoutError if no such epoch comes within ``wait_seconds``.
        """
        ...

    def logs(self, name_or_id: str, after: int = 0, limit: int = 1000) -> LogPage:
        """Return at most ``limit`` lines of the job's log from byte ``after`` on."""
        ...

    def artifacts(self) -> list[Artifact]:
        """Return the files of jobs that are kept, by name, each with the versions of jobs that use it."""
        ...

    def audit(self, before: int | None = None, limit: int = 1000) -> list[AuditEntry]:
        """Return at most ``limit`` entries of the audit, the newest first. With ``before``, only entries of a lower sequence."""
        ...

    def log_levels(self, job: str | None = None) -> list[LoggerLevel]:
        """Return the levels of loggers, by logger: those that are set for all runs and for the job, and the defaults."""
        ...

    def set_log_level(self, logger: str, level: str | None, job: str | None = None) -> list[LoggerLevel]:
        """Set the level from which a logger writes, for servers and all runs, or for the job's runs. None takes the setting back.

        Running processes adopt it within two seconds. Return the same as ``log_levels``. UsageError if there is no such level.
        """
        ...

    def snapshots(self) -> list[SnapshotRecord]:
        """Return all named snapshots, by name."""
        ...

    def snapshot(self, name: str) -> SnapshotManifest:
        """Return the manifest of a snapshot."""
        ...

    def snapshot_diff(self, first: str, second: str) -> SnapshotDiff:
        """Return the differences of two snapshots, and a report on the first one's state in the second one's pipeline."""
        ...

    def delete_snapshot(self, name: str) -> None:
        """Delete a snapshot, with its files."""
        ...

    def query_state(self, snapshot: str, stage: str, sql: str, limit: int = 1000) -> StateRows:
        """Run Spark SQL on the rows of a stage's state, the table ``state``. UsageError if the SQL is wrong."""
        ...

    def export_state(self, snapshot: str, stage: str) -> bytes:
        """Return a parquet file of the rows of a stage's state."""
        ...

    def import_state(self, snapshot: str, stage: str, content: bytes, name: str | None = None) -> SnapshotRecord:
        """Make snapshot ``name`` (default: ``snapshot``, replaced) with the rows of a parquet file as the stage's state.

        UsageError if the rows do not have the form of the stage's state.
        """
        ...

    def adopt(
        self,
        request: SubmitRequest,
        checkpoint: str,
        name: str | None = None,
        operators: Mapping[int, str] = NOTHING_SAID,
        sources: Mapping[int, str] = NOTHING_SAID,
        only_plan: bool = False,
    ) -> Adoption:
        """Make snapshot ``name`` (default: the name of the job) of a checkpoint of Spark, from which the job goes on.

        ``operators`` and ``sources``: their numbers in the checkpoint -> stage or source of the job, where several fit.
        ``only_plan``: nothing is made. IncompatibleError if the job cannot take over the checkpoint.
        """
        ...

    def maps(self) -> list[MapFacts]:
        """Return all maps, by name."""
        ...

    def map_get(self, name: str, key: str) -> str | None:
        """Return the value of a key as JSON text; None if there is none."""
        ...

    def map_entry(self, name: str, key: str) -> Entry | None:
        """Return the entry of a key with its version and times; None if there is none."""
        ...

    def map_put(self, name: str, entries: dict[str, str], expected_version: int | None = None) -> None:
        """Write entries (key -> JSON text), all or none. The map is made if there is none of that name.

        With ``expected_version``, they are written only if each still has that version (0: there is no entry). ConflictError if
        one of them was written meanwhile.
        """
        ...

    def map_delete(self, name: str, key: str, version: int | None = None) -> bool:
        """Delete an entry; False if there was none. With ``version``, ConflictError if the entry no longer has that version."""
        ...

    def map_clear(self, name: str) -> int:
        """Delete all entries of a map, each with its event in the journal; return their number, 0 for a map without writes."""
        ...

    def map_entries(self, name: str, prefix: str = "", after: str | None = None, limit: int = 1000) -> list[Entry]:
        """Return at most ``limit`` entries by key, of those whose keys begin with ``prefix`` and come after key ``after``."""
        ...

    def map_search(self, name: str, where: str, prefix: str = "", after: str | None = None, limit: int = 1000) -> FoundEntries:
        """Return the entries of ``map_entries`` whose values fulfil a condition (maps.condition). UsageError if it is wrong.

        One call looks at 10,000 entries and for a second at most, and says where it has stopped.
        """
        ...

    def map_size(self, name: str) -> int:
        """Return the number of entries; 0 for a map without writes."""
        ...

    def map_configure(self, name: str, journal_capacity: int | None = None, ttl_seconds: float | None = None) -> None:
        """Make a map or change its settings. None leaves a setting as it is; ``ttl_seconds`` 0 keeps entries for ever."""
        ...

    def map_journal(self, name: str, after: int | None = None, limit: int = 1000) -> JournalPage:
        """Return at most ``limit`` events with a sequence after ``after`` (None: from the oldest that is kept), oldest first."""
        ...

    def server_info(self) -> ClusterInfo:
        """Return the state, version and members of the cluster."""
        ...

    def settings(self) -> ServerSettings:
        """Return the settings of the server: the limits on data that grows."""
        ...

    def add_member(self) -> str:
        """Start one more member on the server's machine, and return its name. ConflictError if the server starts no members."""
        ...

    def remove_member(self, name: str) -> None:
        """Ask a member to leave. NotFoundError if there is none of that name, ConflictError if it is the last one."""
        ...

    def replace_engine(self, name: str) -> list[str]:
        """Start another engine of that name beside the one that is up, which gets no jobs any more and ends with its last one.

        Return, once it is up, the names (or ids) of the jobs that are still in the old one, or in one before: each moves over
        when it is restarted. NotFoundError if no engine of that name is up, EngineError if the other one does not come up.
        """
        ...

    def backup(self, folder: str) -> Backup:
        """Copy all data of the server into a new or empty folder of its machine, as it is at one moment. Jobs run on meanwhile.

        ``folder`` must be an absolute path. UsageError if it is not, or if the store is in PostgreSQL.
        """
        ...

    def support_bundle(self) -> bytes:
        """Return an archive (tar.gz) for somebody who is to help: versions, settings, jobs, events, metrics and the ends of logs.

        It has no data of jobs, and no secrets.
        """
        ...

    def sql(self, statements: str) -> Iterator[Result]:
        """Run SQL statements, separated by ``;``, each once the result of the one before was taken.

        UsageError, with the place of the mistake, if the text cannot be read: no statement is run then. The first statement that
        fails ends the rest.
        """
        ...

    def shut_down(self) -> None:
        """End all jobs at an epoch boundary, then members and server. After a restart, all continue where they stopped."""
        ...
