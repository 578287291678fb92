"""The REST API, under /api/v1, described by OpenAPI 3.1 at /openapi.json."""

from __future__ import annotations

from typing import Any

from fastapi import Depends, FastAPI, Response
from fastapi.security import HTTPBearer
from starlette.types import ASGIApp

from pitstop.errors import StoreError
from pitstop.kit.version import __version__
from pitstop.rest import artifacts, cluster, events, jobs, log_levels, maps, page, problems, signing, site, snapshots, sql, states
from pitstop.rest.access import Access, Links
from pitstop.rest.auditing import Audited
from pitstop.rest.gate import Gate
from pitstop.rest.metrics import CONTENT_TYPE, exposition
from pitstop.rest.models import HealthModel
from pitstop.rest.quick import Quick
from pitstop.rest.threads import probing, reading
from pitstop.service.server_api import ServerService

PREFIX = "/api/v1"
MOST_BYTES = 32 << 20
"""The largest request, where a route does not say otherwise."""
_bearer = HTTPBearer(auto_error=False, description="The server's token")
"""Describes what the gate asks for."""


class _App(FastAPI):
    """The gate stands before everything, and problems have a media type of their own in the description."""

    def __init__(self, access: Access, service: ServerService, **settings: Any) -> None:
        super().__init__(**settings)
        self._access, self._service = access, service

    def build_middleware_stack(self) -> ASGIApp:
        quick = Quick(super().build_middleware_stack(), self._service, f"{PREFIX}/jobs")
        # Late: who asks for a session is the service of that moment.
        return Gate(Audited(quick, self._access, self._service), self._access, lambda: self._service.ended_sessions())

    def openapi(self) -> dict[str, Any]:
        described = self.openapi_schema is not None
        schema = super().openapi()
        for path in () if described else schema["paths"].values():
            for operation in path.values():
                for status in problems.RESPONSES:
                    content = operation["responses"][status]["content"]
                    content[problems.MEDIA_TYPE] = content.pop("application/json")
        return schema


def create_app(service: ServerService, access: Access) -> FastAPI:
    """The application over a service, for those who have access."""
    # The usual documentation pages load their scripts from elsewhere; /openapi.json is all we serve of them.
    app = _App(
        access,
        service,
        max_body_size=MOST_BYTES,
        title="Pitstop",
        version=__version__,
        description="Named, restartable, changeable streaming jobs on Spark. Errors are RFC 9457 problems with a stable code.",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        responses=problems.RESPONSES,
        generate_unique_id_function=lambda route: route.name,
    )
    problems.add_to(app)
    guard = [Depends(_bearer)]
    for part in (jobs, artifacts, log_levels, snapshots, maps, cluster):
        app.include_router(part.router(service), prefix=PREFIX, dependencies=guard)
    for part_by_role in (states, events, sql):
        app.include_router(part_by_role.router(service, access), prefix=PREFIX, dependencies=guard)
    links = Links()
    app.include_router(signing.api_router(access, links), prefix=PREFIX, dependencies=guard)
    app.include_router(signing.browser_router(access, links, service))
    app.include_router(page.router())
    site.add_to(app)
    _add_health(app, service, guard)
    return app


def _add_health(app: FastAPI, service: ServerService, guard: list[Any]) -> None:
    text: dict[int | str, dict[str, Any]] = {
        200: {"content": {"text/plain": {"schema": {"type": "string"}}}, "description": "Prometheus text"}
    }

    @app.get("/metrics", dependencies=guard, tags=["cluster"], summary="Metrics", response_class=Response, responses=text)
    async def get_all_metrics() -> Response:
        """All jobs, snapshots and maps, for Prometheus."""
        return Response(await reading(exposition, service), media_type=CONTENT_TYPE)

    @app.get("/healthz", tags=["cluster"], summary="Is the process alive?")
    async def get_health() -> HealthModel:
        """Asks for no token, and needs no thread."""
        return HealthModel(status="ok")

    @app.get("/readyz", tags=["cluster"], summary="Can it serve?")
    async def get_readiness() -> HealthModel:
        """Asks for no token; an error if the store does not answer."""
        try:
            await probing(service.server_info)
        except StoreError:
            # Anybody may ask: where the store is, and as whom it is opened, is in the log.
            raise StoreError("The store does not answer: the log of the server says why.") from None
        return HealthModel(status="ready")
