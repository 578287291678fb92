"""The gate before all routes: it lets a request in by its head, before a byte of its body is read."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pitstop.errors import PitstopError, StoreError, TooLargeError, UsageError
from pitstop.rest.access import Access, Role
from pitstop.rest.problems import answer

QUIET_SECONDS = 30.0
"""The longest pause within a request."""
VIEWER_BYTES = 128 << 10
"""The most bytes of a viewer's request. All that viewers send are queries, and reading a long one slows everybody down."""


class Gate:
    """ASGI: lets in what ``access`` allows, as long as it goes on sending."""

    def __init__(self, app: ASGIApp, access: Access, ended: Callable[[], Mapping[str, float]] = dict) -> None:
        """``ended`` reads the sessions that were signed out at any server of the store."""
        self._app, self._access, self._ended = app, access, ended

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":  # the server starts or ends; we speak nothing else
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        try:
            await self._access.look_for_ended(headers, self._ended)
            refusal = self._access.refusal(scope["path"], headers, scope["method"]) or _without_nul(scope)
            identity = self._access.identity(headers)
            most = VIEWER_BYTES if identity is not None and identity.role is Role.VIEWER else None
            refusal = refusal or _too_large(headers, most)
        except StoreError:
            # A session that may have been signed out elsewhere is not let in.
            refusal = StoreError("The store does not answer: nobody knows now whether this session was signed out.")
        if refusal is not None:
            # What was not read is not waited for: the connection is closed.
            await answer(refusal, {"connection": "close"})(scope, receive, send)
        else:
            await self._app(scope, _prompt(receive, most), _telling(scope, receive, send))


def _too_large(headers: Headers, most: int | None) -> PitstopError | None:
    """Return the refusal of a body that says that it has more than ``most`` bytes."""
    length = headers.get("content-length", "")
    if most is None or not length.isdecimal() or int(length) <= most:
        return None
    return TooLargeError(f"A viewer's request has at most {most:,} bytes.")


def _without_nul(scope: Scope) -> PitstopError | None:
    """Nothing that there is has a NUL in its name, and PostgreSQL takes no text with one."""
    if "\0" in scope["path"] or b"%00" in scope["query_string"] or b"\0" in scope["query_string"]:
        return UsageError("The address of the request holds a NUL (%00): no name and no text that is asked for has one.")
    return None


def _prompt(receive: Receive, most: int | None) -> Receive:
    """``receive`` that does not wait for ever for the rest of a body, and takes ``most`` bytes of it; None: any number."""
    whole, size = False, 0

    async def receive_soon() -> Message:
        nonlocal whole, size
        try:
            async with asyncio.timeout(None if whole else QUIET_SECONDS):
                message = await receive()
        except TimeoutError:
            raise HTTPException(408, f"nothing more of it came for {QUIET_SECONDS:.0f} seconds") from None
        whole = not message.get("more_body", False)
        size += len(message.get("body", b""))
        if most is not None and size > most:
            raise HTTPException(TooLargeError.http_status, "a viewer's request is smaller")
        return message

    return receive_soon


def _telling(scope: Scope, receive: Receive, send: Send) -> Send:
    """``send`` that makes the framework's bare text on too large a body a problem like every other error."""
    replaced = False

    async def send_problem(message: Message) -> None:
        nonlocal replaced
        if message["type"] == "http.response.start" and message["status"] == TooLargeError.http_status:
            replaced = True
            error = TooLargeError("The request is larger than the server takes here.")
            await answer(error, {"connection": "close"})(scope, receive, send)
        elif not replaced:
            await send(message)

    return send_problem
