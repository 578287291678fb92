"""The folders that a request's relative paths count from, if the client has proven that it is on this machine."""

from __future__ import annotations

from typing import Any

from fastapi import Request

from pitstop.machine.claimed_folders import HEADER, proven
from pitstop.model.origin import ELSEWHERE, PathOrigin
from pitstop.rest.threads import reading

DESCRIBED: dict[str, Any] = {
    "parameters": [
        {
            "name": HEADER,
            "in": "header",
            "required": False,
            "schema": {"type": "string"},
            "description": "Made by the command line and the Python client: their working folder and home, with a proof that "
            "they are on this machine. Relative paths and ~ count from there; without it they are refused.",
        }
    ]
}
"""The header, for OpenAPI."""


async def origin_of(request: Request) -> PathOrigin:
    """Return what the relative paths of a request count from. UsageError if its header has a form of its own."""
    value = request.headers.get(HEADER)
    # It looks at folders, which may be slow.
    return PathOrigin(**await reading(proven, value)) if value is not None else ELSEWHERE
