"""Server-sent events: what changes, while it happens (service.feed). A stream needs no thread and no memory of its own."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Collection
from typing import Annotated, Any

from fastapi import APIRouter, Header, Query, Request
from fastapi.responses import StreamingResponse

from pitstop.errors import PitstopError, StoreError
from pitstop.model.job import Progress
from pitstop.rest.access import Access
from pitstop.rest.strict import StrictRoute
from pitstop.rest.threads import reading
from pitstop.service.changes import Changes
from pitstop.service.ear import Ear
from pitstop.service.feed import Feed, FeedEvent, FeedKind, Key
from pitstop.service.job_results import JobStatus
from pitstop.service.server_api import ServerService

MEDIA_TYPE = "text/event-stream"
LOOK_SECONDS = 1.0
"""The time between two looks for changes that nobody tells of, such as those of maps, while there are streams."""
PAUSE_SECONDS = (0.05, 0.2)
"""The least and the most time for which changes are gathered before a look: the most with many streams."""
PAUSE_SECONDS_A_STREAM = 0.002
"""The time that each open stream adds to that, because each change is written to each of them."""
HEART_BEAT_SECONDS = 15.0
"""The time after which a stream that has told nothing says that it lives, to its reader and to each proxy between."""
MOST_AT_ONCE = 500
"""The most events that are written before the reader has to take some."""
MOST_DIGITS = 19
_NO_PROGRESS = Progress()


class Streams:
    """All streams of a server, and one task that looks what has changed while there are any."""

    def __init__(self, service: ServerService, feed: Feed | None = None) -> None:
        self._service, self._feed = service, feed or Feed()
        self._incarnation = secrets.token_hex(4)
        self._open: set[asyncio.Event] = set()
        self._changed = asyncio.Event()
        self._over = False
        """True once the server ends and its last changes have been looked at."""
        self._looked: asyncio.Task[None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._heard: Changes | None = None
        self._ear = Ear(lambda: service.progress_waiter(), self._tell)
        self._jobs: dict[str, tuple[JobStatus, JobStatus]] = {}
        """Each job as the service gave it last, and the same without its progress."""

    async def stream(
        self,
        kinds: Collection[FeedKind],
        last: str | None,
        seconds: float | None = None,
        may_read: Callable[[], Awaitable[bool]] | None = None,
    ) -> AsyncIterator[bytes]:
        """Yield the changes after the event ``last``, and the changes from now on.

        The first event is ``ready``: from its id on nothing is missed. It is ``resync`` if the events after ``last`` are kept no
        more: the reader reads everything anew. A reader that falls too far behind gets ``resync``, too. The stream ends after so
        many seconds, with the server, or once ``may_read`` is false, which is asked every HEART_BEAT_SECONDS.
        """
        until = None if seconds is None else asyncio.get_running_loop().time() + seconds
        came, checked_at = asyncio.Event(), asyncio.get_running_loop().time()
        self._open.add(came)
        try:
            await self._watch()
            place = self._place(last)
            can_resume = place is not None
            place = self._feed.newest if place is None else place
            yield self._written("ready" if can_resume or last is None else "resync", place)
            written_at = asyncio.get_running_loop().time()
            while until is None or asyncio.get_running_loop().time() < until:
                now = asyncio.get_running_loop().time()
                if may_read is not None and now - checked_at >= HEART_BEAT_SECONDS:
                    checked_at = now
                    if not await may_read():
                        return
                if now - written_at >= HEART_BEAT_SECONDS:
                    written_at = now
                    # With its place, so that a reader of rare events does not come back to what is long forgotten.
                    yield self._written("heartbeat", place)
                over = self._over
                came.clear()
                events = self._feed.after(place, MOST_AT_ONCE)
                if events is None:
                    place = self._feed.newest
                    written_at = now
                    yield self._written("resync", place)
                elif events:
                    place = events[-1].number
                    text = b"".join(self._event(event) for event in events if event.kind in kinds)
                    if text:
                        written_at = now
                        yield text
                elif over:
                    return
                else:
                    # Changes of other kinds put off no heart-beat.
                    beat = written_at + HEART_BEAT_SECONDS
                    with contextlib.suppress(TimeoutError):
                        async with asyncio.timeout_at(beat if until is None else min(beat, until)):
                            await came.wait()
        finally:
            self._open.discard(came)
            if not self._open:
                self._changed.set()  # nobody is left to look for

    def _place(self, last: str | None) -> int | None:
        incarnation, _, number = (last or "").partition(".")
        if incarnation != self._incarnation or not (number.isdecimal() and number.isascii() and len(number) < MOST_DIGITS):
            return None
        return int(number) if self._feed.after(int(number), 0) is not None else None

    def _event(self, event: FeedEvent) -> bytes:
        return self._written(event.kind.value, event.number, event.json)

    def _written(self, kind: str, number: int, data: str = "{}") -> bytes:
        return f"id: {self._incarnation}.{number}\nevent: {kind}\ndata: {data}\n\n".encode()

    async def _watch(self) -> None:
        """Look at once, so that a stream begins with what is; then whenever something has changed."""
        loop = asyncio.get_running_loop()
        if self._loop is not loop:
            self._loop, self._looked, self._changed = loop, None, asyncio.Event()
        if self._heard is not self._service.changes:
            self._heard, self._over = self._service.changes, False
            self._heard.listen(self._tell)
        if self._looked is None or self._looked.done():
            await self._look()
            if self._looked is None or self._looked.done():
                self._looked = loop.create_task(self._keep_looking())

    def _tell(self) -> None:
        with contextlib.suppress(RuntimeError):  # the loop has ended, and all streams with it
            if self._loop is not None:
                self._loop.call_soon_threadsafe(self._changed.set)

    async def _keep_looking(self) -> None:
        self._ear.open()
        try:
            while self._open and not self._over:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(LOOK_SECONDS):
                        await self._changed.wait()
                self._changed.clear()
                closed = self._service.changes.closed
                with contextlib.suppress(PitstopError):  # the store is away: what changes meanwhile is told when it is back
                    await self._look()
                self._over = closed
                if not closed:
                    least, most = PAUSE_SECONDS
                    await asyncio.sleep(min(most, max(least, PAUSE_SECONDS_A_STREAM * len(self._open))))
        finally:
            self._ear.close()
            self._wake_streams()

    async def _look(self) -> None:
        if self._feed.look(await reading(self._world)):
            self._wake_streams()

    def _wake_streams(self) -> None:
        for came in self._open:
            came.set()

    def _world(self) -> dict[Key, Any]:
        """Return the present values of everything that events tell of."""
        service, world = self._service, dict[Key, Any]()
        jobs = service.jobs(True)
        self._jobs = {job.id: self._without_progress(job) for job in jobs}
        for job in jobs:
            world[FeedKind.JOB, job.id] = self._jobs[job.id][1]
            world[FeedKind.PROGRESS, job.id] = job.progress
        world |= {(FeedKind.SNAPSHOT, snapshot.name): snapshot for snapshot in service.snapshots()}
        world |= {(FeedKind.MAP, facts.name): facts for facts in service.maps()}
        world |= {(FeedKind.OPERATION, str(operation.id)): operation for operation in service.operations()}
        world[FeedKind.CLUSTER, "cluster"] = service.server_info()
        return world

    def _without_progress(self, job: JobStatus) -> tuple[JobStatus, JobStatus]:
        """Progress changes with each epoch, the rest of a job seldom. The service gives the same job again, and so does this."""
        job_pair = self._jobs.get(job.id)
        return job_pair if job_pair is not None and job_pair[0] is job else (job, dataclasses.replace(job, progress=_NO_PROGRESS))


def router(service: ServerService, access: Access) -> APIRouter:
    """Routes below /api/v1."""
    routes = APIRouter(tags=["cluster"], route_class=StrictRoute)
    streams = Streams(service)
    described: dict[int | str, dict[str, Any]] = {
        200: {"content": {MEDIA_TYPE: {"schema": {"type": "string"}}}, "description": "Server-sent events"}
    }

    @routes.get("/events", summary="Follow what changes", response_class=StreamingResponse, responses=described)
    async def follow_events(
        request: Request,
        kind: Annotated[list[FeedKind], Query(description="Only events of these kinds; repeatable")] = list(FeedKind),  # noqa: B006
        seconds: Annotated[
            float | None, Query(gt=0, description="The stream ends after this many; otherwise with the server")
        ] = None,
        last_event_id: Annotated[str | None, Header(description="The id of the last event that was read")] = None,
    ) -> StreamingResponse:
        """Server-sent events: `job`, `progress`, `snapshot`, `map`, `operation` and `cluster`, with `key` and `value`; `value` is
        null for what is gone. An operation is a request to a job: it is told of until a minute after its answer.

        The first event is `ready`: read the lists after it, and you miss nothing. `resync` says that events are missing: read the
        lists anew. With `Last-Event-ID` events go on after that one. `heartbeat` comes when there is nothing else.
        """
        headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}

        async def still_signed_in() -> bool:
            with contextlib.suppress(StoreError):  # the store is away, and nothing is told meanwhile
                await access.look_for_ended(request.headers, service.ended_sessions)
            return access.identity(request.headers) is not None

        stream = streams.stream(frozenset(kind), last_event_id, seconds, still_signed_in)
        return StreamingResponse(stream, media_type=MEDIA_TYPE, headers=headers)

    return routes
