"""Signing in with a browser, by a link that a program with a token has asked for, or by the token itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import RedirectResponse

from pitstop.errors import DeniedError
from pitstop.kit.wire import described
from pitstop.rest.access import LINK_SECONDS, SESSION_SECONDS, Access, Identity, Links, NewSession, session_cookie
from pitstop.rest.models import SignInBody
from pitstop.rest.strict import StrictRoute
from pitstop.rest.threads import writing
from pitstop.service.server_api import ServerService

MOST_BYTES = 4096
"""Of the request of somebody who has not signed in yet."""
KEY_IN_ADDRESS = "session-key"
"""The name of the key in the address to which a link leads (web/src/api/session.ts)."""


@described
@dataclass(frozen=True)
class SignInLink:
    """A link that signs a browser in."""

    path: str
    """To be opened below the server's address; it works once."""
    seconds: float
    """The time for which it works."""


@described
@dataclass(frozen=True)
class SessionKey:
    """The half of a session that the page keeps; the cookie is the other one."""

    key: str
    """To be sent with each request in the header Pitstop-Session-Key: the cookie alone is worth nothing."""


def api_router(access: Access, links: Links) -> APIRouter:
    """Routes below /api/v1."""
    routes = APIRouter(tags=["access"], route_class=StrictRoute)

    def identity(request: Request) -> Identity:
        sender = access.identity(request.headers)
        assert sender is not None, "the gate lets nobody in whom it does not know"
        return sender

    @routes.get("/me", summary="Who am I?")
    async def get_me(request: Request) -> Identity:
        """The identity that the token, or the session of the browser, stands for."""
        return identity(request)

    @routes.post("/sign-in-links", status_code=201, summary="Make a link that signs a browser in")
    async def make_sign_in_link(request: Request) -> SignInLink:
        """As whoever asks."""
        # One that a session has asked for makes one that ends when that one does: else they had no end.
        asker, session = identity(request), access.session(request.headers)
        since = session.since if asker.signed_in and session is not None else None
        return SignInLink(f"/sign-in?code={links.new(asker.role, since)}", LINK_SECONDS)

    return routes


def browser_router(access: Access, links: Links, service: ServerService) -> APIRouter:
    """Routes of browsers alone."""
    routes = APIRouter(tags=["access"], route_class=StrictRoute)

    def begin(request: Request, response: Response, session: NewSession) -> None:
        response.set_cookie(
            session_cookie(request.headers.get("host", "")),
            session.cookie,
            max_age=SESSION_SECONDS,
            httponly=True,
            samesite="strict",
            secure=request.url.scheme == "https",
        )
        response.headers["Cache-Control"] = "no-store"
        response.headers["Referrer-Policy"] = "no-referrer"

    @routes.get("/sign-in", summary="Sign in by a link", response_class=RedirectResponse, status_code=303)
    async def follow_sign_in_link(
        request: Request, code: Annotated[str, Query(max_length=100, description="That of the link")]
    ) -> Response:
        """Leads to the page, with a session, whose key stands behind the `#` of the address."""
        grant = links.use(code)
        if grant is None:
            raise DeniedError("This link was used already, or is older than five minutes: `pitstop ui` makes another one.")
        session = access.new_session(*grant)
        # No browser sends this part of an address to anybody; the page takes it out of its address at once.
        response = RedirectResponse(f"/#{KEY_IN_ADDRESS}={session.key}", 303)
        begin(request, response, session)
        return response

    @routes.post("/sign-in", summary="Sign in by a token", max_body_size=MOST_BYTES)
    async def sign_in(request: Request, response: Response, body: SignInBody) -> SessionKey:
        """The session of the browser stands for the token from then on."""
        role = access.role_of(body.token.strip().encode())
        if role is None:
            raise DeniedError("This is not the server's token: it is in the file 'token' of the server's data folder.")
        session = access.new_session(role)
        begin(request, response, session)
        return SessionKey(session.key)

    @routes.post("/sign-out", summary="Sign out", status_code=204)
    async def sign_out(request: Request) -> Response:
        """The browser forgets its session, and no server of the store knows it any more."""
        session = access.session(request.headers)
        if session is not None:
            await writing(service.end_session, session.id, session.until)
            access.ended.add(session)
        response = Response(status_code=204)
        response.delete_cookie(session_cookie(request.headers.get("host", "")), httponly=True, samesite="strict")
        return response

    return routes
