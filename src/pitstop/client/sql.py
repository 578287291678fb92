"""The results of SQL statements, read from the lines that the server sends."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any

from pitstop.errors import UnreachableError, from_dict
from pitstop.service.sql_results import Column, Result, Row, SqlType, Value


class Stop:
    """Lets another thread give up statements that the server is running. The server then ends them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._gave_up = False
        self._connections: list[socket.socket] = []

    def give_up(self) -> None:
        """Give up now, or as soon as the server begins to answer."""
        with self._lock:
            self._gave_up = True
            for connection in self._connections:
                _shut(connection)

    def watch(self, connection: socket.socket) -> None:
        """Note the connection on which the server answers."""
        with self._lock:
            self._connections.append(connection)
            if self._gave_up:
                _shut(connection)


def _shut(connection: socket.socket) -> None:
    # To close it would not wake a thread that reads from it.
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)


def results_in(lines: Iterator[str]) -> Iterator[Result]:
    """Yield the result of each statement. Its rows are read as they are asked for; rows that nobody asks for are skipped.

    The error of a statement is raised in its turn. UnreachableError if the lines end too soon.
    """
    lines = filter(None, lines)
    for line in lines:
        head = _message(line)
        columns = tuple(Column(each["name"], each["type"]) for each in head["columns"])
        batches = _batches(lines, columns)
        yield Result(columns, batches, bool(head.get("endless")))
        for _ in batches:  # what was not taken
            pass


def _batches(lines: Iterator[str], columns: tuple[Column, ...]) -> Iterator[list[Row]]:
    readers = [(number, _READERS[column.type]) for number, column in enumerate(columns) if column.type in _READERS]
    for line in lines:
        message = _message(line)
        if "rows" in message:
            return
        row = message["row"]
        for number, read in readers:
            row[number] = read(row[number]) if isinstance(row[number], str) else row[number]
        yield [tuple(row)]
    raise UnreachableError(
        "The server closed the connection before the statement was done: it may have been carried out. See the server's log."
    )


def _moment(text: str) -> datetime | str:
    try:
        return datetime.fromisoformat(text)
    except ValueError:  # beyond the years that Python has
        return text


_READERS: dict[str, Callable[[str], Value]] = {SqlType.TIMESTAMP: _moment, "DOUBLE": float, "FLOAT": float}
"""The type of a column -> the function that turns the text of a value into the value. NaN and infinities come as texts."""


def _message(line: str) -> dict[str, Any]:
    message: dict[str, Any] = json.loads(line)
    if "error" in message:
        raise from_dict(message["error"])
    return message
