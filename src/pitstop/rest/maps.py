"""Maps over HTTP. Values are JSON values here and JSON text in the service."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query, Request, Response

from pitstop.errors import NotFoundError
from pitstop.kit.wire import json_text
from pitstop.maps.condition import FORM
from pitstop.maps.model import Entry
from pitstop.rest.models import MOST_NUMBER, ClearedModel, DeletedModel, EntriesBody, MapSettingsBody, SizeModel
from pitstop.rest.paging import Paging, page_of
from pitstop.rest.strict import StrictRoute
from pitstop.rest.threads import reading, writing
from pitstop.service.api import Service
from pitstop.service.map_results import FoundEntries, JournalPage, MapFacts

Name = Annotated[str, Path(description="Name of a map")]
Key = Annotated[str, Query(description="Any text")]
Limit = Annotated[int, Query(ge=1, le=10_000, description="At most so many")]


def router(service: Service) -> APIRouter:
    """Routes below /api/v1."""
    routes = APIRouter(tags=["maps"], route_class=StrictRoute)

    @routes.get("/maps", summary="List maps")
    async def list_maps(
        request: Request,
        response: Response,
        paging: Paging,
        name: Annotated[str | None, Query(description="Only with this in their names")] = None,
    ) -> list[MapFacts]:
        """By name, with their sizes and journals."""
        maps = [facts for facts in await reading(service.maps) if name is None or name in facts.name]
        return page_of(maps, lambda facts: (facts.name,), paging, request, response)

    @routes.put("/maps/{name}", status_code=204, summary="Configure a map")
    async def configure_map(name: Name, body: MapSettingsBody) -> None:
        """Makes it if there is none of that name."""
        await writing(service.map_configure, name, body.journal_capacity, body.ttl_seconds)

    @routes.get("/maps/{name}/size", summary="Count a map's entries")
    async def get_map_size(name: Name) -> SizeModel:
        """0 for a map that nobody has written to."""
        return SizeModel(size=await reading(service.map_size, name))

    _add_entries(routes, service)

    @routes.get("/maps/{name}/journal", summary="Read a map's journal")
    async def get_map_journal(
        name: Name,
        after: Annotated[
            int | None, Query(ge=0, le=MOST_NUMBER, description="Only events after this sequence; default: all kept")
        ] = None,
        limit: Limit = 1000,
    ) -> JournalPage:
        """Oldest first. `lost` tells how many events after `after` are no longer kept."""
        return await reading(service.map_journal, name, after, limit)

    return routes


def _add_entries(routes: APIRouter, service: Service) -> None:
    @routes.get("/maps/{name}/entries", summary="Read a map's entries")
    async def get_map_entries(
        name: Name,
        prefix: Annotated[str, Query(description="Only keys with this beginning")] = "",
        after: Annotated[str | None, Query(description="The last key of the page before")] = None,
        limit: Limit = 1000,
    ) -> list[Entry]:
        """By key, a page at a time."""
        return await reading(service.map_entries, name, prefix, after, limit)

    @routes.get("/maps/{name}/search", summary="Search a map's entries")
    async def search_map(
        name: Name,
        where: Annotated[str, Query(max_length=2_000, description=f"The condition of the entries: {FORM}")],
        prefix: Annotated[str, Query(description="Only keys with this beginning")] = "",
        after: Annotated[str | None, Query(description="Where the search before has stopped")] = None,
        limit: Limit = 1000,
    ) -> FoundEntries:
        """By key. Looks at 10,000 entries, and for a second, at most, and says where it has stopped."""
        return await reading(service.map_search, name, where, prefix, after, limit)

    @routes.post("/maps/{name}/entries", status_code=204, summary="Put entries")
    async def put_map_entries(name: Name, body: EntriesBody) -> None:
        """All of them in one transaction; makes the map if there is none. 409 if an entry has another version than expected."""
        entries = {key: json_text(value, f"The value of {key!r}") for key, value in body.entries.items()}
        await writing(service.map_put, name, entries, body.expected_version)

    @routes.delete("/maps/{name}/entries", summary="Delete all entries")
    async def clear_map(name: Name) -> ClearedModel:
        """The map stays, with its settings; its journal has an event for each entry. 0 for a map without writes."""
        return ClearedModel(deleted=await writing(service.map_clear, name))

    @routes.get("/maps/{name}/entry", summary="Get an entry")
    async def get_map_entry(name: Name, key: Key) -> Entry:
        """404 if there is none."""
        entry = await reading(service.map_entry, name, key)
        if entry is None:
            raise NotFoundError(f"Map '{name}' has no entry '{key}'.")
        return entry

    @routes.delete("/maps/{name}/entry", summary="Delete an entry")
    async def delete_map_entry(
        name: Name,
        key: Key,
        version: Annotated[
            int | None, Query(ge=1, le=MOST_NUMBER, description="Only if the entry still has this version")
        ] = None,
    ) -> DeletedModel:
        """Not an error if there is none. With a version it is: 409 if the entry has another one, or is gone."""
        return DeletedModel(deleted=await writing(service.map_delete, name, key, version))
