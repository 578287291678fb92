"""Jobs over HTTP."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

from fastapi import APIRouter, Path, Query, Request

from pitstop.errors import UsageError
from pitstop.model.job import JobState
from pitstop.rest import uploads
from pitstop.rest.models import (
    ArtifactBody,
    CheckBody,
    CheckModel,
    ExportBody,
    JobModel,
    LogModel,
    ProgressModel,
    SnapshotModel,
    SubmitBody,
    UpdateBody,
    UpdatedModel,
)
from pitstop.rest.waiting import patiently
from pitstop.service.api import Service, SubmitRequest

LONGEST_WAIT = 600.0
"""Seconds that one request may wait; a client that wants to wait longer asks again."""

NameOrId = Annotated[str, Path(description="Name or id of a job")]


def router(service: Service) -> APIRouter:
    """Routes below /api/v1."""
    routes = APIRouter(tags=["jobs"])
    _add_submit(routes, service)
    _add_reads(routes, service)
    for name, verb in {
        "suspend": service.suspend,
        "resume": service.resume,
        "restart": service.restart,
        "cancel": service.cancel,
    }.items():
        _add_verb(routes, service, name, verb)

    @routes.post("/jobs/{job}/snapshots", status_code=201, summary="Export a named snapshot")
    async def export_snapshot(job: NameOrId, body: ExportBody) -> SnapshotModel:
        """Answers once the snapshot is complete; the job goes on unless `cancel` is set."""
        return SnapshotModel.of(await patiently(service.export_snapshot, job, body.name, body.cancel))

    return routes


def _add_submit(routes: APIRouter, service: Service) -> None:
    @routes.post("/jobs", status_code=201, summary="Submit a job", openapi_extra=uploads.described(SubmitBody))
    async def submit_job(request: Request) -> JobModel:
        """Returns at once; the job starts by itself (`GET /jobs/{job}?wait_for=RUNNING,FAILED,...` waits for it)."""
        body, content = await uploads.read(request, SubmitBody)
        wanted = _request(body, content, body.name, body.initial_snapshot, body.options)
        job = await patiently(service.submit, wanted)
        return JobModel.of(await patiently(service.job, job.id))

    @routes.post("/check", summary="Check a new version", openapi_extra=uploads.described(CheckBody))
    async def check_job(request: Request) -> CheckModel:
        """Compiles it, and compares it with a job or snapshot stage by stage; touches nothing."""
        body, content = await uploads.read(request, CheckBody)
        wanted = _request(body, content, options=body.options)
        found = await patiently(service.check, wanted, body.job, body.snapshot)
        return CheckModel.model_validate(found)

    @routes.post("/jobs/{job}/update", summary="Update a job", openapi_extra=uploads.described(UpdateBody))
    async def update_job(job: NameOrId, request: Request) -> UpdatedModel:
        """Answers once the new version runs. The old one goes on if the new one is refused, or fails before it is up."""
        body, content = await uploads.read(request, UpdateBody)
        wanted = _request(body, content, snapshot=body.snapshot, options=body.options)
        return UpdatedModel.model_validate(await patiently(service.update, job, wanted, body.watch_seconds))


def _add_reads(routes: APIRouter, service: Service) -> None:
    @routes.get("/jobs", summary="List jobs")
    def list_jobs(all: Annotated[bool, Query(description="Ended jobs, too")] = False) -> list[JobModel]:
        """Those that have not ended, or all that are remembered."""
        return [JobModel.of(view) for view in service.jobs(include_ended=all)]

    @routes.get("/jobs/{job}", summary="Get a job, or wait for it")
    async def get_job(
        job: NameOrId,
        wait_for: Annotated[
            str | None, Query(description="States, comma-separated; answers once the job is in one of them")
        ] = None,
        timeout: Annotated[float, Query(ge=0, le=LONGEST_WAIT, description="Seconds to wait; then 504 with code TIMEOUT")] = 60.0,
    ) -> JobModel:
        """With a name that several jobs had: the one that has not ended, else the newest."""
        if wait_for is None:
            return JobModel.of(await patiently(service.job, job))
        return JobModel.of(await patiently(service.wait_for, job, _states(wait_for), timeout))

    @routes.get("/jobs/{job}/metrics", summary="Get a job's metrics")
    def get_metrics(job: NameOrId) -> ProgressModel:
        """What its run says of itself, stage by stage."""
        return ProgressModel.model_validate(service.job(job).progress.to_dict())

    @routes.get("/jobs/{job}/logs", summary="Read a job's log")
    def get_logs(
        job: NameOrId,
        after: Annotated[int, Query(ge=0, description="The `next` of the page before")] = 0,
        limit: Annotated[int, Query(ge=1, le=10_000, description="At most so many lines")] = 1000,
    ) -> LogModel:
        """Whole lines, oldest first. No lines: nothing new yet."""
        lines, position = service.logs(job, after, limit)
        return LogModel(lines=lines, next=position)


def _add_verb(routes: APIRouter, service: Service, name: str, verb: Callable[[str], None]) -> None:
    async def act(job: NameOrId) -> JobModel:
        """Answers once it is done, with the job as it is then."""
        # By id from here on: a name may pass to another job meanwhile.
        found = (await patiently(service.job, job)).job.id
        await patiently(verb, found)
        return JobModel.of(await patiently(service.job, found))

    routes.add_api_route(f"/jobs/{{job}}/{name}", act, methods=["POST"], name=f"{name}_job", summary=f"{name.capitalize()} a job")


def _request(
    body: ArtifactBody,
    content: bytes | None,
    name: str | None = None,
    snapshot: str | None = None,
    options: dict[str, object] | None = None,
) -> SubmitRequest:
    return SubmitRequest(body.artifact, content, body.entry, tuple(body.args), name, snapshot, options or {})


def _states(text: str) -> tuple[JobState, ...]:
    try:
        return tuple(JobState(word.strip()) for word in text.split(","))
    except ValueError:
        raise UsageError(f"'{text}' names no job states; there are: {', '.join(JobState)}.") from None
