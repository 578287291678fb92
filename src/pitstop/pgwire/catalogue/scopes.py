"""Names in queries: which rows they mean, and the types of these."""

from __future__ import annotations

from dataclasses import dataclass, field

from pg_mimic import PgError
from sqlglot import exp

from pitstop.pgwire.catalogue.engine import NOT_SUPPORTED, UNKNOWN_COLUMN, UNKNOWN_TABLE, quoted

Columns = dict[str, str]
"""Types by name, in their order."""
UNKNOWN = "unknown"
"""The type of a text in quotes, of NULL, and of a parameter."""


@dataclass(frozen=True)
class Written:
    """An expression of SQLite, with its type in PostgreSQL."""

    sql: str
    type: str = UNKNOWN


@dataclass(frozen=True)
class Relation:
    """Rows that a query has in FROM."""

    alias: str
    columns: Columns
    oid: int | None = None
    """Of a table of the catalogue."""


@dataclass(frozen=True)
class Scope:
    """Where an expression stands."""

    relations: list[Relation] = field(default_factory=list)
    ctes: dict[str, Columns] = field(default_factory=dict)
    around: Scope | None = None

    def column(self, name: str, table: str) -> Written:
        """What a name means. PgError if there is nothing of that name."""
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
    """A name as PostgreSQL keeps it: in small letters, unless it stands in quotes."""
    if node is None:
        return ""
    if isinstance(node, str):
        return node.lower()
    if isinstance(node, exp.Identifier):
        text = str(node.this)
        return text if node.args.get("quoted") else text.lower()
    raise refused(node)


def refused(node: exp.Expr, why: str = "") -> PgError:
    """The catalogue knows no such thing."""
    return PgError(NOT_SUPPORTED, why or f"The catalogue does not answer {type(node).__name__} in a query: see docs/sql.md")
