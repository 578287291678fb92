"""SQL statements, carried out by the verbs of a service."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import assert_never

from pitstop.errors import ConflictError, NotFoundError, UsageError
from pitstop.kit.ids import check_name
from pitstop.model.job import JobState
from pitstop.model.operation import Cancel, CancelAndExport, Configure, Export, PlainRequest, Restart, Resume, Suspend
from pitstop.model.origin import ELSEWHERE, PathOrigin, origin_here
from pitstop.model.report import Report
from pitstop.model.selecting import OPERATOR, Asker
from pitstop.service.api import OPERATION_SECONDS, Service, SubmitRequest
from pitstop.service.inserting import insert_rows
from pitstop.service.job_results import JobStatus
from pitstop.service.selecting import Queries, only_maps, select
from pitstop.service.sql_results import DONE, Column, Result, SqlType, Value
from pitstop.sql.catalog import Catalog
from pitstop.sql.compiling import compile_job
from pitstop.sql.connectors import placed
from pitstop.sql.mappings import Mapping, Named, View
from pitstop.sql.names import check_view
from pitstop.sql.parsing import parse
from pitstop.sql.programs import SUFFIX, write_program
from pitstop.sql.statements import (
    AlterJob,
    CheckJob,
    CreateJob,
    CreateMapping,
    CreateSnapshot,
    CreateView,
    DescribeJob,
    Drop,
    DropJob,
    DropSnapshot,
    ExplainJob,
    Insert,
    JobVerb,
    Query,
    Show,
    Shown,
    Statement,
    UpdateJob,
)

ENDED = tuple(state for state in JobState if state.terminal)
LOOKS = (Show, ExplainJob, DescribeJob)
"""The statements that change nothing, and show only what reads show."""
REPORT = (Column("stage"), Column("verdict"), Column("detail"), Column("rule"))
"""The columns of the results of CHECK JOB and UPDATE JOB."""


class Statements:
    """Carries statements out on a service, with the mappings and views of a catalog."""

    def __init__(self, service: Service, catalog: Catalog, queries: Queries) -> None:
        self._service, self._catalog, self._queries = service, catalog, queries

    def carry_out(self, statement: Statement, asker: Asker = OPERATOR, origin: PathOrigin = ELSEWHERE) -> Result:
        """Carry out a statement, and return once it is done. PitstopError as the verbs raise it, in the words of SQL.

        ``origin``: what the relative paths of a mapping count from that the statement makes.
        """
        service = self._service
        match statement:
            case Show():
                return self._show(statement.what)
            case AlterJob():
                _alter_job(statement, service)
            case DropJob():
                _drop_job(statement, service)
            case CreateJob():
                self._create_job(statement)
            case UpdateJob():
                return _report(service.update(_job(service, statement.job).id, self._request(statement)).report)
            case CheckJob():
                return _report(service.check(self._request(statement), job=_job(service, statement.job).id).report)
            case ExplainJob():
                return _explain(service, _job(service, statement.job).id)
            case DescribeJob():
                return _describe(service, _job(service, statement.job))
            case CreateSnapshot():
                service.do(_job(service, statement.job).id, Export(statement.name))
            case DropSnapshot():
                _drop_snapshot(statement, service)
            case CreateMapping():
                self._create_mapping(statement, origin)
            case CreateView():
                self._create_view(statement)
            case Drop():
                self._drop(statement)
            case Insert():
                insert_rows(statement, service, self._catalog, self._queries)
            case Query():
                return select(statement, service, self._catalog, self._queries, asker)
            case _:
                assert_never(statement)
        return DONE

    def is_look(self, statement: Statement) -> bool:
        """True if a statement does no more than reads of viewers do. A query may then read only maps and information_schema."""
        return isinstance(statement, LOOKS) or (isinstance(statement, Query) and only_maps(statement, self._catalog.all()))

    # jobs

    def _create_job(self, statement: CreateJob) -> None:
        check_name("job", statement.name)
        things = self._things()
        compile_job(statement.name, statement.body, things)
        present = _status_of(self._service, statement.name)
        if statement.if_not_exists and present is not None and not present.status.terminal:
            return
        options = dict(statement.options)
        snapshot = options.pop("initial_snapshot", None)
        self._service.submit(
            SubmitRequest(
                f"{statement.name}{SUFFIX}",
                write_program(statement.name, statement.body, things).encode(),
                name=statement.name,
                initial_snapshot=str(snapshot) if snapshot is not None else None,
                options=options,
            )
        )

    def _request(self, statement: UpdateJob | CheckJob) -> SubmitRequest:
        """Return the request for a new version of a job."""
        things = self._things()
        name = _job(self._service, statement.job).name or statement.job
        if "initial_snapshot" in statement.options:
            raise UsageError("initialSnapshotName is not supported for an existing job: it goes on from its own state")
        compile_job(name, statement.body, things)
        code = write_program(name, statement.body, things).encode()
        return SubmitRequest(f"{name}{SUFFIX}", code, options=dict(statement.options))

    def _things(self) -> dict[str, Named]:
        """Return mappings and views by name. Relative paths, which an older release took, count from the server's own folder."""
        origin = origin_here()
        return {name: _placed(thing, origin) for name, thing in self._catalog.all().items()}

    # mappings and views

    def _create_mapping(self, statement: CreateMapping, origin: PathOrigin) -> None:
        self._keep(placed(statement.mapping, origin), statement.or_replace, statement.if_not_exists)

    def _create_view(self, statement: CreateView) -> None:
        check_view(statement.view, statement.place, self._catalog.all())
        self._keep(statement.view, statement.or_replace, statement.if_not_exists)

    def _keep(self, thing: Named, replace: bool, unless: bool) -> None:
        parse(thing.statement())  # the kept form of a text near the limit may exceed it
        other = self._catalog.all().get(thing.name)
        if replace and other is not None and type(other) is not type(thing):
            raise ConflictError(f"Mapping or view already exists: {thing.name}")
        if not self._catalog.put(thing, replace) and not unless:
            raise ConflictError(f"Mapping or view already exists: {thing.name}")

    def _drop(self, statement: Drop) -> None:
        if not self._catalog.remove(statement.what, statement.name) and not statement.if_exists:
            kind = "Mapping" if statement.what is Mapping else "View"
            raise NotFoundError(f"{kind} does not exist: {statement.name}")

    def _show(self, what: Shown) -> Result:
        match what:
            case Shown.JOBS:
                names = [job.name for job in self._service.jobs() if job.name]
            case Shown.SNAPSHOTS:
                return _snapshots(self._service)
            case Shown.MAPPINGS:
                names = [thing.name for thing in self._catalog.all().values() if isinstance(thing, Mapping)]
            case Shown.VIEWS:
                names = [thing.name for thing in self._catalog.all().values() if isinstance(thing, View)]
            case _:
                assert_never(what)
        return Result.of((Column("name"),), tuple((name,) for name in sorted(names)))


