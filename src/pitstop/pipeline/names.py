"""Finds the column of its input that a stage passes on, under the same or another name, as far as its expressions tell."""

from __future__ import annotations

import re
from typing import Any

from pitstop.pipeline.row_specs import DropSpec, ExplodeSpec, RenameSpec
from pitstop.pipeline.specs import SelectSpec, Spec, TransformSpec, WithColumnsSpec

_NAME = r"`(?:[^`]|``)+`|\w+"
_PLAIN = re.compile(rf"\s*(?P<column>{_NAME})(?:\s+(?:as\s+)?(?P<alias>{_NAME}))?\s*", re.IGNORECASE)
_SHOWN = re.compile(r"Column<'(?P<text>.*)'>", re.DOTALL)
"""Matches a Column as Spark shows it."""


def column_before(spec: Spec, column: str) -> str | None:
    """Return the name in its input of a column of a stateless stage; None if the stage computes the column, or may do so."""
    if isinstance(spec, TransformSpec):
        return None
    if isinstance(spec, RenameSpec):
        return _before_rename(spec, column)
    if isinstance(spec, DropSpec):
        return None if any(_same(name, column) for name in spec.columns) else column
    if isinstance(spec, ExplodeSpec):
        names = spec.into or (str(spec.column), "key", "value")
        return None if any(_same(name, column) for name in names) else column
    if isinstance(spec, WithColumnsSpec):
        expression = next((value for name, value in spec.columns.items() if _same(name, column)), None)
        pair = (column, column) if expression is None else plain_column(expression)
        return None if pair is None else pair[0]
    if isinstance(spec, SelectSpec):
        pairs = [pair for pair in map(plain_column, spec.columns) if pair is not None]
        named = next((before for before, name in pairs if _same(name, column)), None)
        return column if named is None and _all_others(spec) else named
    return column


def _before_rename(spec: RenameSpec, column: str) -> str | None:
    old = next((before for before, after in spec.columns.items() if _same(after, column)), None)
    if old is not None:
        return old
    return None if any(_same(before, column) for before in spec.columns) else column


def plain_column(expression: Any) -> tuple[str, str] | None:
    """Return (column, name) of an expression that passes a column on unchanged: ``a``, ``a b``, ``a AS b``; None of any other."""
    text = expression if isinstance(expression, str) else _shown(expression)
    match = _PLAIN.fullmatch(text)
    if match is None:
        return None
    column = _unquoted(match["column"])
    return column, column if match["alias"] is None else _unquoted(match["alias"])


def _all_others(spec: SelectSpec) -> bool:
    return any((column if isinstance(column, str) else _shown(column)).strip() == "*" for column in spec.columns)


def text_of(expression: Any) -> str | None:
    """Return an expression as text: a text as it is, a Column as Spark shows it; None if it is neither."""
    if isinstance(expression, str):
        return expression
    match = _SHOWN.fullmatch(str(expression))
    return None if match is None else match["text"]


def _shown(expression: Any) -> str:
    return text_of(expression) or ""


def _unquoted(name: str) -> str:
    return name[1:-1].replace("``", "`") if name.startswith("`") else name


def _same(one: str, other: str) -> bool:
    return one.casefold() == other.casefold()
