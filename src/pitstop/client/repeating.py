"""Requests over a connection that may break: which of them can be sent again, and what to say of the others."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable

import httpx2

from pitstop.client.away import PAUSES

LOST = (httpx2.NetworkError, httpx2.RemoteProtocolError)
"""Errors of a connection that was there."""
NOT_THERE = (httpx2.ConnectError, httpx2.ConnectTimeout)
"""Errors of a connection that never was: the server has not seen the request."""
_PAUSES = PAUSES[:5]
"""The pauses in seconds before a request is sent again, four seconds in all: a server that starts again is up by then."""


def sent(send: Callable[[], httpx2.Response], repeatable: bool) -> httpx2.Response:
    """Return the answer to a request, which is sent again after a lost connection if it is ``repeatable``.

    The request must then be one that does nothing twice: a look, or a deed whose second attempt finds it done. A server that was
    not there at the first attempt is not asked again.
    """
    try:
        return send()
    except LOST as error:
        if not repeatable or isinstance(error, NOT_THERE):
            raise
    for pause in _PAUSES[:-1]:
        time.sleep(pause)
        with contextlib.suppress(httpx2.NetworkError, httpx2.RemoteProtocolError, httpx2.ConnectTimeout):
            return send()
    time.sleep(_PAUSES[-1])
    return send()


def broken(url: str, error: Exception, repeatable: bool) -> str:
    """Return the sentence about a connection to a server that has broken before the answer came."""
    reason = str(error) or type(error).__name__
    if repeatable:
        return f"The server at {url} closed the connection: {reason}. See its log."
    return (
        f"The connection to the server at {url} broke before it answered ({reason}): it may have done what you asked for, or may "
        "be doing it. Look at the job ('pitstop status', 'pitstop events') before you ask again."
    )
