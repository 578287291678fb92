"""The service on the store itself. It writes requests, wakes the control loop, and waits for the answer."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn, cast

from pitstop.control.compatibility import Judge
from pitstop.control.going_back import own_snapshot
from pitstop.control.ports.registry import Registry
from pitstop.control.ports.wake import CONTROL, PROGRESS, Waiter, Wake
from pitstop.control.ports.workers import Workers
from pitstop.control.scaling import quorum_of
from pitstop.errors import ConflictError, EngineError, NotFoundError, UsageError, WaitTimeoutError
from pitstop.kit.ids import check_job_id, check_name, new_job_id
from pitstop.maps.ports import MapStore
from pitstop.model.adoption import Adoption
from pitstop.model.audit import AuditEntry
from pitstop.model.config import JobConfig
from pitstop.model.data_folder import DataFolder
from pitstop.model.job import Job, JobSource, JobState, Progress, Version
from pitstop.model.operation import (
    Answer,
    GoingBack,
    Operation,
    OperationState,
    Request,
    StateAtStart,
    Submit,
    Updated,
    UserRequest,
    snapshot_of,
)
from pitstop.model.origin import ELSEWHERE, PathOrigin, of_nobody_here
from pitstop.model.retention import USUAL, Retention
from pitstop.model.selecting import OPERATOR, Asker
from pitstop.model.snapshot import SnapshotRecord
from pitstop.service import updates
from pitstop.service.adopting import AdoptionDesk
from pitstop.service.api import NOTHING_SAID, OPERATION_SECONDS, UPDATE_SECONDS, SubmitRequest
from pitstop.service.artifacts import store_artifact, usual_name
from pitstop.service.asked import Answered, Asked, wait
from pitstop.service.audit import AuditTrail
from pitstop.service.changes import Changes
from pitstop.service.cluster_results import Backup, ClusterInfo
from pitstop.service.dependencies import Dependencies, NothingInstalled
from pitstop.service.job_results import CheckResult, JobStatus, UpdateResult
from pitstop.service.job_views import version_of
from pitstop.service.log_levels import LogLevels
from pitstop.service.map_verbs import MapVerbs
from pitstop.service.run_verbs import RunVerbs
from pitstop.service.selecting import NoQueries, Queries
from pitstop.service.server_api import BackupDesk, Cluster, SupportBundles
from pitstop.service.sessions import EndedSessions
from pitstop.service.snapshot_verbs import SnapshotVerbs
from pitstop.service.sql_results import Result
from pitstop.service.statements import Statements
from pitstop.sql.catalog import Catalog
from pitstop.sql.parsing import parse
from pitstop.sql.statements import Statement


class LocalService(SnapshotVerbs, MapVerbs, LogLevels, RunVerbs):
    """The service on a registry and a map store in this process.

    The service wakes the control plane after it has written a request, and the control loop notifies ``changes``. ``cluster`` is
    the server's. ``now`` and ``new_id`` stamp new jobs. ``dependencies`` provides the packages that jobs need (None: artifacts
    must contain them). ``queries`` runs SELECT, ``backups`` takes backups, ``support`` makes support bundles.
    """

    def __init__(
        self,
        registry: Registry,
        maps: MapStore,
        workers: Workers,
        data: DataFolder,
        wake: Wake,
        changes: Changes,
        cluster: Cluster,
        audit: AuditTrail,
        catalog: Catalog,
        sessions: EndedSessions,
        now: Callable[[], float] = time.time,
        new_id: Callable[[], str] = new_job_id,
        dependencies: Dependencies | None = None,
        retention: Retention = USUAL,
        queries: Queries | None = None,
        backups: BackupDesk | None = None,
        support: SupportBundles | None = None,
    ) -> None:
        SnapshotVerbs.__init__(self, registry, data, changes, retention, workers)
        MapVerbs.__init__(self, maps)
        LogLevels.__init__(self, data, self._find)
        RunVerbs.__init__(self, data, self._find, wake)
        self._judge, self._adoptions = Judge(registry, workers, data), AdoptionDesk(workers, data)
        self._wake, self._cluster, self._now, self._new_id = wake, cluster, now, new_id
        self._sessions = sessions
        self._audit, self._statements = audit, Statements(self, catalog, queries or NoQueries())
        self._backups, self._support = backups, support
        self._dependencies = dependencies or Dependencies(data, NothingInstalled())

    def note_audit(self, entries: Sequence[AuditEntry]) -> None:
        self._audit.add(entries)

    def end_session(self, session: str, until: float) -> None:
        self._sessions.add(session, until)

    def ended_sessions(self) -> dict[str, float]:
        return self._sessions.all()

    def audit(self, before: int | None = None, limit: int = 1000) -> list[AuditEntry]:
        return self._audit.entries(before, limit)

    def progress_waiter(self) -> Waiter:
        return self._wake.waiter(PROGRESS)

    # verbs

    def submit(self, request: SubmitRequest) -> JobStatus:
        name = check_name(
            "job", usual_name(request.artifact_name, request.artifact_bytes) if request.name is None else request.name
        )
        identity = check_job_id(request.id) if request.id is not None else self._new_id()
        earlier = self._registry.get_job(identity)
        if earlier is not None:
            return self._submitted(earlier, name)
        values = {key: value for key, value in request.options.items() if value is not None}
        start, other = request.initial_snapshot, values.get("initial_snapshot")
        if start is not None and other not in (None, start):
            raise UsageError(f"The job is to start from snapshot '{start}', and by its options from '{other}': name one of them.")
        options = values | ({"initial_snapshot": start} if start is not None else {})
        config = JobConfig.from_options(options)
        if config.seek and config.initial_snapshot is None:
            raise UsageError(
                "The option seek puts sources to another place than the saved one, and a job without a snapshot has none: say "
                "the start in its code, or name the snapshot to start from."
            )
        if config.initial_snapshot is not None:
            self._snapshot_record(config.initial_snapshot)
        version = Version(1, self._source(request, config), options, config)
        # Its protection may be set in its code, which is not loaded yet.
        quorum = quorum_of(self._cluster.info().size)
        job = Job(identity, name, self._now(), version, JobState.NOT_RUNNING, quorum=quorum)
        try:
            with self._registry.transaction():
                if config.initial_snapshot is not None:
                    # The snapshot may be gone by now: packages take minutes. From here on the job protects it from deletion.
                    self._snapshot_record(config.initial_snapshot)
                self._registry.add_job(job)
                self._registry.put_version(job.id, version, job.submission_time)
                self._registry.add_operation(job.id, Submit())
        except ConflictError:
            meanwhile = self._registry.get_job(identity)
            if meanwhile is None:
                raise
            return self._submitted(meanwhile, name)
        self._wake.wake(CONTROL)
        return JobStatus.of(job, Progress())

    def _submitted(self, job: Job, name: str) -> JobStatus:
        """Return the job that was submitted before under the requested id. ConflictError if it has another name."""
        if job.name != name:
            raise ConflictError(f"The id {job.id} belongs to job '{job.display_name}', and not to '{name}'.")
        return self.job(job.id)

    def check(self, request: SubmitRequest, job: str | None = None, snapshot: str | None = None) -> CheckResult:
        present = self._find(job) if job is not None and snapshot is None else None
        record = self._snapshot_record(snapshot) if snapshot is not None else None
        if present is not None:
            request = updates.with_args_of(present, request)
            options = updates.options_after(present, request)
        else:
            options = {key: value for key, value in request.options.items() if value is not None}
        source = self._source(request, JobConfig.from_options(options))
        checked = self._judge.check(source, options, present, record)
        return CheckResult.of(checked.plan, checked.report, checked.findings)

    def update(self, name_or_id: str, request: SubmitRequest, watch_seconds: float = 0.0) -> UpdateResult:
        return wait(self.ask_update(name_or_id, request, watch_seconds), self.changes)

    def ask_update(self, name_or_id: str, request: SubmitRequest, watch_seconds: float = 0.0) -> Asked[UpdateResult]:
        job = self._find(name_or_id)
        updates.refuse_unless_updatable(self._registry, job)
        request = updates.with_args_of(job, request)
        return self._ask_update(job, request, updates.options_after(job, request), watch_seconds)

    def go_back(
        self,
        name_or_id: str,
        version: int,
        options: dict[str, Any] | None = None,
        watch_seconds: float = 0.0,
        start: StateAtStart = StateAtStart.PRESENT,
        write_again: bool = False,
    ) -> UpdateResult:
        return wait(self.ask_go_back(name_or_id, version, options, watch_seconds, start, write_again), self.changes)

    def ask_go_back(
        self,
        name_or_id: str,
        version: int,
        options: dict[str, Any] | None = None,
        watch_seconds: float = 0.0,
        start: StateAtStart = StateAtStart.PRESENT,
        write_again: bool = False,
    ) -> Asked[UpdateResult]:
        job = self._find(name_or_id)
        updates.refuse_unless_updatable(self._registry, job)
        target = version_of(job, self._registry.versions(job.id), version)
        if target.number == job.version.number:
            raise ConflictError(f"Version {version} is what job '{job.display_name}' has now.")
        request = updates.request_of(target, options or {})
        own = own_snapshot(self._registry, job, target) if start is StateAtStart.SNAPSHOT else None
        if start is StateAtStart.SNAPSHOT and own is None:
            raise NotFoundError(f"There is no snapshot of version {version} of job '{job.display_name}' any more.")
        if own is not None and (options or {}).get("seek"):
            raise UsageError(f"Version {version} goes on from the places in its snapshot: leave out seek, or --state snapshot.")
        back = GoingBack(target.number, start, write_again)
        return self._ask_update(
            job, request, updates.checked_options(request), watch_seconds, back, own.name if own is not None else None
        )

    def _ask_update(
        self,
        job: Job,
        request: SubmitRequest,
        options: dict[str, Any],
        watch_seconds: float,
        back: GoingBack | None = None,
        start_from: str | None = None,
    ) -> Asked[UpdateResult]:
        source = self._source(request, JobConfig.from_options(options))
        update = updates.update_request(job, source, options, request, watch_seconds, back, start_from)
        if update.snapshot == start_from:
            raise ConflictError(f"Snapshot '{start_from}' would be replaced by the one that the update takes.")
        with self._registry.transaction():
            self._refuse_if_exporting(update.snapshot, but=job)
            operation = self._registry.add_operation(job.id, update)
        pending = self._pending(job, operation, UPDATE_SECONDS + watch_seconds)
        watched = updates.Watch(self._registry, job.id, watch_seconds)

        def look() -> UpdateResult | None:
            answer = pending.look()
            outcome = answer.result if answer is not None else None
            if not isinstance(outcome, Updated) or outcome.report is None:
                return None
            if watch_seconds and outcome.gap_seconds is not None and not watched.is_over(outcome.version):
                return None
            return UpdateResult(outcome.version, outcome.snapshot, outcome.gap_seconds, outcome.report, outcome.report.text())

        return Asked(pending.sign, look, _not_done(job, operation, pending.seconds), pending.seconds)

    def do(self, name_or_id: str, request: UserRequest[Answer]) -> Answer:
        return cast(Answer, wait(self.ask(name_or_id, request), self.changes).result)

    def ask(self, name_or_id: str, request: UserRequest[Answer]) -> Asked[Operation]:
        checked_request = cast(Request, request.checked())
        snapshot = snapshot_of(checked_request)
        job = self._find(name_or_id)
        with self._registry.transaction():
            if snapshot is not None:
                self._refuse_if_exporting(snapshot, but=job)
            operation = self._registry.add_operation(job.id, checked_request)
        return self._pending(job, operation)

    def adopt(
        self,
        request: SubmitRequest,
        checkpoint: str,
        name: str | None = None,
        operators: Mapping[int, str] = NOTHING_SAID,
        sources: Mapping[int, str] = NOTHING_SAID,
        only_plan: bool = False,
    ) -> Adoption:
        place = (request.origin or ELSEWHERE).whole(checkpoint)
        if place is None:
            raise UsageError(f"The checkpoint has the path '{checkpoint}', {of_nobody_here(checkpoint)}")
        usual = usual_name(request.artifact_name, request.artifact_bytes)
        snapshot = check_name("snapshot", usual if name is None else name)
        options = {key: value for key, value in request.options.items() if value is not None}
        if not only_plan:
            self._refuse_if_taken(snapshot)
        source = self._source(request, JobConfig.from_options(options))
        task = self._adoptions.task(source, options, place, operators, sources, snapshot)
        if only_plan:
            return self._adoptions.plan(task)

        def register(new: SnapshotRecord) -> None:
            with self._registry.transaction():
                self._refuse_if_taken(snapshot)
                self._registry.add_snapshot(new)

        return self._adoptions.adopt(task, register)

    def server_info(self) -> ClusterInfo:
        return self._cluster.info()

    def add_member(self) -> str:
        return self._cluster.add_member()

    def remove_member(self, name: str) -> None:
        self._cluster.remove_member(name)

    def replace_engine(self, name: str) -> list[str]:
        return self._cluster.replace_engine(name)

    def shut_down(self) -> None:
        self._cluster.shut_down()

    def backup(self, folder: str) -> Backup:
        if self._backups is None:
            raise UsageError("This service takes no backups: a server does.")
        return self._backups.take(Path(folder))

    def support_bundle(self) -> bytes:
        if self._support is None:
            raise UsageError("This service makes no support bundles: a server does.")
        return self._support.bundle(self)

    # SQL

    def sql(self, statements: str) -> Iterator[Result]:
        return map(self.carry_out, parse(statements))

    def carry_out(self, statement: Statement, asker: Asker = OPERATOR, origin: PathOrigin = ELSEWHERE) -> Result:
        return self._statements.carry_out(statement, asker, origin)

    def is_look(self, statement: Statement) -> bool:
        return self._statements.is_look(statement)

    # inside

    def _source(self, request: SubmitRequest, config: JobConfig) -> JobSource:
        """Store the file of a request and the packages that it needs, and return the source to run. Packages may take minutes."""
        artifact = store_artifact(self._data, request.artifact_name, request.artifact_bytes)
        folder = self._dependencies.folder_for(artifact, config.requirements)
        packages = str(folder) if folder is not None else None
        return JobSource(str(artifact), request.entry, tuple(request.args), packages, request.origin)

    def _pending(self, job: Job, operation: Operation, seconds: float = OPERATION_SECONDS) -> Asked[Operation]:
        """Return the pending end of an operation that is written. Its error is raised."""
        self._wake.wake(CONTROL)

        def look() -> Operation | None:
            current = self._registry.get_operation(operation.id)
            if current is None:
                raise NotFoundError(f"Job '{job.display_name}' was forgotten before {operation.verb.value} was answered.")
            if current.state is OperationState.FAILED:
                raise current.error.error() if current.error is not None else EngineError(f"{operation.verb.value} failed.")
            return current if current.state is OperationState.DONE else None

        return Asked(Answered(operation.id), look, _not_done(job, operation, seconds), seconds)


def _not_done(job: Job, operation: Operation, seconds: float) -> Callable[[], NoReturn]:
    """Return the function that raises the error when the time is up."""

    def late() -> NoReturn:
        verb, name = operation.verb.value, job.display_name
        raise WaitTimeoutError(f"{verb} of job '{name}' is not done after {seconds:.0f} seconds; it goes on.")

    return late
