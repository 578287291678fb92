"""Mappings and views of SQL in the relational store (sql.catalog.Catalog): each as the statement that makes it."""

from __future__ import annotations

from typing import Any

from sqlalchemy import delete, insert, select

from pitstop.errors import EngineError, PitstopError
from pitstop.sql.mappings import Mapping, Named, View
from pitstop.sql.parsing import named
from pitstop.store import schema
from pitstop.store.database import Database
from pitstop.store.records import readable

_TABLE = schema.sql_names
_KINDS: dict[type[Named], str] = {Mapping: "mapping", View: "view"}


class SqlCatalog:
    """Catalog in a table."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def all(self) -> dict[str, Named]:
        with self._database.read() as connection:
            rows = connection.execute(select(_TABLE.c.name, _TABLE.c.statement).order_by(_TABLE.c.name)).all()
        return {thing.name: thing for thing in readable(_named, rows)}

    def put(self, thing: Named, replace: bool) -> bool:
        with self._database.write() as connection:
            there = connection.execute(select(_TABLE.c.name).where(_TABLE.c.name == thing.name)).first() is not None
            if there and not replace:
                return False
            connection.execute(delete(_TABLE).where(_TABLE.c.name == thing.name))
            connection.execute(insert(_TABLE).values(name=thing.name, kind=_KINDS[type(thing)], statement=thing.statement()))
            return True

    def remove(self, what: type[Mapping | View], name: str) -> bool:
        with self._database.write() as connection:
            condition = (_TABLE.c.name == name) & (_TABLE.c.kind == _KINDS[what])
            return connection.execute(delete(_TABLE).where(condition)).rowcount > 0


def _named(row: Any) -> Named:
    try:
        return named(row.statement)
    except PitstopError as error:
        # It can be dropped still.
        raise EngineError(f"Mapping or view {row.name} cannot be read ({error.message}): drop it, or create it again.") from error
