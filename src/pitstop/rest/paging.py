"""Long lists in pages: a page ends with a link to the next one, as RFC 8288 has it."""

from __future__ import annotations

import base64
import json
from bisect import bisect_right
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

from fastapi import Depends, Query, Request, Response

from pitstop.errors import UsageError

T = TypeVar("T")
Key = tuple[Any, ...]
"""By what a list is in order, unique in it: JSON values."""

MOST = 10_000


@dataclass(frozen=True)
class PageRequest:
    """The part of a list that is asked for; all of it without a limit."""

    limit: int | None
    cursor: str | None


def _page_request(
    limit: Annotated[int | None, Query(ge=1, le=MOST, description="At most so many; the header Link leads on")] = None,
    cursor: Annotated[str | None, Query(max_length=2_000, description="From the Link of the page before")] = None,
) -> PageRequest:
    return PageRequest(limit, cursor)


Paging = Annotated[PageRequest, Depends(_page_request)]
"""Parameters of a route that gives a list."""


def page_of(
    items: Iterable[T], key: Callable[[T], Key], page_request: PageRequest, request: Request, response: Response
) -> list[T]:
    """The page of ``items``, in the order of ``key``; ``response`` gets the link to the next one, if there is more.

    Pages lose and repeat nothing that is there all the time, whatever comes and goes in between. UsageError for a cursor that is
    none.
    """
    ordered = sorted(items, key=key)
    try:
        start = bisect_right(ordered, _read(page_request.cursor), key=key) if page_request.cursor is not None else 0
    except TypeError:
        raise _no_cursor() from None
    end = len(ordered) if page_request.limit is None else start + page_request.limit
    if end < len(ordered):
        url = request.url.include_query_params(cursor=_write(key(ordered[end - 1])))
        response.headers["Link"] = f'<{url.path}?{url.query}>; rel="next"'
    return ordered[start:end]


def _write(key: Key) -> str:
    return base64.urlsafe_b64encode(json.dumps(key).encode()).decode().rstrip("=")


def _read(cursor: str) -> Key:
    try:
        key = json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
    except (ValueError, RecursionError):
        raise _no_cursor() from None
    if not isinstance(key, list) or not key:
        raise _no_cursor()
    return tuple(key)


def _no_cursor() -> UsageError:
    return UsageError("The cursor does not belong to this list: take it from the Link of the previous page.")
