"""The protocol of one connection: uvicorn's, with an end for clients that begin a request and never finish it."""

from __future__ import annotations

import asyncio
from typing import Any

from h11 import SERVER, Connection, RemoteProtocolError, Request
from uvicorn.protocols.http.h11_impl import H11Protocol

from pitstop.rest.peers import ENDS

HEAD_SECONDS = 20.0
"""The longest that the head of a request may take, from the connection or from the end of the request before."""


class _OneLength(Connection):
    """Refuses a request that gives both a length and chunks: a proxy might read its end differently."""

    def next_event(self) -> Any:
        event = super().next_event()
        if isinstance(event, Request) and {b"content-length", b"transfer-encoding"} <= {name for name, _ in event.headers}:
            raise RemoteProtocolError("Content-Length and Transfer-Encoding in one request")
        return event


class PatientProtocol(H11Protocol):
    """An H11Protocol that limits the time for the head of a request. The gate limits the rest (rest.gate)."""

    _deadline: asyncio.TimerHandle | None = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        most = self.config.h11_max_incomplete_event_size
        self.conn = _OneLength(SERVER, *([most] if most is not None else []))

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        # What a header says of the client (X-Forwarded-For) goes into the scope's ``client`` instead.
        self.app_state = {**self.app_state, ENDS: (self.client, self.server)}
        self._expect_head()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.cycle is not None and not self.cycle.response_complete:
            self._head_is_there()
        elif self._deadline is None:
            self._expect_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._head_is_there()
        super().connection_lost(exc)

    def _expect_head(self) -> None:
        self._deadline = self.loop.call_later(HEAD_SECONDS, self.transport.close)

    def _head_is_there(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
