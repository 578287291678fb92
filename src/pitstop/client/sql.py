"""Results of SQL statements, out of the lines that the server sends."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from pitstop.errors import UnreachableError, from_dict
from pitstop.service.sql_results import Column, Result, Row, SqlType


def results_in(lines: Iterator[str]) -> Iterator[Result]:
    """The result of each statement, with rows that are read while they are asked for; those nobody asks for are passed over.

    The error of a statement is raised in its turn; UnreachableError if the lines end too soon.
    """
    lines = filter(None, lines)
    for line in lines:
        told = _told(line)
        found = tuple(Column(each["name"], each["type"]) for each in told["columns"])
        batches = _batches(lines, found)
        yield Result(found, batches, bool(told.get("endless")))
        for _ in batches:  # what was not taken
            pass


def _batches(lines: Iterator[str], columns: tuple[Column, ...]) -> Iterator[list[Row]]:
    moments = [number for number, column in enumerate(columns) if column.type == SqlType.TIMESTAMP]
    for line in lines:
        told = _told(line)
        if "rows" in told:
            return
        row = told["row"]
        for number in moments:
            row[number] = datetime.fromisoformat(row[number]) if row[number] is not None else None
        yield [tuple(row)]
    raise UnreachableError("The server broke off before the statement was done. See its log, and try again.")


def _told(line: str) -> dict[str, Any]:
    told: dict[str, Any] = json.loads(line)
    if "error" in told:
        raise from_dict(told["error"])
    return told
