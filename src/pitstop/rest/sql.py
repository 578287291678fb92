"""Statements of SQL over HTTP: the rows of each are sent as they come."""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator, Callable
from datetime import datetime
from functools import partial
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, ConfigDict, Field
from starlette.types import Receive, Scope, Send

from pitstop.errors import ForbiddenError, PitstopError, UsageError
from pitstop.kit.wire import check_text
from pitstop.model.origin import ELSEWHERE, PathOrigin
from pitstop.model.selecting import OPERATOR, Asker
from pitstop.rest.access import Access
from pitstop.rest.auditing import Deed, deeds_of, note_now
from pitstop.rest.origins import DESCRIBED, origin_of
from pitstop.rest.peers import viewer_of
from pitstop.rest.strict import StrictRoute
from pitstop.rest.threads import ForSql, operators_sql, viewers_sql, working
from pitstop.rest.waiting import asked_by
from pitstop.service.server_api import ServerService
from pitstop.service.sql_results import Result, Value
from pitstop.sql.parsing import MOST_LETTERS, parse
from pitstop.sql.statements import Query, Statement
from pitstop.sql.summary import summary

MEDIA_TYPE = "application/x-ndjson"
PATH = "/sql"
MOST_BYTES = 4 << 20
"""Of a request: its text has a mebibyte of letters at most, and viewers may send it."""
MOST_STATEMENTS = 1_000
"""In a text: each that changes something is an entry of the audit trail, which keeps the newest alone."""


class StatementsModel(BaseModel):
    """The statements to carry out."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    statements: str = Field(max_length=MOST_LETTERS)
    """Statements with semicolons between them."""


def router(service: ServerService, access: Access) -> APIRouter:
    """Routes below /api/v1."""
    routes = APIRouter(tags=["sql"], route_class=StrictRoute)
    lines: dict[int | str, dict[str, Any]] = {
        200: {"content": {MEDIA_TYPE: {"schema": {"type": "string"}}}, "description": "A JSON object a line"}
    }

    @routes.post(
        PATH,
        summary="Carry out SQL statements",
        response_class=StreamingResponse,
        responses=lines,
        max_body_size=MOST_BYTES,
        openapi_extra=DESCRIBED,
    )
    async def execute_sql(request: Request, body: StatementsModel) -> StreamingResponse:
        """One after the other. For each, lines come: `{"columns": [{"name", "type"}]}`, `{"row": [...]}` for each row, and
        `{"rows": n}` at its end; columns are empty for one that gives no rows, and `"endless": true` stands beside those of a
        stream, between whose rows empty lines may come. The first that fails ends the rest: it is the answer if nothing was done
        before it, else the last line is `{"error": {...}}`, a problem.

        Viewers may carry out SHOW, EXPLAIN JOB, DESCRIBE JOB, and SELECT on maps and information_schema.
        """
        asker = await _asker(access, request)
        threads = viewers_sql if asker.viewer else operators_sql
        # Not here: long ones would keep everybody waiting.
        statements = await threads.parsing(parse, check_text("The text of statements", body.statements))
        if not statements:
            raise UsageError("There is no statement to run.")
        if len(statements) > MOST_STATEMENTS:
            raise UsageError(
                f"A text has at most {MOST_STATEMENTS:,} statements, and this one has {len(statements):,}: send parts."
            )
        carry_out: CarryOut = partial(_carry_out, ELSEWHERE if asker.viewer else await origin_of(request))
        if asker.viewer:
            await threads.parsing(_refuse_changes, service, statements, deeds_of(request))
            carry_out = partial(_carry_out_look, asker)
        # What changes something is done, whoever waits for it.
        async with asked_by(request) if isinstance(statements[0], Query) else contextlib.nullcontext():
            first = await _in_a_thread(threads, carry_out, service, statements[0], deeds_of(request))
        return _Lines(_lines(service, first, statements[1:], request, carry_out, threads), first)

    return routes


class _Lines(StreamingResponse):
    """An answer whose first result is closed in any case: who has asked may be gone before a line of it is sent."""

    def __init__(self, lines: AsyncIterator[bytes], first: Result) -> None:
        super().__init__(lines, media_type=MEDIA_TYPE)
        self._first = first

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._first.close()


CarryOut = Callable[[ServerService, Statement, list[Deed]], Result]


async def _asker(access: Access, request: Request) -> Asker:
    """Return the asker of the request's queries."""
    viewer = await viewer_of(access, request)
    return OPERATOR if viewer is None else Asker(True, viewer)


