"""Tables on standard output: as wide as the terminal there, and uncut where a program reads."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import Any

from pitstop.kit.plain_text import in_one_line

UNCUT = 100_000


def print_table(headers: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Print rows in aligned columns, numbers to the right; None is empty."""
    from rich.console import Console
    from rich.table import Table

    lines = [list(row) for row in rows]
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="")
    for number, header in enumerate(headers):
        numeric = bool(lines) and all(isinstance(row[number], int | float) or row[number] is None for row in lines)
        table.add_column(header, justify="right" if numeric else "left", overflow="fold")
    for row in lines:
        table.add_row(*map(_cell, row))
    console = Console(highlight=False, markup=False, width=None if sys.stdout.isatty() else UNCUT)
    with console.capture() as shown:
        console.print(table)
    print("\n".join(line.rstrip() for line in shown.get().rstrip("\n").splitlines()))


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:,}" if isinstance(value, int) else in_one_line(str(value))
