"""The rows of a SQL statement, in the form that users of the client read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pitstop.service.api import Service
from pitstop.service.sql_results import Result
from pitstop.sql.parsing import parse


class SqlRows:
    """The rows of a statement, each a dict by column. The second of two columns ``a`` is called ``a_2``.

    Rows are fetched as they are asked for, and can be read once.
    """

    def __init__(self, result: Result, results: Iterator[Result]) -> None:
        self._result, self._results = result, results
        self._rows, self._names = result.rows, result.names

    @property
    def columns(self) -> list[tuple[str, str]]:
        """The name and type of each column; empty for a statement without rows."""
        return [(column.name, str(column.type)) for column in self._result.columns]

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return self

    def __next__(self) -> dict[str, Any]:
        row = next(self._rows)
        return dict(zip(self._names, row, strict=True))

    def close(self) -> None:
        """Stop asking for rows. The server then ends the query."""
        close = getattr(self._results, "close", None)
        if close is not None:
            close()


def rows_of_last(service: Service, statements: str) -> SqlRows:
    """Run statements, and return the rows of the last one. UsageError if there is none."""
    count = len(parse(statements))
    results = service.sql(statements)
    last = Result()
    for number, result in enumerate(results, 1):
        last = result
        if number == count:
            break
    return SqlRows(last, results)
