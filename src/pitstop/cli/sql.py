"""``pitstop sql``: statements from the command line, a file, a pipe, or a shell."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Callable, Iterable
from datetime import datetime
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from pitstop.cli.context import Call
from pitstop.cli.outputs import Form, Output
from pitstop.cli.register import register
from pitstop.errors import UsageError
from pitstop.kit import canonical
from pitstop.kit.plain_text import in_one_line
from pitstop.service.sql_results import SqlType

if TYPE_CHECKING:
    from pitstop.service.sql_results import Column, Result, Value

UNCUT = 100_000
WIDTHS = {
    "BOOLEAN": 5,
    "INT": 12,
    "BIGINT": 20,
    "FLOAT": 25,
    "DOUBLE": 25,
    "DECIMAL": 25,
    "DATE": 10,
    SqlType.TIMESTAMP.value: 32,
}
USUAL_WIDTH = 20
"""Widths of the columns of streams, by type. A time has more digits here."""
NUMBERS = ("TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL")
"""Types whose values stand at the right."""


class Shown(StrEnum):
    """The form of results."""

    TABLE = "table"
    JSON = "json"
    YAML = "yaml"
    CSV = "csv"


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    register(app, sql, "sql")


def sql(
    call: Call,
    execute: Annotated[
        str | None, typer.Option("--execute", "-e", metavar="STATEMENTS", help="Run these statements, and exit")
    ] = None,
    file: Annotated[
        Path | None, typer.Option("--file", "-f", metavar="FILE", help="Run the statements of a file, and exit")
    ] = None,
    output: Annotated[Shown | None, typer.Option("--output", "-o", help="Output format [default: table]")] = None,
) -> None:
    """Statements of SQL: from -e, from a file, from a pipe, or typed in a shell that this opens.

    SELECT, INSERT and SINK INTO; CREATE MAPPING and VIEW; CREATE, UPDATE, CHECK, ALTER, EXPLAIN, DESCRIBE and DROP JOB; CREATE OR
    REPLACE and DROP SNAPSHOT; SHOW JOBS, SNAPSHOTS, MAPPINGS and VIEWS. The first one that fails ends the rest.
    """
    if execute is not None and file is not None:
        raise UsageError("Statements come from -e or from -f, not from both at once.")
    chosen = output or _shown(call.output)
    call.output = Output(Form.YAML if chosen is Shown.YAML else Form.JSON if chosen is Shown.JSON else Form.TABLE)
    show = show_as(chosen, call)
    if execute is not None:
        run(call, execute, show)
    elif file is not None:
        run(call, _read(file), show)
    elif is_a_terminal():
        from pitstop.cli.sql_shell import Shell

        Shell(call, lambda text: run(call, text, show)).talk()
    else:
        run(call, _decoded(sys.stdin.buffer.read(), "What comes through the pipe"), show)


def _shown(output: Output) -> Shown:
    """Return the form of ``-o`` before the command."""
    if output.form in (Form.NAME, Form.JSONPATH):
        raise UsageError(f"Rows of SQL have no form {output.form}: choose {', '.join(Shown)}.")
    return Shown.TABLE if output.form is Form.WIDE else Shown(output.form.value)


def show_as(shown: Shown, call: Call) -> Callable[[Result], None]:
    """Return a function that shows a result in this form."""
    return partial(_SHOWN[shown], call)


def is_a_terminal() -> bool:
    """Return True if standard input is a terminal, at which somebody types."""
    return sys.stdin.isatty()


def run(call: Call, text: str, show: Callable[[Result], None]) -> None:
    """Carry out the statements of a text, and show what each gives."""
    results = call.service().sql(text)
    while True:
        with call.waiting("Working"):
            result = next(results, None)
        if result is None:
            return
        show(result)


def _read(file: Path) -> str:
    try:
        return _decoded(file.read_bytes(), str(file))
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}.") from None


def _decoded(data: bytes, what: str) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise UsageError(f"{what} is not UTF-8 text.") from None


def _as_table(_: Call, result: Result) -> None:
    """A table as wide as its values, at most as wide as the terminal."""
    if not result.columns:
        print("OK")
        return
    if result.endless:
        _as_lines(result)
        return
    from rich.box import ASCII2
    from rich.console import Console
    from rich.table import Table

    table, rows = Table(box=ASCII2, header_style=""), list(result.rows)
    for column in result.columns:
        justify: Literal["left", "right"] = "right" if _kind(column) in NUMBERS else "left"
        table.add_column(column.name, justify=justify, overflow="ellipsis", no_wrap=True)
    for row in rows:
        table.add_row(*map(_cell, row))
    console = Console(highlight=False, markup=False, width=None if sys.stdout.isatty() else UNCUT)
    console.print(table)
    print(f"{len(rows)} row(s) selected")


def _as_lines(result: Result) -> None:
    """Each row of a stream as it comes, in columns that are as wide as their types need."""
    widths = [max(len(column.name), WIDTHS.get(_kind(column), USUAL_WIDTH)) for column in result.columns]
    numbers = [_kind(column) in NUMBERS for column in result.columns]
    border = "+" + "+".join("-" * (width + 2) for width in widths) + "+"
    print(border, _line([column.name for column in result.columns], widths, numbers), border, sep="\n", flush=True)
    count = 0
    try:
        for row in result.rows:
            print(_line(map(_cell, row), widths, numbers), flush=True)
            count += 1
    except KeyboardInterrupt:
        pass
    finally:
        result.close()
        print(border, f"{count} row(s) selected", sep="\n", flush=True)


def _kind(column: Column) -> str:
    """The type, without what it is made of: DECIMAL of DECIMAL(10,2)."""
    return str(column.type).partition("(")[0]


def _line(cells: Iterable[str], widths: list[int], numbers: list[bool]) -> str:
    padded = []
    for cell, width, number in zip(cells, widths, numbers, strict=True):
        cut = cell if len(cell) <= width else cell[: width - 1] + "…"
        padded.append(cut.rjust(width) if number else cut.ljust(width))
    return f"| {' | '.join(padded)} |"


def _as_data(call: Call, result: Result) -> None:
    """A list of objects, one for each row; nothing for a statement without rows."""
    names = result.names
    if result.endless:
        for row in result.rows:
            print(json.dumps(dict(zip(names, map(_plain, row), strict=True)), ensure_ascii=False), flush=True)
    elif result.columns:
        call.show([dict(zip(names, map(_plain, row), strict=True)) for row in result.rows])


def _as_csv(_: Call, result: Result) -> None:
    """With a line of names first; NULL is empty, what is no plain value is JSON."""
    if result.columns:
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow([column.name for column in result.columns])
        for row in result.rows:
            writer.writerow([_in_a_cell(value) for value in row])
            if result.endless:
                sys.stdout.flush()


_SHOWN: dict[Shown, Callable[[Call, Result], None]] = {
    Shown.TABLE: _as_table,
    Shown.JSON: _as_data,
    Shown.YAML: _as_data,
    Shown.CSV: _as_csv,
}


def _cell(value: Value) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return "NULL" if value is None else in_one_line(str(_in_a_cell(value)))


def _in_a_cell(value: Any) -> Any:
    if isinstance(value, bool | list | dict):
        return json.dumps(value, ensure_ascii=False)
    return _plain(value)


def _plain(value: Value) -> Any:
    if isinstance(value, datetime):
        return value.isoformat(timespec="microseconds" if value.microsecond % 1000 else "milliseconds")
    return canonical.plain(value) if isinstance(value, float) else value
