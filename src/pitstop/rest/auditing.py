"""Writes an entry of the audit trail for each request that may change something, once it is answered."""

from __future__ import annotations

import time
from dataclasses import dataclass
from urllib.parse import unquote

import structlog
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pitstop.model.audit import STATEMENT, USER_HEADER, AuditEntry, Door
from pitstop.rest.access import LOOKS, Access, Identity
from pitstop.rest.threads import writing
from pitstop.service.server_api import ServerService

AGENTS = {
    "pitstop-cli/": Door.COMMAND_LINE,
    "pitstop-python/": Door.PYTHON,
    "pitstop-postgres/": Door.POSTGRES,
    "pitstop-kubernetes/": Door.KUBERNETES,
}
"""The names by which our own clients call themselves, and their doors."""
MOST_LETTERS = 500
"""Of a path; longer ones name nothing that there is."""
MOST_OF_NAME, MOST_OF_METHOD = 100, 10

log = structlog.get_logger("pitstop.audit")


@dataclass
class Deed:
    """A statement that a request carries out."""

    what: str
    status: int | None = None
    """The status that it would have had as a request of its own; None: the status of the request."""


def deeds_of(request: Request) -> list[Deed]:
    """Return the list of deeds that are noted in the place of a request, for its route to fill. An empty one notes nothing."""
    deeds: list[Deed] = request.scope["state"].setdefault(_DEEDS, [])
    return deeds


async def note_now(request: Request) -> None:
    """Record it before its answer's end, once: who has read what ends it for them may not wait for that."""
    await request.scope["state"][_NOTE]()


_DEEDS, _NOTE = "deeds", "note"


class Audited:
    """ASGI: records every request of somebody who was let in that is no mere look."""

    def __init__(self, app: ASGIApp, access: Access, service: ServerService) -> None:
        self._app, self._access, self._service = app, access, service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] in LOOKS:
            await self._app(scope, receive, send)
            return
        headers, state = Headers(scope=scope), scope.setdefault("state", {})
        identity, at, status, is_noted = self._access.identity(headers), time.time(), 500, False

        async def note() -> None:
            nonlocal is_noted
            if not is_noted and identity is not None:
                is_noted = True
                await self._note(_entries(scope, headers, identity, at, status, state.get(_DEEDS)))

        async def noted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            elif not message.get("more_body"):
                await note()  # before whoever asked has the whole answer
            await send(message)

        state[_NOTE] = note
        try:
            await self._app(scope, receive, noted)
        finally:
            await note()

    async def _note(self, entries: list[AuditEntry]) -> None:
        if not entries:
            return
        for entry in entries:
            log.info(entry.text)
        try:
            await writing(self._service.note_audit, entries)
        except Exception as error:  # whatever is wrong with them, the request was answered
            log.warning("entries of the audit are in the log alone", reason=f"{type(error).__name__}: {error}")


def _entries(
    scope: Scope, headers: Headers, identity: Identity, at: float, status: int, deeds: list[Deed] | None
) -> list[AuditEntry]:
    agent = headers.get("user-agent", "")
    named = next((door for prefix, door in AGENTS.items() if agent.startswith(prefix)), Door.OTHER)
    door = Door.PAGE if identity.signed_in else named
    user = "".join(letter for letter in unquote(headers.get(USER_HEADER, "")) if letter.isprintable())[:MOST_OF_NAME] or None
    if deeds is None:
        return [AuditEntry(at, identity.role.value, user, door, scope["method"][:MOST_OF_METHOD], _kept(scope["path"]), status)]
    door = Door.SQL if door in (Door.COMMAND_LINE, Door.OTHER) else door
    return [
        AuditEntry(
            at, identity.role.value, user, door, STATEMENT, _kept(deed.what), status if deed.status is None else deed.status
        )
        for deed in deeds
    ]


def _kept(text: str) -> str:
    return text.encode("utf-8", "replace").decode().replace("\0", "?")[:MOST_LETTERS]
