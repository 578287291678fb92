"""The cluster and its members over HTTP."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query, Request, Response

from pitstop.model.audit import AuditEntry
from pitstop.rest.models import BackupRequest, JobsModel, MemberModel
from pitstop.rest.paging import Paging, page_of
from pitstop.rest.strict import StrictRoute
from pitstop.rest.threads import reading, working
from pitstop.service.cluster_results import Backup, ClusterInfo, MemberInfo
from pitstop.service.server_api import ServerService
from pitstop.service.settings import ServerSettings

GZIP = "application/gzip"
_ARCHIVE = {"schema": {"type": "string", "format": "binary", "description": "An archive of texts"}}


def router(service: ServerService) -> APIRouter:
    """Routes below /api/v1."""
    routes = APIRouter(tags=["cluster"], route_class=StrictRoute)

    @routes.get("/cluster", summary="Describe the cluster")
    async def get_cluster() -> ClusterInfo:
        """State, version, members."""
        return await reading(service.server_info)

    @routes.get("/settings", summary="Read the settings of the server")
    async def get_settings() -> ServerSettings:
        """The bounds of all that grows, in number and in time: those set by `pitstop serve --keep`, and the defaults."""
        return await reading(service.settings)

    @routes.get("/audit", summary="Read who changed what")
    async def get_audit(
        before: Annotated[int | None, Query(ge=1, le=2**63 - 1, description="Only entries with a lower sequence")] = None,
        limit: Annotated[int, Query(ge=1, le=10_000, description="At most so many")] = 1000,
    ) -> list[AuditEntry]:
        """The requests of users who were let in that meant to change something, the newest first. As many
        are kept as the setting `audit` says, 10,000 by default."""
        return await reading(service.audit, before, limit)

    @routes.get("/cluster/members", summary="List the members")
    async def list_members(request: Request, response: Response, paging: Paging) -> list[MemberInfo]:
        """By name, each with the jobs that run on it."""
        cluster = await reading(service.server_info)
        return page_of(cluster.members, lambda member: (member.name, member.uuid), paging, request, response)

    @routes.post("/cluster/members", status_code=201, summary="Add a member")
    async def add_member() -> MemberModel:
        """Starts one more member on the server's machine; it joins by itself."""
        return MemberModel(name=await working(service.add_member))

    @routes.delete("/cluster/members/{name}", status_code=204, summary="Remove a member")
    async def remove_member(name: Annotated[str, Path(description="Its name")]) -> None:
        """Lets it leave; the others take over its work."""
        await working(service.remove_member, name)

    @routes.post("/cluster/engines/{name}/replace", summary="Replace an engine")
    async def replace_engine(name: Annotated[str, Path(description="Its name")]) -> JobsModel:
        """Starts another engine of that name beside the one that is up, which gets no jobs any more and ends with its last one.
        Answers, once it is up, with the jobs that are still in the old one: each moves over when it is restarted."""
        return JobsModel(jobs=await working(service.replace_engine, name))

    @routes.post("/backups", status_code=201, summary="Take a backup")
    async def take_backup(request: BackupRequest) -> Backup:
        """Copies jobs with their state, maps, snapshots, code and settings, all as they are at one moment, into a folder of the
        server's machine. Jobs go on meanwhile. Answers once all is on the disk."""
        return await working(service.backup, request.folder)

    @routes.post(
        "/support-bundles",
        summary="Make a support bundle",
        response_class=Response,
        responses={200: {"content": {GZIP: _ARCHIVE}, "description": "The archive, a tar.gz"}},
    )
    async def make_support_bundle() -> Response:
        """Versions, settings, jobs with their plans and events, metrics, and the ends of logs, for somebody who is to help.
        It has no data of jobs, and no secrets."""
        return Response(await working(service.support_bundle), media_type=GZIP)

    @routes.post("/cluster/shutdown", status_code=204, summary="Shut down the cluster")
    async def shut_down() -> None:
        """Ends all jobs at an epoch boundary, then members and server. Started again, all goes on where it stopped."""
        await working(service.shut_down)

    return routes