async def _in_a_thread(
    threads: ForSql, carry_out: CarryOut, service: ServerService, statement: Statement, deeds: list[Deed]
) -> Result:
    """Of many statements that write few do so at once: each holds a connection to the store while it waits for its turn."""
    kind = threads.stating if isinstance(statement, Query) else working
    return await kind(carry_out, service, statement, deeds)


def _refuse_changes(service: ServerService, statements: list[Statement], deeds: list[Deed]) -> None:
    changes = [statement for statement in statements if not service.is_look(statement)]
    if changes:
        # One entry: with one for each, somebody who may change nothing drives all others out of the trail.
        more = f" and {len(changes) - 1:,} more" if len(changes) > 1 else ""
        deeds.append(Deed(summary(changes[0]) + more, ForbiddenError.http_status))
        raise ForbiddenError("This token is a viewer's: it allows reading everything and changing nothing.")


def _carry_out(origin: PathOrigin, service: ServerService, statement: Statement, deeds: list[Deed]) -> Result:
    """Do what it says, and have it noted unless it only looks."""
    deed = None if _only_looks(service, statement) else Deed(summary(statement))
    if deed is not None:
        deeds.append(deed)
    try:
        return service.carry_out(statement, origin=origin)
    except PitstopError as error:
        if deed is not None:
            deed.status = error.http_status
        raise


def _carry_out_look(asker: Asker, service: ServerService, statement: Statement, deeds: list[Deed]) -> Result:
    """Carry out one statement of a viewer. It is checked again: the meaning of names may have changed since the first check."""
    _refuse_changes(service, [statement], deeds)
    return service.carry_out(statement, asker)


def _only_looks(service: ServerService, statement: Statement) -> bool:
    try:
        return service.is_look(statement)
    except PitstopError:
        # What is wrong with it is told by who carries it out.
        return isinstance(statement, Query)


async def _lines(
    service: ServerService,
    first: Result,
    rest: list[Statement],
    request: Request,
    carry_out: CarryOut,
    threads: ForSql,
) -> AsyncIterator[bytes]:
    deeds = deeds_of(request)
    try:
        async for line in _lines_of(first, threads):
            yield line
        for statement in rest:
            async for line in _lines_of(await _in_a_thread(threads, carry_out, service, statement, deeds), threads):
                yield line
    except PitstopError as error:
        await note_now(request)
        yield _line({"error": error.to_dict()})


async def _lines_of(result: Result, threads: ForSql) -> AsyncIterator[bytes]:
    batches, count = iter(result.batches), 0
    try:
        columns = [{"name": column.name, "type": str(column.type)} for column in result.columns]
        yield _line({"columns": columns} | ({"endless": True} if result.endless else {}))
        while (rows := await threads.following(next, batches, None)) is not None:
            count += len(rows)
            # An empty line keeps the connection of a quiet stream, and finds out that nobody reads any more.
            yield b"".join(_line({"row": [_plain(value) for value in row]}) for row in rows) or b"\n"
        yield _line({"rows": count})
    finally:
        result.close()


def _plain(value: Value) -> Any:
    return value.isoformat(timespec="milliseconds") if isinstance(value, datetime) else value


def _line(value: dict[str, Any]) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "replace") + b"\n"
