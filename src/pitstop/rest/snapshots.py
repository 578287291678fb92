"""Named snapshots over HTTP."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query, Request, Response

from pitstop.model.adoption import Adoption
from pitstop.model.snapshot import SnapshotManifest, SnapshotRecord
from pitstop.rest import uploads
from pitstop.rest.models import AdoptBody, DiffModel
from pitstop.rest.origins import origin_of
from pitstop.rest.paging import Paging, page_of
from pitstop.rest.strict import StrictRoute
from pitstop.rest.threads import bringing, reading, writing
from pitstop.rest.waiting import asked_by
from pitstop.service.api import Service, SubmitRequest
from pitstop.service.snapshot_results import SnapshotDiff

Name = Annotated[str, Path(description="Name of a snapshot")]


def router(service: Service) -> APIRouter:
    """Routes below /api/v1."""
    routes = APIRouter(tags=["snapshots"], route_class=StrictRoute)

    @routes.get("/snapshots", summary="List snapshots")
    async def list_snapshots(
        request: Request,
        response: Response,
        paging: Paging,
        job: Annotated[str | None, Query(description="Only of the job with this name or id")] = None,
        name: Annotated[str | None, Query(description="Only with this in their names")] = None,
    ) -> list[SnapshotRecord]:
        """By name."""
        records = [
            record
            for record in await reading(service.snapshots)
            if (job is None or job in (record.job_id, record.job_name)) and (name is None or name in record.name)
        ]
        return page_of(records, lambda record: (record.name,), paging, request, response)

    @routes.get("/snapshots/{name}", summary="Get a snapshot's manifest")
    async def get_snapshot(name: Name) -> SnapshotManifest:
        """All that it holds, file by file."""
        return await reading(service.snapshot, name)

    @routes.get("/snapshots/{name}/diff", summary="Compare two snapshots", response_model=DiffModel)
    async def diff_snapshots(name: Name, other: Annotated[str, Query(description="Name of the other snapshot")]) -> SnapshotDiff:
        """All that differs, and the fate that the state of `name` would have under the pipeline of `other`."""
        return await reading(service.snapshot_diff, name, other)

    @routes.post(
        "/adoptions",
        summary="Adopt a checkpoint of Spark",
        max_body_size=uploads.MOST_BYTES,
        openapi_extra=uploads.described(AdoptBody),
    )
    async def adopt_checkpoint(request: Request) -> Adoption:
        """Makes a snapshot of it, from which the job goes on; the checkpoint is only read. Ends with the client."""
        body, content = await uploads.read(request, AdoptBody)
        origin = await origin_of(request)
        version = SubmitRequest(body.artifact, content, body.entry, tuple(body.args), options=body.options, origin=origin)
        async with asked_by(request):
            return await bringing(
                service.adopt, version, body.checkpoint, body.name, body.operators, body.sources, body.only_plan
            )

    @routes.delete("/snapshots/{name}", status_code=204, summary="Delete a snapshot")
    async def delete_snapshot(name: Name) -> None:
        """Its files and its entry in the registry."""
        await writing(service.delete_snapshot, name)

    return routes
