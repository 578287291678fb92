"""Named snapshots over HTTP."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path

from pitstop.rest.models import ManifestModel, SnapshotModel
from pitstop.service.api import Service

Name = Annotated[str, Path(description="Name of a snapshot")]


def router(service: Service) -> APIRouter:
    """Routes below /api/v1."""
    routes = APIRouter(tags=["snapshots"])

    @routes.get("/snapshots", summary="List snapshots")
    def list_snapshots() -> list[SnapshotModel]:
        """By name."""
        return [SnapshotModel.of(record) for record in service.snapshots()]

    @routes.get("/snapshots/{name}", summary="Get a snapshot's manifest")
    def get_snapshot(name: Name) -> ManifestModel:
        """All that it holds, file by file."""
        return ManifestModel.model_validate(service.snapshot(name).to_dict())

    @routes.delete("/snapshots/{name}", status_code=204, summary="Delete a snapshot")
    def delete_snapshot(name: Name) -> None:
        """Its files and its entry in the registry."""
        service.delete_snapshot(name)

    return routes
