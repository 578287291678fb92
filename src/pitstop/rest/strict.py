"""Requests whose JSON is JSON: the standard library takes NaN, and text that cannot be written down."""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request, Response
from fastapi.routing import APIRoute
from pydantic_core import from_json

from pitstop.rest.threads import parsing

LARGE_BYTES = 256 << 10
"""Bodies above are read in a thread: the one of all requests has others to answer."""


class _StrictRequest(Request):
    async def json(self) -> Any:
        content = await self.body()
        try:
            return await parsing(_value, content) if len(content) > LARGE_BYTES else _value(content)
        except ValueError as error:
            raise json.JSONDecodeError(str(error), "", 0) from None


def _value(content: bytes) -> Any:
    return from_json(content, allow_inf_nan=False)


class StrictRoute(APIRoute):
    """A route that refuses lone surrogates, NaN and Infinity in the body of a request, wherever they stand in it."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def strictly(request: Request) -> Response:
            return await handle(_StrictRequest(request.scope, request.receive))

        return strictly
