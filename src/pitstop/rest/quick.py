"""The requests that come all the time, answered beside the framework: the list of jobs, and one job, now or in a state.

A client may wait until the job is in a state. The routes of ``rest.jobs`` describe all three requests, and answer them in every
other form. Requests that come while the store is being read are answered together from the next reading, so that a thousand
clients cost little more than one.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Generic, NoReturn, TypeVar

from fastapi import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from pitstop.errors import PitstopError
from pitstop.model.job import JobState
from pitstop.rest.problems import answer
from pitstop.rest.threads import reading
from pitstop.rest.waiting import LONGEST_WAIT, Waiters
from pitstop.service.asked import JobIs, not_in_time
from pitstop.service.job_results import JobStatus
from pitstop.service.server_api import ServerService

K = TypeVar("K")
V = TypeVar("V")

MOST_AT_ONCE = 200
"""So many jobs are read at once."""
_LISTS = {b"": False, b"all=false": False, b"all=true": True}
_STATE = "|".join(JobState)
_WAIT = re.compile(rf"wait_for=((?:{_STATE})(?:(?:,|%2C)(?:{_STATE}))*)&timeout=(\d{{1,3}}(?:\.\d{{1,6}})?)")
"""As our own clients ask."""


class Quick:
    """ASGI: answers ``GET <jobs>`` and ``GET <jobs>/<one job>`` itself, and leaves everything else to the application."""

    def __init__(self, app: ASGIApp, service: ServerService, jobs: str) -> None:
        self._app, self._list, self._below = app, jobs, f"{jobs}/"
        self._jobs = _Together(lambda names: service.jobs_named(names))
        self._lists = _Together(lambda choices: {all: listed(service, all) for all in choices})
        self._waiters = Waiters(service)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        answer_soon = self._wanted(scope, receive) if scope["type"] == "http" and scope["method"] == "GET" else None
        try:
            body = await answer_soon if answer_soon is not None else None
        except PitstopError as error:
            await answer(error)(scope, receive, send)
            return
        if body is None:  # also what is not there: the routes tell why
            await self._app(scope, receive, send)
        else:
            await Response(body, media_type="application/json")(scope, receive, send)

    def _wanted(self, scope: Scope, receive: Receive) -> Awaitable[bytes | None] | None:
        path, query = scope["path"], scope["query_string"]
        if path == self._list:
            return self._lists.get(_LISTS[query]) if query in _LISTS else None
        name = path.removeprefix(self._below)
        if not name or name == path or "/" in name:
            return None
        if not query:
            return self._job(name)
        waiting = _WAIT.fullmatch(query.decode("latin-1"))
        if waiting is None or float(waiting[2]) > LONGEST_WAIT:
            return None
        states = tuple(JobState(word) for word in re.split(",|%2C", waiting[1]))
        return self._job_in(name, states, float(waiting[2]), receive)

    async def _job(self, name: str) -> bytes | None:
        job = await self._jobs.get(name)
        return job.json if job is not None else None

    async def _job_in(self, name: str, states: tuple[JobState, ...], seconds: float, receive: Receive) -> bytes | None:
        """The job once it is in one of these states."""
        until = time.monotonic() + seconds
        first = await self._jobs.get(name)
        if first is None or first.status in states:
            return first.json if first is not None else None

        async def now() -> JobStatus:
            return await self._jobs.get(first.id) or first

        async def look() -> bytes | None:
            job = await now()
            return job.json if job.status in states else None

        async def late() -> NoReturn:
            raise not_in_time(name, (await now()).display_status, states, seconds)

        return await self._waiters.wait(JobIs(first.id, states), look, late, lambda: until - time.monotonic(), receive)


def listed(service: ServerService, include_ended: bool) -> bytes:
    """Return the list of jobs as JSON, of pieces that are kept."""
    return b"[" + b",".join([job.json for job in service.jobs(include_ended)]) + b"]"


class _Together(Generic[K, V]):
    """Reads what many ask for at once: while one reading is under way, the next ones gather."""

    def __init__(self, read: Callable[[Collection[K]], Mapping[K, V]]) -> None:
        self._read = read
        self._waiting: dict[K, list[asyncio.Future[V | None]]] = {}
        self._reading: asyncio.Task[None] | None = None

    def get(self, key: K) -> asyncio.Future[V | None]:
        """Return the value of a key as the next reading gives it; None if there is none."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[V | None] = loop.create_future()
        self._waiting.setdefault(key, []).append(future)
        if self._reading is None or self._reading.done():
            self._reading = loop.create_task(self._read_all())
        return future

    async def _read_all(self) -> None:
        while self._waiting:
            keys = list(self._waiting)[:MOST_AT_ONCE]
            waiting = {key: self._waiting.pop(key) for key in keys}
            outcome = await self._found(keys)
            if len(keys) > 1 and isinstance(outcome, Exception) and not isinstance(outcome, PitstopError):
                # What is wrong with one of them is no affair of the others.
                each = {key: await self._found([key]) for key in keys}
            else:
                each = dict.fromkeys(keys, outcome)
            for key, futures in waiting.items():
                answer = each[key]
                for future in futures:
                    _settle(future, answer if isinstance(answer, Exception) else answer.get(key))

    async def _found(self, keys: Collection[K]) -> Mapping[K, V] | Exception:
        try:
            return await reading(self._read, keys)
        except Exception as error:  # everyone who waits for the read gets it
            return error


def _settle(future: asyncio.Future[V | None], outcome: V | Exception | None) -> None:
    if future.done():  # the client has gone
        return
    if isinstance(outcome, Exception):
        future.set_exception(outcome)
    else:
        future.set_result(outcome)
