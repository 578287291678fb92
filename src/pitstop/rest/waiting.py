"""Waiting without a thread: thousands of clients may wait for jobs and verbs while others are served."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Collection
from typing import Any, Protocol, TypeVar

from fastapi import Request
from starlette.types import Receive

from pitstop.errors import PitstopError, UnreachableError
from pitstop.kit.asker import ASKER, Asker
from pitstop.rest.threads import reading
from pitstop.service.asked import LOOK_SECONDS, Asked, Sign
from pitstop.service.changes import Changes, ended

LONGEST_WAIT = 600.0
"""Seconds that one request may wait; a client that wants to wait longer asks again."""
PAUSE_SECONDS = 0.05
"""Changes that come within this time are looked at together."""

T = TypeVar("T")


class Signs(Protocol):
    """Tells what has changed, and which signs have come (service.reads.Reads)."""

    changes: Changes

    def shown(self, signs: Collection[Sign]) -> set[Sign]: ...


class Waiters:
    """The requests that wait, and one task that looks for the signs of all of them when something has changed."""

    def __init__(self, service: Signs) -> None:
        self._service = service
        self._waiting: dict[Sign, set[asyncio.Event]] = {}
        self._changed = asyncio.Event()
        self._looking: asyncio.Task[None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._heard: Changes | None = None

    async def answer(self, question: Asked[T], request: Request) -> T:
        """Return the answer to a question; UnreachableError, which nobody reads, once the client has gone."""

        async def look() -> T | None:
            return await reading(question.look)

        async def late() -> T:
            return await reading(question.late)

        return await self.wait(question.sign, look, late, lambda: question.left, request.receive)

    async def wait(
        self,
        sign: Sign,
        look: Callable[[], Awaitable[T | None]],
        late: Callable[[], Awaitable[T]],
        seconds_left: Callable[[], float],
        receive: Receive,
    ) -> T:
        """Return the result of ``look`` once the sign has come, or that of ``late`` when no seconds are left."""
        hang_up = asyncio.create_task(_hung_up(receive))
        try:
            return await self._wait(sign, look, late, seconds_left, hang_up)
        finally:
            hang_up.cancel()

    async def _wait(
        self,
        sign: Sign,
        look: Callable[[], Awaitable[T | None]],
        late: Callable[[], Awaitable[T]],
        seconds_left: Callable[[], float],
        hang_up: asyncio.Task[None],
    ) -> T:
        with self._registered(sign) as came:
            while True:
                came.clear()
                answer = await look()
                if answer is not None:
                    return answer
                if seconds_left() <= 0:
                    return await late()
                await _first(came, hang_up, seconds_left())
                if hang_up.done():
                    raise UnreachableError("The client has gone.")
                if self._service.changes.closed:
                    raise ended()

    @contextlib.contextmanager
    def _registered(self, sign: Sign) -> Any:
        self._watch()
        came = asyncio.Event()
        self._waiting.setdefault(sign, set()).add(came)
        try:
            yield came
        finally:
            self._waiting[sign].discard(came)
            if not self._waiting[sign]:
                del self._waiting[sign]

    def _watch(self) -> None:
        """Begin to look, if nobody does; in a test the loop may be another one than before."""
        loop = asyncio.get_running_loop()
        if self._loop is not loop:
            self._loop, self._looking, self._changed = loop, None, asyncio.Event()
        if self._heard is not self._service.changes:
            self._heard = self._service.changes
            self._heard.listen(self._tell)
        if self._looking is None or self._looking.done():
            self._looking = loop.create_task(self._look())

    def _tell(self) -> None:
        with contextlib.suppress(RuntimeError):  # the loop has ended, and all who waited with it
            if self._loop is not None:
                self._loop.call_soon_threadsafe(self._changed.set)

    async def _look(self) -> None:
        """Wake whose sign has come, as long as anybody waits. A store that cannot be read is told by a closer look."""
        while self._waiting:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(LOOK_SECONDS):
                    await self._changed.wait()
            self._changed.clear()
            signs = list(self._waiting)
            try:
                due: Collection[Sign] = signs if self._service.changes.closed else await reading(self._service.shown, signs)
            except PitstopError:
                due = signs
            for sign in due:
                for came in self._waiting.get(sign, ()):
                    came.set()
            await asyncio.sleep(PAUSE_SECONDS)


@contextlib.asynccontextmanager
async def asked_by(request: Request) -> AsyncIterator[None]:
    """Calls made within this are for the client: what can be ended is ended once the client has gone. Its body has been read."""
    asker, loop = Asker(), asyncio.get_running_loop()
    token = ASKER.set(asker)
    hang_up = asyncio.create_task(_hung_up(request.receive))
    hang_up.add_done_callback(lambda task: None if task.cancelled() else loop.run_in_executor(None, asker.leave))
    try:
        yield
    finally:
        hang_up.cancel()
        ASKER.reset(token)


async def _hung_up(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _first(came: asyncio.Event, hang_up: asyncio.Task[None], seconds: float) -> None:
    """Wait until one of both happens, so many seconds at most."""
    waiting = asyncio.ensure_future(came.wait())
    try:
        await asyncio.wait((waiting, hang_up), timeout=max(0.0, seconds), return_when=asyncio.FIRST_COMPLETED)
    finally:
        waiting.cancel()
