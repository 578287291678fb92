"""Names in queries: the rows that they mean, and the types of their columns."""

from __future__ import annotations

from dataclasses import dataclass, field

from pg_mimic import PgError
from sqlglot import exp

from pitstop.pgwire.catalogue.engine import NOT_SUPPORTED, UNKNOWN_COLUMN, UNKNOWN_TABLE, quoted

Columns = dict[str, str]
"""The types of columns by name, in order."""
UNKNOWN = "unknown"
"""The type of a text in quotes, of NULL, and of a parameter."""


@dataclass(frozen=True)
class Written:
    """An expression in SQLite's SQL, with its type in PostgreSQL."""

    sql: str
    type: str = UNKNOWN


@dataclass(frozen=True)
class Relation:
    """A source of rows in the FROM of a query."""

    alias: str
    columns: Columns
    oid: int | None = None
    """The oid of a table of the catalogue; None for other rows."""


@dataclass(frozen=True)
class Scope:
    """The scope of an expression."""

    relations: list[Relation] = field(default_factory=list)
    ctes: dict[str, Columns] = field(default_factory=dict)
    around: Scope | None = None

    def column(self, name: str, table: str) -> Written:
        """Return the meaning of a column's name. PgError if there is none."""
        scope: Scope | None = self
        while scope is not None:
            for relation in scope.relations:
                if name in relation.columns and table in ("", relation.alias):
                    return Written(f"{quoted(relation.alias)}.{quoted(name)}", relation.columns[name])
                if table in ("", relation.alias) and relation.oid is not None and name in ("tableoid", "xmin"):
                    return Written(str(relation.oid), "oid") if name == "tableoid" else Written("1", "xid")
            if table and any(relation.alias == table for relation in scope.relations):
                break
            scope = scope.around
        if table and scope is None:
            raise PgError(UNKNOWN_TABLE, f'missing FROM-clause entry for table "{table}"')
        raise PgError(UNKNOWN_COLUMN, f'column "{name}" does not exist')


def name_of(node: exp.Expr | str | None) -> str:
    """Return a name in PostgreSQL's form: in lower case, unless it is quoted."""
    if node is None:
        return ""
    if isinstance(node, str):
        return node.lower()
    if isinstance(node, exp.Identifier):
        text = str(node.this)
        return text if node.args.get("quoted") else text.lower()
    raise refused(node)


def refused(node: exp.Expr, why: str = "") -> PgError:
    """Return the error for a part of a query that the catalogue does not support."""
    return PgError(NOT_SUPPORTED, why or f"The catalogue does not answer {type(node).__name__} in a query: see docs/sql.md")
