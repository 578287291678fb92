"""The state inside snapshots over HTTP."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query, Request, Response

from pitstop.errors import BusyError
from pitstop.model.snapshot import SnapshotRecord
from pitstop.model.task import StateRows
from pitstop.rest.access import Access
from pitstop.rest.models import StateQueryBody
from pitstop.rest.peers import viewer_of
from pitstop.rest.strict import StrictRoute
from pitstop.rest.threads import exporting_for_viewers, working
from pitstop.rest.waiting import asked_by
from pitstop.service.api import Service

PARQUET = "application/vnd.apache.parquet"
MOST_BYTES = 1 << 30
"""The largest file of state that is put back."""
Name = Annotated[str, Path(description="Name of a snapshot")]
Stage = Annotated[str, Path(description="Name of a stage with state")]
New = Annotated[str | None, Query(alias="as", description="Make a new snapshot of this name; default: replace this one")]
_FILE = {"schema": {"type": "string", "format": "binary", "description": "A parquet file of the stage's rows"}}


def router(service: Service, access: Access) -> APIRouter:
    """Routes below /api/v1."""
    routes = APIRouter(tags=["snapshots"], route_class=StrictRoute)
    exporting: set[str | None] = set()

    @routes.post("/snapshots/{name}/stages/{stage}/query", summary="Query a stage's state")
    async def query_state(name: Name, stage: Stage, body: StateQueryBody, request: Request) -> StateRows:
        """Spark SQL on the table `state`. Starts a Spark process, so it takes some seconds. Ends with the client."""
        async with asked_by(request):
            return await working(service.query_state, name, stage, body.sql, body.limit)

    @routes.get(
        "/snapshots/{name}/stages/{stage}/state",
        summary="Export a stage's state",
        response_class=Response,
        responses={200: {"content": {PARQUET: _FILE}, "description": "The rows"}},
    )
    async def export_state(name: Name, stage: Stage, request: Request) -> Response:
        """As a parquet file. Ends with the client."""
        viewer = await viewer_of(access, request)
        if viewer in exporting:
            raise BusyError("An export of yours has not ended, and viewers have one at a time: ask again later.")
        exporting.update({viewer} if viewer is not None else ())
        kind = working if viewer is None else exporting_for_viewers
        try:
            async with asked_by(request):
                return Response(await kind(service.export_state, name, stage), media_type=PARQUET)
        finally:
            exporting.discard(viewer)

    @routes.put(
        "/snapshots/{name}/stages/{stage}/state",
        summary="Import a stage's state",
        max_body_size=MOST_BYTES,
        openapi_extra={"requestBody": {"required": True, "content": {PARQUET: _FILE}}},
    )
    async def import_state(name: Name, stage: Stage, request: Request, new: New = None) -> SnapshotRecord:
        """Puts the rows of a parquet file in the place of the stage's state."""
        content = await request.body()
        return await working(service.import_state, name, stage, content, new)

    return routes
