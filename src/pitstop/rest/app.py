"""The REST API, under /api/v1, described by OpenAPI at /openapi.json."""

from __future__ import annotations

import hmac
import json
from dataclasses import asdict
from typing import Annotated, Any

from fastapi import Depends, FastAPI, Form, Request, UploadFile
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, PlainTextResponse
from pydantic import ValidationError

from pitstop.errors import DeniedError, NotFoundError, PitstopError, UsageError
from pitstop.kit.version import __version__
from pitstop.model.job import JobState
from pitstop.rest.metrics import exposition
from pitstop.rest.models import (
    CheckModel,
    EntriesBody,
    ExportBody,
    JobModel,
    JournalModel,
    LogModel,
    MapSettingsBody,
    Problem,
    SnapshotModel,
    SubmitBody,
)
from pitstop.service.api import Service, SubmitRequest

_PROBLEMS: dict[int | str, dict[str, Any]] = {"4XX": {"model": Problem}, "5XX": {"model": Problem}}


def create_app(service: Service, token: str | None = None) -> FastAPI:
    """The application over a service. ``token``: the bearer token to ask for; None asks for none."""
    # The usual documentation pages load their scripts from elsewhere; /openapi.json is all we serve of them.
    app = FastAPI(title="Pitstop", version=__version__, docs_url=None, redoc_url=None, responses=_PROBLEMS)
    app.add_exception_handler(PitstopError, _problem)
    app.add_exception_handler(RequestValidationError, _invalid)

    def allowed(request: Request) -> None:
        given = request.headers.get("authorization", "").removeprefix("Bearer ")
        if token is not None and not hmac.compare_digest(given.encode(), token.encode()):
            raise DeniedError("The token is missing or wrong: give it with --token or PITSTOP_TOKEN.")

    guard = [Depends(allowed)]
    _add_jobs(app, service, guard)
    _add_snapshots(app, service, guard)
    _add_maps(app, service, guard)

    @app.get("/api/v1/cluster", dependencies=guard, tags=["cluster"])
    def cluster() -> dict[str, Any]:
        return service.server_info()

    @app.get("/metrics", dependencies=guard, response_class=PlainTextResponse, tags=["cluster"])
    def metrics() -> str:
        return exposition(service)

    @app.get("/healthz", tags=["cluster"])
    def healthz() -> dict[str, str]:
        return {"status": "ok"}

    @app.get("/readyz", tags=["cluster"])
    def readyz() -> dict[str, str]:
        service.server_info()
        return {"status": "ready"}

    return app


def _add_jobs(app: FastAPI, service: Service, guard: list[Any]) -> None:
    base = "/api/v1/jobs"

    @app.post(base, status_code=201, dependencies=guard, tags=["jobs"])
    async def submit(request: Annotated[str, Form()], artifact: UploadFile | None = None) -> JobModel:
        """``request``: a SubmitBody as JSON. Returns at once; the job starts by itself."""
        from fastapi.concurrency import run_in_threadpool

        wanted = await _submit_request(request, artifact)
        job = await run_in_threadpool(service.submit, wanted)
        return JobModel.of(await run_in_threadpool(service.job, job.id))

    @app.post("/api/v1/check", dependencies=guard, tags=["jobs"])
    async def check(request: Annotated[str, Form()], artifact: UploadFile | None = None) -> CheckModel:
        """Compile and compare with a job or snapshot; touches nothing."""
        from fastapi.concurrency import run_in_threadpool

        body = _body(request)
        wanted = await _submit_request(request, artifact)
        return CheckModel(**await run_in_threadpool(service.check, wanted, body.job, body.snapshot))

    @app.get(base, dependencies=guard, tags=["jobs"])
    def jobs(all: bool = False) -> list[JobModel]:
        return [JobModel.of(view) for view in service.jobs(include_ended=all)]

    @app.get(base + "/{job}", dependencies=guard, tags=["jobs"])
    def job(job: str, wait_for: str | None = None, timeout: float = 60.0) -> JobModel:
        """``wait_for``: states, comma-separated; answers once the job is in one of them."""
        if wait_for is None:
            return JobModel.of(service.job(job))
        return JobModel.of(service.wait_for(job, _states(wait_for), timeout))

    verbs = {"suspend": service.suspend, "resume": service.resume, "restart": service.restart, "cancel": service.cancel}
    for name, verb in verbs.items():
        _add_verb(app, service, guard, name, verb)

    @app.post(base + "/{job}/snapshots", status_code=201, dependencies=guard, tags=["jobs"])
    def export(job: str, body: ExportBody) -> SnapshotModel:
        return SnapshotModel(**asdict(service.export_snapshot(job, body.name, body.cancel)))

    @app.get(base + "/{job}/metrics", dependencies=guard, tags=["jobs"])
    def job_metrics(job: str) -> dict[str, Any]:
        return service.job(job).progress.to_dict()

    @app.get(base + "/{job}/logs", dependencies=guard, tags=["jobs"])
    def logs(job: str, after: int = 0, limit: int = 1000) -> LogModel:
        lines, position = service.logs(job, after, limit)
        return LogModel(lines=lines, next=position)


