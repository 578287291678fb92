"""The levels of loggers over HTTP."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from pitstop.rest.models import LogLevelBody
from pitstop.rest.strict import StrictRoute
from pitstop.rest.threads import reading, writing
from pitstop.service.log_results import LoggerLevel
from pitstop.service.server_api import ServerService


def router(service: ServerService) -> APIRouter:
    """Routes below /api/v1."""
    routes = APIRouter(tags=["logging"], route_class=StrictRoute)

    @routes.get("/log-levels", summary="List the levels of loggers")
    async def get_log_levels(
        job: Annotated[str | None, Query(description="Also those of this job's runs, by name or id")] = None,
    ) -> list[LoggerLevel]:
        """The levels that are set, and the defaults, by logger."""
        return await reading(service.log_levels, job)

    @routes.put("/log-levels", summary="Set the level of a logger")
    async def set_log_level(body: LogLevelBody) -> list[LoggerLevel]:
        """For servers and the runs of all jobs, or of one. Servers and runs that are up take it over within two seconds."""
        return await writing(service.set_log_level, body.logger, body.level, body.job)

    return routes
