"""The gate before all routes: who may ask at all is decided by the head of a request, before a byte of its body is read."""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
from dataclasses import dataclass
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pitstop.errors import DeniedError, ForeignError, PitstopError, TooLargeError
from pitstop.rest.problems import answer

OPEN = frozenset({"/healthz", "/readyz", "/openapi.json"})
"""What answers without a token: probes, and the description, which is in the documentation anyway."""
OWN_SITES = frozenset({"same-origin", "none"})
"""What a browser says of a request that no other site has made (Fetch Metadata)."""
QUIET_SECONDS = 30.0
"""How long the rest of a request may fail to come."""


@dataclass(frozen=True)
class Access:
    """Who may ask."""

    token: str
    """What every request but the open ones must bring."""
    names: frozenset[str] = frozenset()
    """Names under which the server may be called, in lower case, beside addresses and ``localhost``.

    A page of another site can make its own name lead here (DNS rebinding), but no address.
    """

    def refusal(self, path: str, headers: Headers) -> PitstopError | None:
        """Why this request is not let in; None if it is."""
        host = headers.get("host", "")
        if not self._is_ours(host):
            return ForeignError(f"'{host}' is no name of this server: call it by its address, or start it with --host-name.")
        origin, site = headers.get("origin"), headers.get("sec-fetch-site")
        if (origin is not None and urlsplit(origin).netloc != host) or (site is not None and site not in OWN_SITES):
            return ForeignError("A page of another site has asked for this: pages may only ask the server that they come from.")
        if path not in OPEN and not self._knows_token(headers.get("authorization", "")):
            return DeniedError(
                "The token is missing or wrong: it stands in the file 'token' of the server's data folder; "
                "give it with --token-file or PITSTOP_TOKEN."
            )
        return None

    def _knows_token(self, given: str) -> bool:
        scheme, _, token = given.partition(" ")
        # A header arrives as Latin-1, whatever its bytes were.
        return scheme.lower() == "bearer" and hmac.compare_digest(token.strip().encode("latin-1"), self.token.encode())

    def _is_ours(self, host: str) -> bool:
        try:
            name = (urlsplit(f"//{host}").hostname or "").rstrip(".")
        except ValueError:
            return False
        return name == "localhost" or name in self.names or _is_address(name)


class Gate:
    """ASGI: lets in what ``access`` allows, as long as it goes on sending."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app, self._access = app, access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":  # the server starts or ends; we speak nothing else
            await self._app(scope, receive, send)
            return
        refusal = self._access.refusal(scope["path"], Headers(scope=scope))
        if refusal is not None:
            # What was not read is not waited for: the connection is closed.
            await answer(refusal, {"connection": "close"})(scope, receive, send)
        else:
            await self._app(scope, _prompt(receive), _telling(scope, receive, send))


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name.partition("%")[0])
    except ValueError:
        return False
    return True


def _prompt(receive: Receive) -> Receive:
    """``receive`` that does not wait for ever for the rest of a body."""
    whole = False

    async def receive_soon() -> Message:
        nonlocal whole
        try:
            async with asyncio.timeout(None if whole else QUIET_SECONDS):
                message = await receive()
        except TimeoutError:
            raise HTTPException(408, f"nothing more of it came for {QUIET_SECONDS:.0f} seconds") from None
        whole = not message.get("more_body", False)
        return message

    return receive_soon


def _telling(scope: Scope, receive: Receive, send: Send) -> Send:
    """``send`` that makes the framework's bare text on too large a body a problem like every other error."""
    replaced = False

    async def send_problem(message: Message) -> None:
        nonlocal replaced
        if message["type"] == "http.response.start" and message["status"] == TooLargeError.http_status:
            replaced = True
            told = TooLargeError("The request is larger than the server takes here.")
            await answer(told, {"connection": "close"})(scope, receive, send)
        elif not replaced:
            await send(message)

    return send_problem
