"""The cluster and its members over HTTP."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path

from pitstop.rest.models import MemberModel
from pitstop.rest.strict import StrictRoute
from pitstop.rest.threads import reading, working
from pitstop.service.api import ServerService
from pitstop.service.results import ClusterInfo


def router(service: ServerService) -> APIRouter:
    """Routes below /api/v1."""
    routes = APIRouter(tags=["cluster"], route_class=StrictRoute)

    @routes.get("/cluster", summary="Describe the cluster")
    async def get_cluster() -> ClusterInfo:
        """State, version, members."""
        return await reading(service.server_info)

    @routes.post("/cluster/members", status_code=201, summary="Add a member")
    async def add_member() -> MemberModel:
        """Starts one more member on the server's machine; it joins by itself."""
        return MemberModel(name=await working(service.add_member))

    @routes.delete("/cluster/members/{name}", status_code=204, summary="Remove a member")
    async def remove_member(name: Annotated[str, Path(description="Its name")]) -> None:
        """Lets it leave; what it was doing is done by the others."""
        await working(service.remove_member, name)

    @routes.post("/cluster/shutdown", status_code=204, summary="Shut down the cluster")
    async def shut_down() -> None:
        """Ends all jobs at an epoch boundary, then members and server. Started again, all goes on where it stopped."""
        await working(service.shut_down)

    return routes