def _snapshots(service: Service) -> Result:
    columns = (Column("name"), Column("job"), Column("created", SqlType.TIMESTAMP), Column("bytes", SqlType.BIGINT))
    records = sorted(service.snapshots(), key=lambda record: record.name)
    rows = ((each.name, each.job_name or each.job_id, datetime.fromtimestamp(each.created, UTC), each.bytes) for each in records)
    return Result.of(columns, tuple(rows))


def _report(report: Report | None) -> Result:
    lines = report.lines if report is not None else ()
    return Result.of(REPORT, tuple((line.stage, line.verdict.value, line.detail, line.rule) for line in lines))


def _explain(service: Service, job: str) -> Result:
    graph = service.graph(job)
    columns = (Column("stage"), Column("kind"), Column("keeps_state", SqlType.BOOLEAN), Column("reads"), Column("description"))
    rows = [
        (
            node.name,
            node.kind.value,
            node.keeps_state,
            ", ".join(edge.source for edge in graph.edges if edge.target == node.name) or None,
            node.description,
        )
        for node in graph.nodes
    ]
    return Result.of(columns, tuple(rows))


def _describe(service: Service, job: JobStatus) -> Result:
    facts: list[tuple[str, Value]] = [
        ("name", job.name),
        ("id", job.id),
        ("status", job.display_status.value),
        ("version", str(job.version)),
        ("submitted", _moment(job.submission_time)),
        ("started", _moment(job.start_time)),
        ("completed", _moment(job.completion_time)),
        ("suspension cause", job.suspension_cause),
        ("failure", job.failure),
        ("artifact", job.source.artifact.rsplit("/", 1)[-1]),
    ]
    facts += [(f"option {each.name}", _text_of(each.value)) for each in service.options(job.id)]
    return Result.of((Column("property"), Column("value")), tuple(facts))


def _moment(seconds: float | None) -> str | None:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds") if seconds is not None else None


def _text_of(value: object) -> str | None:
    return None if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def _alter_job(statement: AlterJob, service: Service) -> None:
    job = _job(service, statement.job)
    if statement.options:
        service.do(job.id, Configure(dict(statement.options)))
    if statement.verb is not None:
        service.do(job.id, _REQUESTS[statement.verb])


def _drop_job(statement: DropJob, service: Service) -> None:
    job = _status_of(service, statement.job)
    if job is None or job.status.terminal:
        if statement.if_exists:
            return
        if job is None:
            raise NotFoundError(f"Job doesn't exist: {statement.job}")
        raise ConflictError(f"Job already terminated: {statement.job}")
    if statement.snapshot is not None:
        service.do(job.id, CancelAndExport(statement.snapshot))
    else:
        service.do(job.id, Cancel())
    service.wait_for(job.id, ENDED, OPERATION_SECONDS)


def _drop_snapshot(statement: DropSnapshot, service: Service) -> None:
    if all(record.name != statement.name for record in service.snapshots()):
        if statement.if_exists:
            return
        raise NotFoundError(f"The snapshot doesn't exist: {statement.name}")
    service.delete_snapshot(statement.name)


_REQUESTS: dict[JobVerb, PlainRequest] = {
    JobVerb.SUSPEND: Suspend(),
    JobVerb.RESUME: Resume(),
    JobVerb.RESTART: Restart(),
}


def _job(service: Service, name_or_id: str) -> JobStatus:
    status = _status_of(service, name_or_id)
    if status is None:
        raise NotFoundError(f"The job '{name_or_id}' doesn't exist")
    return status


def _status_of(service: Service, name_or_id: str) -> JobStatus | None:
    try:
        return service.job(name_or_id)
    except NotFoundError:
        return None


def _placed(thing: Named, origin: PathOrigin) -> Named:
    """Return a mapping with its whole path. One that is wrong stays as it is: only the job that reads it is to be told."""
    try:
        return placed(thing, origin) if isinstance(thing, Mapping) else thing
    except UsageError:
        return thing
