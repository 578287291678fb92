"""The files of jobs over HTTP."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from pitstop.rest.paging import Paging, page_of
from pitstop.rest.strict import StrictRoute
from pitstop.rest.threads import reading
from pitstop.service.api import Service
from pitstop.service.kept_artifacts import Artifact


def router(service: Service) -> APIRouter:
    """Routes below /api/v1."""
    routes = APIRouter(tags=["jobs"], route_class=StrictRoute)

    @routes.get("/artifacts", summary="List the files of jobs")
    async def list_artifacts(
        request: Request,
        response: Response,
        paging: Paging,
        name: Annotated[str | None, Query(description="Only with this in their names")] = None,
    ) -> list[Artifact]:
        """The files that the server keeps, by name, with the versions of jobs that use them.

        A file that none uses goes after an hour.
        """
        artifacts = [artifact for artifact in await reading(service.artifacts) if name is None or name in artifact.name]
        return page_of(artifacts, lambda artifact: (artifact.name, artifact.sha256), paging, request, response)

    return routes
