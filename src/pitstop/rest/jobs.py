"""Jobs over HTTP."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request, Response

from pitstop.errors import UsageError
from pitstop.model.execution import EPOCHS, MOST_EPOCHS, ExecutionFacts
from pitstop.model.job import JobState, Progress
from pitstop.model.operation import PLAIN_REQUESTS, CancelAndExport, Configure, Export, PlainRequest
from pitstop.model.origin import PathOrigin
from pitstop.model.snapshot import SnapshotRecord
from pitstop.model.task import StateRows
from pitstop.rest import uploads
from pitstop.rest.models import (
    ArtifactBody,
    CheckBody,
    CheckModel,
    ConfigureBody,
    ExportBody,
    GoBackBody,
    PeekBody,
    SubmitBody,
    UpdateBody,
    UpdatedModel,
)
from pitstop.rest.origins import DESCRIBED, origin_of
from pitstop.rest.paging import Paging, page_of
from pitstop.rest.strict import StrictRoute
from pitstop.rest.threads import bringing, looking_in, peeking, reading, writing
from pitstop.rest.waiting import LONGEST_WAIT, Waiters, asked_by
from pitstop.service.api import SubmitRequest
from pitstop.service.history import JobHistory, Step
from pitstop.service.job_results import CheckResult, JobEvents, JobStatus, KeptState, UpdateResult
from pitstop.service.job_views import JobGraph, JobVerb, JobVersion, OptionInForce
from pitstop.service.log_results import LogPage
from pitstop.service.server_api import ServerService

NameOrId = Annotated[str, Path(description="Name or id of a job")]


def router(service: ServerService) -> APIRouter:
    """Routes below /api/v1."""
    routes = APIRouter(tags=["jobs"], route_class=StrictRoute)
    waiters = Waiters(service)
    _add_submit(routes, service, waiters)
    _add_go_back(routes, service, waiters)
    _add_reads(routes, service, waiters)
    for kind in PLAIN_REQUESTS:
        _add_plain(routes, service, waiters, kind())

    @routes.post("/jobs/{job}/configure", summary="Configure a job")
    async def configure_job(job: NameOrId, body: ConfigureBody, request: Request) -> JobStatus:
        """Changes options of a suspended job: its next run has them. Options that saved state depends on need an update."""
        job_id = (await reading(service.job, job)).id
        await waiters.answer(await writing(service.ask, job_id, Configure(body.options)), request)
        return await reading(service.job, job_id)

    @routes.post("/jobs/{job}/snapshots", status_code=201, summary="Export a named snapshot")
    async def export_snapshot(job: NameOrId, body: ExportBody, request: Request) -> SnapshotRecord:
        """Answers once the snapshot is complete; the job goes on unless `cancel` is set."""
        export = CancelAndExport(body.name) if body.cancel else Export(body.name)
        record = (await waiters.answer(await writing(service.ask, job, export), request)).result
        assert isinstance(record, SnapshotRecord)
        return record

    return routes


def _add_submit(routes: APIRouter, service: ServerService, waiters: Waiters) -> None:
    @routes.post(
        "/jobs",
        status_code=201,
        summary="Submit a job",
        max_body_size=uploads.MOST_BYTES,
        openapi_extra=uploads.described(SubmitBody) | DESCRIBED,
    )
    async def submit_job(request: Request) -> JobStatus:
        """Returns at once, or when the packages that it needs are installed; the job starts by itself.

        `GET /jobs/{job}?wait_for=RUNNING,FAILED,...` waits for it.
        """
        body, content = await uploads.read(request, SubmitBody)
        submission = _request(body, content, await origin_of(request), body.name, body.initial_snapshot, body.options)
        return await bringing(service.submit, dataclasses.replace(submission, id=body.id))

    @routes.post(
        "/check",
        summary="Check a new version",
        max_body_size=uploads.MOST_BYTES,
        openapi_extra=uploads.described(CheckBody) | DESCRIBED,
        response_model=CheckModel,
    )
    async def check_job(request: Request) -> CheckResult:
        """Compiles it, and compares it with a job or snapshot stage by stage; touches nothing. Ends with the client."""
        body, content = await uploads.read(request, CheckBody)
        version = _request(body, content, await origin_of(request), options=body.options)
        async with asked_by(request):
            return await bringing(service.check, version, body.job, body.snapshot)

    @routes.post(
        "/jobs/{job}/update",
        summary="Update a job",
        max_body_size=uploads.MOST_BYTES,
        openapi_extra=uploads.described(UpdateBody) | DESCRIBED,
        response_model=UpdatedModel,
    )
    async def update_job(job: NameOrId, request: Request) -> UpdateResult:
        """Answers once the new version runs. The old one goes on if the new one is refused, or fails before it is up."""
        body, content = await uploads.read(request, UpdateBody)
        version = _request(body, content, await origin_of(request), snapshot=body.snapshot, options=body.options)
        update = await bringing(service.ask_update, job, version, body.watch_seconds)
        return await waiters.answer(update, request)


def _add_go_back(routes: APIRouter, service: ServerService, waiters: Waiters) -> None:
    @routes.post("/jobs/{job}/versions/{version}/go-back", summary="Go back to an earlier version", response_model=UpdatedModel)
    async def go_back(
        job: NameOrId,
        version: Annotated[int, Path(ge=1, le=2**31, description="Number of the version")],
        body: GoBackBody,
        request: Request,
    ) -> UpdateResult:
        """An update to its code, arguments and options, as a new version, from the present state, or as `state` says."""
        update = await bringing(service.ask_go_back, job, version, body.options, body.watch_seconds, body.state, body.write_again)
        return await waiters.answer(update, request)


def _add_reads(routes: APIRouter, service: ServerService, waiters: Waiters) -> None:
    @routes.get("/jobs", summary="List jobs", response_model=list[JobStatus])
    async def list_jobs(
        request: Request,
        paging: Paging,
        all: Annotated[bool, Query(description="Ended jobs, too")] = False,
        status: Annotated[list[JobState] | None, Query(description="Only in these states; repeatable")] = None,
        name: Annotated[str | None, Query(description="Only with this in their name or id")] = None,
    ) -> Any:
        """The jobs that have not ended, or all that are remembered, the newest first."""
        ended = all or any(state.terminal for state in status or ())
        jobs = [job for job in await reading(service.jobs, ended) if _is_wanted(job, status, name)]
        answer = Response(media_type="application/json")
        page = page_of(jobs, lambda job: (-job.submission_time, job.id), paging, request, answer)
        answer.body = b"[" + b",".join([job.json for job in page]) + b"]"
        answer.headers["content-length"] = str(len(answer.body))
        return answer

    @routes.get("/kept-states", summary="List the state that ended jobs keep")
    async def kept_states(request: Request, response: Response, paging: Paging) -> list[KeptState]:
        """Of jobs that have failed or were cancelled, and can be brought back by `POST /jobs/{job}/resume`; the largest first."""
        return page_of(await reading(service.kept_states), lambda state: (-state.bytes, state.id), paging, request, response)

    @routes.get("/jobs/{job}", summary="Get a job, or wait for it", response_model=JobStatus)
    async def get_job(
        request: Request,
        job: NameOrId,
        wait_for: Annotated[
            str | None, Query(description="States, comma-separated; answers once the job is in one of them")
        ] = None,
        timeout: Annotated[float, Query(ge=0, le=LONGEST_WAIT, description="Seconds to wait; then 504 with code TIMEOUT")] = 60.0,
    ) -> Any:
        """With a name that several jobs had: the one that has not ended, else the newest."""
        if wait_for is None:
            return _answer(await reading(service.job, job))
        wait = await reading(service.ask_wait_for, job, _states(wait_for), timeout)
        return _answer(await waiters.answer(wait, request))

    @routes.get("/jobs/{job}/metrics", summary="Get a job's metrics")
    async def get_metrics(job: NameOrId) -> Progress:
        """Progress of its run, stage by stage."""
        return (await reading(service.job, job)).progress

    @routes.get("/jobs/{job}/graph", summary="Get a job's pipeline as a graph")
    async def get_graph(
        job: NameOrId,
        version: Annotated[int | None, Query(ge=1, le=2**31, description="Of this version; default: the present one")] = None,
    ) -> JobGraph:
        """The stages of a version, and the rows that they read of one another. 409 if it was never compiled."""
        return await reading(service.graph, job, version)

    @routes.get("/jobs/{job}/versions", summary="List a job's versions")
    async def list_versions(job: NameOrId, request: Request, response: Response, paging: Paging) -> list[JobVersion]:
        """The versions that it has and had, the newest first; 50 are kept, or as many as the setting says."""
        return page_of(await reading(service.versions, job), lambda version: (-version.number,), paging, request, response)

    @routes.get("/jobs/{job}/verbs", summary="List what may be asked of a job")
    async def list_verbs(job: NameOrId) -> list[JobVerb]:
        """The requests that change a job, each with the sentence that would refuse it now. None of them is carried out."""
        return await reading(service.verbs, job)

    @routes.get("/jobs/{job}/options", summary="Get a job's options")
    async def get_options(job: NameOrId) -> list[OptionInForce]:
        """Each with the value in force, and its origin."""
        return await reading(service.options, job)

    @routes.get("/jobs/{job}/history", summary="Read how a job did over time")
    async def get_history(
        job: NameOrId,
        step: Annotated[Step, Query(description="second: by default the last 15 minutes; minute: 24 hours")] = Step.SECOND,
        after: Annotated[float, Query(ge=0, le=1e12, description="Later than this, in seconds since the epoch")] = 0.0,
    ) -> JobHistory:
        """Rows, epochs, watermark and state, of the job and of each of its stages, in columns as charts take them."""
        return await reading(service.history, job, step, after)

    @routes.get("/jobs/{job}/events", summary="Read what happened to a job, or wait for its next event")
    async def get_job_events(
        request: Request,
        job: NameOrId,
        after: Annotated[int, Query(ge=0, le=2**63 - 1, description="The `next` of the page before")] = 0,
        limit: Annotated[int, Query(ge=1, le=10_000, description="Most events of the answer")] = 1000,
        wait_seconds: Annotated[float, Query(ge=0, le=LONGEST_WAIT, description="Seconds to wait for an event")] = 0.0,
    ) -> JobEvents:
        """Changes of its state with their reasons and stack traces, updates and snapshots, oldest first.

        No events: none came in time, or the job has `ended`.
        """
        return await waiters.answer(await reading(service.ask_job_events, job, after, limit, wait_seconds), request)

    @routes.get("/jobs/{job}/execution", summary="Look at a job's tasks and Spark's plan")
    async def get_execution(
        job: NameOrId,
        request: Request,
        epochs: Annotated[int, Query(ge=1, le=MOST_EPOCHS, description="Most epochs of the answer")] = EPOCHS,
    ) -> ExecutionFacts:
        """The times and the skew of the tasks of the last epochs, and the physical plan of the last one, as Spark remembers them.

        The run is asked, and does nothing for it otherwise. 409 if the job is not RUNNING, 504 if its run does not answer.
        """
        async with asked_by(request):
            return await looking_in(service.execution, job, epochs)

    @routes.post("/jobs/{job}/stages/{stage}/peek", summary="Peek at a stage's rows")
    async def peek(
        job: NameOrId,
        stage: Annotated[str, Path(description="Name of a stage")],
        body: PeekBody,
        request: Request,
    ) -> StateRows:
        """Rows that the stage gives in the next epoch that gives any; no other epoch does anything for it. Ends with the client.

        409 if Spark does not keep the rows of the stage, or the job is not RUNNING; 504 if no such epoch comes in time.
        """
        async with asked_by(request):
            return await peeking(service.peek, job, stage, body.limit, body.wait_seconds)

    @routes.get("/jobs/{job}/logs", summary="Read a job's log")
    async def get_logs(
        job: NameOrId,
        after: Annotated[int, Query(ge=0, le=2**63 - 1, description="The `next` of the page before")] = 0,
        limit: Annotated[int, Query(ge=1, le=10_000, description="Most lines of the answer")] = 1000,
    ) -> LogPage:
        """Whole lines, oldest first. No lines: nothing new yet."""
        return await reading(service.logs, job, after, limit)


def _add_plain(routes: APIRouter, service: ServerService, waiters: Waiters, plain: PlainRequest) -> None:
    async def act(job: NameOrId, request: Request) -> JobStatus:
        """Answers once it is done, with the job as it is then."""
        # By id from here on: a name may pass to another job meanwhile.
        job_id = (await reading(service.job, job)).id
        await waiters.answer(await writing(service.ask, job_id, plain), request)
        return await reading(service.job, job_id)

    name = plain.verb.value
    routes.add_api_route(f"/jobs/{{job}}/{name}", act, methods=["POST"], name=f"{name}_job", summary=f"{name.capitalize()} a job")


def _is_wanted(job: JobStatus, states: Collection[JobState] | None, name: str | None) -> bool:
    return (not states or job.status in states) and (name is None or name in job.id or name in (job.name or ""))


def _answer(job: JobStatus) -> Response:
    return Response(job.json, media_type="application/json")


def _request(
    body: ArtifactBody,
    content: bytes | None,
    origin: PathOrigin,
    name: str | None = None,
    snapshot: str | None = None,
    options: dict[str, object] | None = None,
) -> SubmitRequest:
    return SubmitRequest(body.artifact, content, body.entry, tuple(body.args), name, snapshot, options or {}, origin=origin)


def _states(text: str) -> tuple[JobState, ...]:
    try:
        return tuple(JobState(word.strip()) for word in text.split(","))
    except ValueError:
        raise UsageError(f"'{text}' names no job states; there are: {', '.join(JobState)}.") from None
