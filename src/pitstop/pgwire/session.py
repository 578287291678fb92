"""One client of the PostgreSQL protocol: its statements go to the server as they are."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from pg_mimic import BaseSession, PgError, Portal, ResultColumn, Statement
from pg_mimic.typeinfo import TypeInfoStatement, is_typeinfo_query

from pitstop.client.http import HttpService
from pitstop.client.sql import Stop
from pitstop.errors import BusyError, ConflictError, DeniedError, ForbiddenError, NotFoundError, PitstopError, UsageError
from pitstop.pgwire.about import About
from pitstop.pgwire.catalogue.engine import TOO_MUCH, Bounds
from pitstop.pgwire.catalogue.statements import Catalogue, CatalogueStatement, Client
from pitstop.pgwire.catalogue.writing import Rewritten, about_catalogue, read, rewritten
from pitstop.pgwire.settings import Settings, said
from pitstop.pgwire.texts import with_plain_texts
from pitstop.pgwire.values import described, row_of
from pitstop.service.sql_results import Result
from pitstop.service.statements import REPORT
from pitstop.sql.connectors import columns_of
from pitstop.sql.mappings import Mapping
from pitstop.sql.names import of_postgres, tables_of
from pitstop.sql.parsing import MOST_LETTERS, parse
from pitstop.sql.statements import CheckJob, CreateMapping, DescribeJob, ExplainJob, Query, Show, UpdateJob
from pitstop.sql.statements import Statement as Said

T = TypeVar("T")
_CODES: tuple[tuple[type[PitstopError], str], ...] = (
    (UsageError, "42601"),
    (NotFoundError, "42704"),
    (ConflictError, "55000"),
    (ForbiddenError, "42501"),
    (DeniedError, "28000"),
    (BusyError, "53000"),
)
"""The SQLSTATE by class of error. All other errors are XX000."""


class PitstopSession(BaseSession):
    """A session of one client. ``open_service`` opens a separate connection for each client.

    pg_mimic's own answers to queries are not used, since it evaluates queries as Python.
    """

    def __init__(self, open_service: Callable[[], HttpService], bounds: Bounds | None = None) -> None:
        self._open, self._bounds = open_service, bounds or Bounds()
        self._service: HttpService | None = None
        self._stop = Stop()
        """The stop of the statements that are being carried out."""

    async def init(self, connection: Any) -> None:
        self._connection = connection
        version = connection.server.parameter_status["server_version"]
        self._settings = Settings(version)
        client = Client(connection.username, connection.database, version, connection.pid)
        self._catalogue = Catalogue(client, self._settings, self._bounds)

    async def in_thread(self, work: Callable[..., T], *arguments: Any) -> T:
        """Run ``work`` in a separate thread. If the client cancels it, the server ends its part of the work."""
        try:
            return await asyncio.to_thread(work, *arguments)
        except asyncio.CancelledError:
            # The thread may still be on its way out: the next statements get a new connection.
            self._stop.give_up()
            self._catalogue.end()
            self._stop, self._service = Stop(), None
            raise

    async def prepare(self, sql: str, param_oids: list[int | None]) -> Statement:
        if len(sql) > MOST_LETTERS:
            raise PgError(TOO_MUCH, f"A text of statements has at most {MOST_LETTERS:,} letters.")
        sql = await asyncio.to_thread(with_plain_texts, sql)
        statements = await asyncio.to_thread(_statements, sql)
        if len(statements) == 1 and isinstance(statements[0], Query) and of_postgres(statements[0]):
            # A mapping may have the name of one of PostgreSQL's own tables.
            ours = await self.in_thread(self._tables) if tables_of(statements[0]) else {}
            statements = statements if tables_of(statements[0]) & ours.keys() else []
        if statements:
            if param_oids:
                refusal = "Parameters ($1) are not possible: put values into the statement, as psycopg's ClientCursor does"
                raise PgError("0A000", refusal)
            return _Statement(self, sql, statements)
        about = said(sql)
        if about is not None:
            return About(sql, about, self._settings, self._connection)
        if is_typeinfo_query(sql):
            return TypeInfoStatement(sql)
        return CatalogueStatement(sql, await asyncio.to_thread(_asked, sql, param_oids), param_oids, self._answer)

    async def _answer(self, query: Rewritten, values: list[Any]) -> list[tuple[Any, ...]]:
        rows: list[tuple[Any, ...]] = await self.in_thread(lambda: self._catalogue.answer(query, values, self._tables()))
        return rows

    async def close(self) -> None:
        close = getattr(self._service, "close", None)
        if close is not None:
            await asyncio.to_thread(close)

    def results(self, sql: str) -> Iterator[Result]:
        """Return the results of statements, one after the other."""
        if self._service is None:
            self._service = self._open()
        self._stop = Stop()
        return self._service.sql(sql, self._stop)

    def _tables(self) -> dict[str, dict[str, str]]:
        """Return the mappings as tables: the types of their columns, by name."""
        with _as_postgres():
            return self._mappings()

    def _mappings(self) -> dict[str, dict[str, str]]:
        columns_by_mapping: dict[str, dict[str, str]] = {}
        (result,) = [Result.of(each.columns, list(each.rows)) for each in self.results(_MAPPINGS)]
        for (text,) in result.rows:
            (statement,) = parse(str(text))
            if isinstance(statement, CreateMapping):
                mapping: Mapping = statement.mapping
                columns_by_mapping[mapping.name] = {
                    column.name: _POSTGRES.get(column.type, "text") for column in columns_of(mapping)
                }
        return columns_by_mapping


_MAPPINGS = "SELECT statement FROM information_schema.mappings"
_POSTGRES = {
    "boolean": "boolean",
    "tinyint": "smallint",
    "smallint": "smallint",
    "int": "integer",
    "bigint": "bigint",
    "float": "real",
    "double": "double precision",
    "date": "date",
    "timestamp": "timestamp with time zone",
}


class _Statement(Statement):
    def __init__(self, session: PitstopSession, sql: str, statements: list[Said]) -> None:
        self._session, self.sql, self._statements = session, sql, statements
        self.param_oids: list[int | None] = []
        self._begun: _Begun | None = None

    async def describe(self) -> list[ResultColumn] | None:
        last = self._statements[-1]
        if isinstance(last, (CheckJob, UpdateJob)):
            return described(REPORT)
        if not isinstance(last, (Query, Show, ExplainJob, DescribeJob)):
            return None
        # Only the answer tells the columns; it is kept until the rows are asked for.
        if self._begun is None:
            self._begun = _Begun(self._session, self.sql, len(self._statements))
            await self._begun.start()
        return described(self._begun.result.columns)

    def bind(self, params: list[str | None]) -> Portal:
        statement, self._begun = self._begun, None
        return _Portal(self._session, statement or _Begun(self._session, self.sql, len(self._statements)))


class _Begun:
    """Statements that are carried out once the client asks."""

    def __init__(self, session: PitstopSession, sql: str, count: int) -> None:
        self._session, self._sql, self._count = session, sql, count
        self._started = False
        self.result = Result()

    async def start(self) -> None:
        """Start the statements, and return once the last one has reported its columns."""
        if not self._started:
            self._started = True
            await self._session.in_thread(self._start)

    def _start(self) -> None:
        with _as_postgres():
            results = self._session.results(self._sql)
            for _ in range(self._count):
                self.result = next(results)
            self._results = results


class _Portal(Portal):
    def __init__(self, session: PitstopSession, statement: _Begun) -> None:
        self._session, self._begun = session, statement
        self._rows: Iterator[Any] | None = None

    async def execute(self, max_rows: int) -> tuple[list[tuple[Any, ...]], bool]:
        await self._begun.start()
        return await self._session.in_thread(self._some, max_rows)

    def _some(self, max_rows: int) -> tuple[list[tuple[Any, ...]], bool]:
        with _as_postgres():
            result = self._begun.result
            if result.endless and max_rows <= 0:
                result.close()
                raise PgError("0A000", "These rows are of a stream, which has no end: read them with pitstop sql")
            columns = described(result.columns)
            if self._rows is None:
                self._rows = result.rows
            rows = []
            for row in self._rows:
                rows.append(row_of(row, columns))
                if 0 < max_rows <= len(rows):
                    return rows, True
            return rows, False


class _as_postgres:
    """Raises our errors as errors of PostgreSQL."""

    def __enter__(self) -> None: ...

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if isinstance(error, PitstopError):
            code = next((code for kinds, code in _CODES if isinstance(error, kinds)), "XX000")
            raise PgError(code, error.message) from None


def _statements(sql: str) -> list[Said]:
    """Return the statements of a text in our language; empty if it is PostgreSQL's (SET, BEGIN, SELECT version(), ...)."""
    try:
        statements = parse(sql)
    except PitstopError:
        return []
    return statements


def _asked(sql: str, parameters: list[int | None]) -> Rewritten:
    """Return a query on PostgreSQL's catalogue, rewritten. PgError if it cannot be answered, or is no such query."""
    try:
        tree = read(sql)
        if about_catalogue(tree):
            return rewritten(tree, parameters)
        error = PgError("42P01", "The query names nothing of PostgreSQL's catalogue")
    except PgError as refusal:
        error = refusal
        if " pg_" in sql or "pg_catalog" in sql:
            raise
    with _as_postgres():
        # A text that is neither ours nor about the catalogue gets the errors of our language.
        parse(sql)
    raise error
