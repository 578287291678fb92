"""Rows of state as tables, and as data."""

from __future__ import annotations

import json
from typing import Any

from pitstop.cli.context import Call
from pitstop.cli.tables import print_table
from pitstop.model.task import StateRows


def show_rows(call: Call, rows: StateRows) -> None:
    """Print the rows of a query on state: as a table, or as objects by column."""
    names = [name for name, _ in rows.columns]
    if call.structured:
        call.show([dict(zip(names, row, strict=True)) for row in rows.rows])
    else:
        print_table(names, [[_cell(value) for value in row] for row in rows.rows])


def _cell(value: Any) -> str | int | float | None:
    """Return a value as a table shows it: structs, lists and booleans as JSON."""
    if isinstance(value, bool | dict | list):
        return json.dumps(value, ensure_ascii=False)
    return value if isinstance(value, int | float | None) else str(value)
