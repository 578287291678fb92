"""Statements about the connection itself: SET, RESET, SHOW, BEGIN and the end of a transaction."""

from __future__ import annotations

from typing import Any

from pg_mimic import TEXT, Portal, ResultColumn, Statement

from pitstop.pgwire.settings import Settings

Parts = tuple[str, str, str | None]
"""The parts of a statement: verb, name of a setting, value."""


class About(Statement):
    """A statement about the connection."""

    def __init__(self, sql: str, statement: Parts, settings: Settings, connection: Any) -> None:
        self.sql, self._statement, self._settings, self._connection = sql, statement, settings, connection
        self.param_oids: list[int | None] = []

    async def describe(self) -> list[ResultColumn] | None:
        verb, name, _ = self._statement
        if verb != "SHOW":
            return None
        names = ("name", "setting") if name == "all" else (name,)
        return [ResultColumn(each, TEXT) for each in names]

    def bind(self, params: list[Any]) -> Portal:
        return _Portal(self)

    def carry_out(self) -> list[tuple[Any, ...]]:
        """Carry out the statement, and return its rows."""
        verb, name, value = self._statement
        match verb:
            case "BEGIN":
                self._connection.tx_status = b"T"
            case "END":
                self._connection.tx_status = b"I"
            case "SET":
                self._settings.put(name, value)
            case "RESET" if name == "all":
                self._settings.reset()
            case "RESET":
                self._settings.put(name, None)
            case _:
                return list(self._settings.all()) if name == "all" else [(self._settings.current(name),)]
        return []


class _Portal(Portal):
    def __init__(self, about: About) -> None:
        self._about = about
        self._rows: list[tuple[Any, ...]] | None = None

    async def execute(self, max_rows: int) -> tuple[list[tuple[Any, ...]], bool]:
        if self._rows is None:
            self._rows = self._about.carry_out()
        count = max_rows if max_rows > 0 else len(self._rows)
        batch, self._rows = self._rows[:count], self._rows[count:]
        return batch, bool(self._rows)
