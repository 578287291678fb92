"""Queries on the catalogue, as statements of the protocol."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from pg_mimic import PgError, Portal, ResultColumn, Statement
from pg_mimic import types as wire

from pitstop.pgwire.catalogue.casts import REGISTERED
from pitstop.pgwire.catalogue.engine import INTEGERS, Bounds, Engine
from pitstop.pgwire.catalogue.functions import PLAIN, array_literal, functions
from pitstop.pgwire.catalogue.tables import World
from pitstop.pgwire.catalogue.writing import Rewritten
from pitstop.pgwire.settings import Settings

_OIDS = {
    "boolean": wire.BOOL,
    "oid": wire.OID,
    "xid": wire.OID,
    "bigint": wire.INT8,
    "integer": wire.INT4,
    "smallint": wire.INT2,
    "real": wire.FLOAT4,
    "double precision": wire.FLOAT8,
    "numeric": wire.FLOAT8,
    "name": wire.NAME,
    "character varying": wire.VARCHAR,
}
"""The oids of types. All other types are texts on the wire."""


@dataclass(frozen=True)
class Client:
    """The client that asks."""

    user: str
    database: str
    version: str
    pid: int


class Catalogue:
    """The catalogue of one connection."""

    def __init__(self, client: Client, settings: Settings, bounds: Bounds) -> None:
        self._client, self._settings, self._bounds = client, settings, bounds
        self._world: World | None = None
        self._engine: Engine | None = None
        self._functions: dict[str, Callable[..., Any]] = {}

    def answer(self, query: Rewritten, values: list[Any], mappings: Mapping[str, Mapping[str, str]]) -> list[tuple[Any, ...]]:
        """Return the rows of a query over the present mappings. PgError if it cannot be answered."""
        client = self._client
        world = World(mappings, client.user, client.database, self._settings.all())
        engine = self._engine
        if engine is None or self._world != world:
            self._functions = functions(world, self._settings, client.version, client.pid)
            engine = self._engine = Engine(world, self._functions, PLAIN, self._bounds)
            self._world = world
        rows = engine.answer(query.sql, [_bound(each) for each in values])
        readers = [self._reader(kind) for _, kind in query.columns]
        return [tuple(None if value is None else of(value) for of, value in zip(readers, row, strict=True)) for row in rows]

    def end(self) -> None:
        """End the query that another thread is computing. The next query gets a new engine."""
        engine, self._engine = self._engine, None
        if engine is not None:
            engine.end()

    def _reader(self, kind: str) -> Callable[[Any], Any]:
        if kind == "boolean":
            return bool
        if kind in ("real", "double precision", "numeric"):
            return _fraction
        if kind.endswith("[]"):
            return lambda value: array_literal(json.loads(value)) if str(value).startswith("[") else str(value)
        if kind in REGISTERED:
            return lambda value: self._functions["reg_out"](kind, value)
        if kind in INTEGERS:
            return _whole
        return lambda value: value if isinstance(value, str) else str(value)


class Answering(Protocol):
    """Computes the rows of a query, in a thread."""

    def __call__(self, query: Rewritten, values: list[Any]) -> Awaitable[list[tuple[Any, ...]]]: ...


class CatalogueStatement(Statement):
    """A parsed query. It is computed when the client asks for its rows."""

    def __init__(self, sql: str, query: Rewritten, parameters: list[int | None], answer: Answering) -> None:
        self.sql, self._query, self._answer = sql, query, answer
        oids = [*parameters, *[None] * (query.parameters - len(parameters))]
        self.param_oids: list[int | None] = [oid or wire.TEXT for oid in oids]

    async def describe(self) -> list[ResultColumn] | None:
        return [ResultColumn(name, _OIDS.get(kind, wire.TEXT)) for name, kind in self._query.columns]

    def bind(self, params: list[Any]) -> Portal:
        if len(params) != self._query.parameters:
            raise PgError("08P01", f"{len(params)} values are given for {self._query.parameters} parameters")
        return _CataloguePortal(self._query, params, self._answer)


class _CataloguePortal(Portal):
    def __init__(self, query: Rewritten, values: list[Any], answer: Answering) -> None:
        self._query, self._values, self._answer = query, values, answer
        self._rows: list[tuple[Any, ...]] | None = None

    async def execute(self, max_rows: int) -> tuple[list[tuple[Any, ...]], bool]:
        if self._rows is None:
            self._rows = await self._answer(self._query, self._values)
        count = max_rows if 0 < max_rows < len(self._rows) else len(self._rows)
        batch, self._rows = self._rows[:count], self._rows[count:]
        return batch, bool(self._rows)


def _bound(value: Any) -> Any:
    if isinstance(value, list):
        return json.dumps([each if each is None or isinstance(each, (int, float)) else str(each) for each in value])
    if isinstance(value, bool):
        return int(value)
    return value if value is None or isinstance(value, (int, float, str)) else str(value)


def _whole(value: Any) -> Any:
    return value if isinstance(value, int) else int(value) if isinstance(value, float) else value


def _fraction(value: Any) -> Any:
    return float(value) if isinstance(value, int) else value
