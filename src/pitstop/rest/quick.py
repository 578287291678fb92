"""What clients ask for all the time, answered beside the framework: one job, and the list of jobs, as they are now.

The routes of ``rest.jobs`` describe both, and answer whatever is asked in another form. Those who ask while the store is being
read are answered from the next reading together, so that a thousand clients cost little more than one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping
from typing import Generic, TypeVar

from fastapi import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from pitstop.errors import PitstopError
from pitstop.rest.problems import answer
from pitstop.rest.threads import reading
from pitstop.service.api import ServerService

T = TypeVar("T")

MOST_AT_ONCE = 200
"""So many jobs are read at once."""
_LISTS = {b"": False, b"all=false": False, b"all=true": True}


class Quick:
    """ASGI: answers ``GET <jobs>`` and ``GET <jobs>/<one job>`` itself, and leaves everything else to the application."""

    def __init__(self, app: ASGIApp, service: ServerService, jobs: str) -> None:
        self._app, self._list, self._below = app, jobs, f"{jobs}/"
        self._jobs = _Together(lambda names: {name: job.json for name, job in service.jobs_named(names).items()})
        self._lists = _Together(lambda wanted: {all: listed(service, all) for all in wanted})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        wanted = self._wanted(scope) if scope["type"] == "http" and scope["method"] == "GET" else None
        try:
            found = await wanted if wanted is not None else None
        except PitstopError as error:
            await answer(error)(scope, receive, send)
            return
        if found is None:  # also what is not there: the routes tell why
            await self._app(scope, receive, send)
        else:
            await Response(found, media_type="application/json")(scope, receive, send)

    def _wanted(self, scope: Scope) -> asyncio.Future[bytes | None] | None:
        path, query = scope["path"], scope["query_string"]
        if path == self._list:
            return self._lists.get(_LISTS[query]) if query in _LISTS else None
        name = path.removeprefix(self._below)
        return self._jobs.get(name) if name and name != path and "/" not in name and not query else None


def listed(service: ServerService, include_ended: bool) -> bytes:
    """The list of jobs as JSON, of pieces that are kept."""
    return b"[" + b",".join([job.json for job in service.jobs(include_ended)]) + b"]"


class _Together(Generic[T]):
    """Reads what many ask for at once: while one reading is under way, the next ones gather."""

    def __init__(self, read: Callable[[Collection[T]], Mapping[T, bytes]]) -> None:
        self._read = read
        self._waiting: dict[T, list[asyncio.Future[bytes | None]]] = {}
        self._reading: asyncio.Task[None] | None = None

    def get(self, key: T) -> asyncio.Future[bytes | None]:
        """What there is under a key when it is read; None if there is nothing."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[bytes | None] = loop.create_future()
        self._waiting.setdefault(key, []).append(future)
        if self._reading is None or self._reading.done():
            self._reading = loop.create_task(self._read_all())
        return future

    async def _read_all(self) -> None:
        while self._waiting:
            keys = list(self._waiting)[:MOST_AT_ONCE]
            asked = {key: self._waiting.pop(key) for key in keys}
            try:
                found: Mapping[T, bytes] | Exception = await reading(self._read, keys)
            except Exception as error:
                found = error
            for key, futures in asked.items():
                for future in futures:
                    _settle(future, found if isinstance(found, Exception) else found.get(key))


def _settle(future: asyncio.Future[bytes | None], found: bytes | Exception | None) -> None:
    if future.done():  # the client has gone
        return
    if isinstance(found, Exception):
        future.set_exception(found)
    else:
        future.set_result(found)
