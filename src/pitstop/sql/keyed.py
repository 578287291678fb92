"""Queries that ask a map for some of its keys, among them the queries that one entry answers."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from collections.abc import Mapping as AnyMapping
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from pitstop.sql.connectors import IMAP, connector_of, is_single
from pitstop.sql.mappings import KEY, Column, Mapping, Named
from pitstop.sql.queries import parse_query
from pitstop.sql.statements import Query

EXACT = 1 << 53
"""The largest number up to which a double can be every whole number."""


class NotPlainError(Exception):
    """A value is not plainly of its column's type: only Spark knows what becomes of it."""


@dataclass(frozen=True)
class Keyed:
    """A query for columns of an entry, as they are."""

    mapping: Mapping
    key: str
    columns: tuple[tuple[str, Column], ...]
    """The selected columns: (name in the result, column of the mapping)."""

    def row(self, value: str) -> tuple[Any, ...]:
        """Return the row of an entry, whose value is JSON; NotPlainError if Spark would have to convert a part of it."""
        entry, single = json.loads(value), is_single(self.mapping)
        if not single and not isinstance(entry, dict):
            raise NotPlainError
        values = {
            column.name: self.key if column.name == KEY else _plain(entry if single else entry.get(column.outside), column.type)
            for column in self.mapping.columns
        }
        return tuple(values[column.name] for _, column in self.columns)


def keyed(query: Query, things: AnyMapping[str, Named]) -> Keyed | None:
    """Return the parts of a query if it is ``SELECT columns FROM map WHERE __key = 'text'``, and no more; else None.

    UsageError, with its place, for what is no query.
    """
    tree = parse_query(query)
    if not isinstance(tree, exp.Select) or any(value and part not in _PARTS for part, value in tree.args.items()):
        return None
    table = _plain_table(tree)
    if table is None:
        return None
    mapping, where = things.get(table.name), tree.args.get("where")
    if not isinstance(mapping, Mapping) or not has_text_keys(mapping) or where is None or isinstance(where.this, exp.And):
        return None
    keys = wanted_keys(tree, table)
    columns = _columns(tree, table, mapping)
    if keys is None or len(keys) != 1 or columns is None or not all(map(_is_known, mapping.columns)):
        return None
    return Keyed(mapping, keys[0], columns)


def has_text_keys(mapping: Named) -> bool:
    """Return True for a map whose keys are texts to its mapping, too."""
    if not isinstance(mapping, Mapping) or connector_of(mapping) is not IMAP:
        return False
    return all(column.type == "string" for column in mapping.columns if column.name == KEY)


def wanted_keys(tree: exp.Expr, table: exp.Table) -> list[str] | None:
    """Return the keys that a query of this one map asks for by its condition; None: all keys."""
    from_ = tree.args.get("from_") if isinstance(tree, exp.Select) and not tree.args.get("joins") else None
    if from_ is None or from_.this is not table or list(tree.find_all(exp.Table)) != [table]:
        return None
    # With laterals, pivots and joins, the name may mean another column than the key.
    others = any(each.args.get(part) for each in (tree, table, from_) for part in ("laterals", "pivots", "joins"))
    if others or (table.args.get("alias") is not None and table.args["alias"].columns):
        return None
    where = tree.args.get("where")
    for part in _ands(where.this) if where is not None else ():
        of_key = _is_key(part.this, table)
        if of_key and isinstance(part, exp.EQ) and _is_text(part.expression):
            return [part.expression.name]
        if of_key and isinstance(part, exp.In) and part.expressions and all(map(_is_text, part.expressions)):
            return list(dict.fromkeys(each.name for each in part.expressions))
    return None


_PARTS = ("expressions", "from_", "where")


def _plain_table(tree: exp.Select) -> exp.Table | None:
    """Return the table in FROM, if it is a name alone, or with an alias; else None."""
    table = tree.args["from_"].this if tree.args.get("from_") is not None else None
    if not isinstance(table, exp.Table) or not isinstance(table.this, exp.Identifier):
        return None
    return None if any(value for part, value in table.args.items() if part not in ("this", "alias")) else table


def _columns(tree: exp.Select, table: exp.Table, mapping: Mapping) -> tuple[tuple[str, Column], ...] | None:
    """Return the selected columns with their names in the result; None if anything but columns is selected."""
    by_name = {column.name: column for column in mapping.columns}
    columns: list[tuple[str, Column]] = []
    for each in [*tree.expressions, tree.args["where"].this.this]:
        if isinstance(each, exp.Star) and not any(each.args.values()):
            columns += by_name.items()
            continue
        column = each.this if isinstance(each, exp.Alias) else each
        if not isinstance(column, exp.Column) or not isinstance(column.this, exp.Identifier) or column.name not in by_name:
            return None
        if column.args.get("db") is not None or column.table not in ("", table.alias_or_name):
            return None
        columns.append((each.alias_or_name, by_name[column.name]))
    return tuple(columns[:-1])  # the last one is the key of the condition


def _ands(node: exp.Expr) -> Iterator[exp.Expr]:
    if isinstance(node, exp.And):
        yield from _ands(node.this)
        yield from _ands(node.expression)
    else:
        yield node


def _is_key(node: exp.Expr | None, table: exp.Table) -> bool:
    """Return True for the column of keys, and not for a field of that name in another column."""
    if not isinstance(node, exp.Column) or not isinstance(node.this, exp.Identifier) or node.name != KEY:
        return False
    return node.args.get("db") is None and node.table in ("", table.alias_or_name)


def _is_text(node: exp.Expr | None) -> bool:
    return isinstance(node, exp.Literal) and bool(node.is_string)


def _is_known(column: Column) -> bool:
    return column.name == KEY or column.type in _READ


def _plain(value: Any, type_: str) -> Any:
    """Return a value of JSON as one of that type."""
    return None if value is None else _READ[type_](value)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise NotPlainError
    return value


def _truth(value: Any) -> bool:
    if not isinstance(value, bool):
        raise NotPlainError
    return value


def _whole(bits: int) -> Callable[[Any], int]:
    def read(value: Any) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or not -(1 << (bits - 1)) <= value < 1 << (bits - 1):
            raise NotPlainError
        return value

    return read


def _double(value: Any) -> float:
    whole = isinstance(value, int) and not isinstance(value, bool) and abs(value) <= EXACT
    if not whole and not (isinstance(value, float) and math.isfinite(value)):
        raise NotPlainError
    return float(value)


_READ: dict[str, Callable[[Any], Any]] = {
    "string": _text,
    "boolean": _truth,
    "tinyint": _whole(8),
    "smallint": _whole(16),
    "int": _whole(32),
    "bigint": _whole(64),
    "double": _double,
}
"""Type -> the function that reads a JSON value of that type, and refuses one that needs a conversion."""
