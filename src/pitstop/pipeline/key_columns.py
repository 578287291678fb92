"""Key columns as users give them: a name, ``expression AS name``, or a Spark Column. A stage knows them by name."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from pitstop.errors import UsageError
from pitstop.pipeline.names import plain_column, text_of

_NAME = r"`(?:[^`]|``)+`|\w+"
_QUOTED = re.compile(r"`(?:[^`]|``)+`")
_NAMED = re.compile(rf"(?P<expression>.+?)\s+AS\s+(?P<name>{_NAME})\s*", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True)
class KeyColumns:
    """The columns by which rows are grouped, joined or timed."""

    names: tuple[str, ...]
    computed: dict[str, Any]
    """Name -> expression, of those that a step before the stage has to compute."""


def key_columns(columns: Any) -> KeyColumns:
    """Return the names of one column or several, and the expressions among them. UsageError if an expression has no name."""
    pairs = [_named(column) for column in several(columns)]
    return KeyColumns(tuple(name for name, _ in pairs), {name: value for name, value in pairs if value is not None})


def several(columns: Any) -> tuple[Any, ...]:
    """Return one column, or a list or tuple of columns, as a tuple."""
    return tuple(columns) if isinstance(columns, (list, tuple)) else (columns,)


def exactly(name: str) -> str:
    """Return the name of a column as a key that is taken for nothing else."""
    return "`" + name.replace("`", "``") + "`"


def _named(column: Any) -> tuple[str, Any]:
    """Return the name of a key, and the expression that computes it; None if the column is there."""
    if isinstance(column, str):
        if _QUOTED.fullmatch(column):
            return _unquoted(column), None
        match = _NAMED.fullmatch(column)
        if match is None:
            return column, None
        name = _unquoted(match["name"])
        return name, None if match["expression"].strip() in (name, exactly(name)) else match["expression"].strip()
    text = text_of(column)
    if text is None:
        raise UsageError(f"{column!r} is no column: give a name, SQL such as 'upper(vin) AS vin', or a Spark Column.")
    plain = plain_column(column)
    if plain is not None and plain[0] == plain[1]:
        return plain[0], None
    match = _NAMED.fullmatch(text)
    if match is None:
        raise UsageError(f"The column {text!r} has no name by which rows could be grouped: give it one with .alias(...).")
    return _unquoted(match["name"]), column


def _unquoted(name: str) -> str:
    return name[1:-1].replace("``", "`") if name.startswith("`") else name