def _add_verb(app: FastAPI, service: Service, guard: list[Any], name: str, verb: Any) -> None:
    def endpoint(job: str) -> JobModel:
        found = service.job(job).job.id
        verb(found)
        return JobModel.of(service.job(found))

    endpoint.__name__ = name
    endpoint.__doc__ = f"{name.capitalize()} the job; answers once it is done."
    app.post("/api/v1/jobs/{job}/" + name, dependencies=guard, tags=["jobs"])(endpoint)


def _add_snapshots(app: FastAPI, service: Service, guard: list[Any]) -> None:
    base = "/api/v1/snapshots"

    @app.get(base, dependencies=guard, tags=["snapshots"])
    def snapshots() -> list[SnapshotModel]:
        return [SnapshotModel(**asdict(record)) for record in service.snapshots()]

    @app.get(base + "/{name}", dependencies=guard, tags=["snapshots"])
    def snapshot(name: str) -> dict[str, Any]:
        return service.snapshot(name).to_dict()

    @app.delete(base + "/{name}", status_code=204, dependencies=guard, tags=["snapshots"])
    def delete_snapshot(name: str) -> None:
        service.delete_snapshot(name)


def _add_maps(app: FastAPI, service: Service, guard: list[Any]) -> None:
    base = "/api/v1/maps"

    @app.get(base, dependencies=guard, tags=["maps"])
    def maps() -> list[dict[str, Any]]:
        return service.maps()

    @app.put(base + "/{name}", status_code=204, dependencies=guard, tags=["maps"])
    def configure(name: str, body: MapSettingsBody) -> None:
        service.map_configure(name, body.journal_capacity, body.ttl_seconds)

    @app.get(base + "/{name}/size", dependencies=guard, tags=["maps"])
    def size(name: str) -> dict[str, int]:
        return {"size": service.map_size(name)}

    @app.get(base + "/{name}/entries", dependencies=guard, tags=["maps"])
    def entries(name: str, prefix: str = "", after: str | None = None, limit: int = 1000) -> list[dict[str, Any]]:
        return service.map_entries(name, prefix, after, limit)

    @app.post(base + "/{name}/entries", status_code=204, dependencies=guard, tags=["maps"])
    def put_all(name: str, body: EntriesBody) -> None:
        service.map_put(name, {key: json.dumps(value) for key, value in body.entries.items()})

    @app.get(base + "/{name}/entries/{key:path}", dependencies=guard, tags=["maps"])
    def get(name: str, key: str) -> dict[str, Any]:
        value = service.map_get(name, key)
        if value is None:
            raise NotFoundError(f"Map '{name}' has no entry '{key}'.")
        return {"key": key, "value": json.loads(value)}

    @app.delete(base + "/{name}/entries/{key:path}", dependencies=guard, tags=["maps"])
    def delete(name: str, key: str) -> dict[str, bool]:
        return {"deleted": service.map_delete(name, key)}

    @app.get(base + "/{name}/journal", dependencies=guard, tags=["maps"])
    def journal(name: str, after: int | None = None, limit: int = 1000) -> JournalModel:
        return JournalModel(**service.map_journal(name, after, limit))


async def _submit_request(text: str, artifact: UploadFile | None) -> SubmitRequest:
    body = _body(text)
    return SubmitRequest(
        artifact_name=body.artifact,
        artifact_bytes=await artifact.read() if artifact is not None else None,
        entry=body.entry,
        args=tuple(body.args),
        name=body.name,
        initial_snapshot=body.initial_snapshot,
        options=body.options,
    )


def _body(text: str) -> SubmitBody:
    try:
        return SubmitBody.model_validate_json(text)
    except ValidationError as error:
        first = error.errors()[0]
        raise UsageError(f"The request is wrong at {'.'.join(map(str, first['loc']))}: {first['msg']}.") from None


def _states(text: str) -> tuple[JobState, ...]:
    try:
        return tuple(JobState(word) for word in text.split(","))
    except ValueError:
        raise UsageError(f"'{text}' names no job states; there are: {', '.join(JobState)}.") from None


def _problem(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, PitstopError)
    body = {
        "type": f"urn:pitstop:{error.code.lower()}",
        "title": type(error).__name__.removesuffix("Error"),
        "status": error.http_status,
        "detail": error.message,
        **error.to_dict(),
    }
    return JSONResponse(body, status_code=error.http_status, media_type="application/problem+json")


def _invalid(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"] if part not in ("query", "body"))
    return _problem(request, UsageError(f"The request is wrong at {where or 'its body'}: {first['msg']}."))
