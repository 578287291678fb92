"""Refuses what a job's query cannot have, in sentences."""

from __future__ import annotations

from sqlglot import exp

from pitstop.errors import UsageError
from pitstop.sql.queries import wrong
from pitstop.sql.relations import Relation
from pitstop.sql.statements import Query

_HANDLED: dict[type[exp.Expr], frozenset[str]] = {
    exp.Select: frozenset(("with_", "hint", "distinct", "expressions", "from_", "joins", "where", "group", "having")),
    exp.Union: frozenset(("with_", "this", "expression", "distinct")),
    exp.Subquery: frozenset(("with_", "this", "alias")),
    exp.Table: frozenset(("this", "alias", "db")),
    exp.TableAlias: frozenset(("this", "columns")),
    exp.Join: frozenset(("this", "on", "using", "kind", "side")),
    exp.With: frozenset(("expressions",)),
    exp.CTE: frozenset(("this", "alias")),
    exp.Group: frozenset(("expressions",)),
    exp.Distinct: frozenset(("expressions",)),
}
"""Part of a query -> the clauses of it that become stages. All others are refused: nothing is read and ignored."""
_MESSAGES = {
    "order": "ORDER BY has no end on a stream",
    "limit": "LIMIT is not possible on a stream",
    "offset": "OFFSET is not possible on a stream",
    "windows": "WINDOW is not possible in a job: group by TUMBLE, HOP or SESSION",
    "recursive": "WITH RECURSIVE is not possible on a stream",
    "method": "A join is [INNER] JOIN or LEFT [OUTER] JOIN",
    "version": "VERSION AS OF is not possible in a job: what is read has one version",
    "all": "GROUP BY takes columns and expressions",
}


def refuse_unhandled(tree: exp.Expr, query: Query) -> None:
    """Raise UsageError, with its place, for a clause that does not become part of a stage."""
    for node in tree.walk():
        handled = _HANDLED.get(type(node))
        for clause, value in node.args.items() if handled is not None else ():
            if handled is None or clause in handled or not value:
                continue
            first = value[0] if isinstance(value, list) else value
            message = _MESSAGES.get(clause) or f"{clause.strip('_').replace('_', ' ').upper()} is not possible in a job"
            raise wrong(first if isinstance(first, exp.Expr) else node, query, message)
        if isinstance(node, exp.Select) and node.args.get("from_") is None:
            raise wrong(node, query, "A job reads FROM a mapping or a view")
    for ctes in tree.find_all(exp.With):
        names = [cte.alias for cte in ctes.expressions]
        for number, cte in enumerate(ctes.expressions):
            if cte.alias in names[:number]:
                raise wrong(cte.args["alias"], query, f"WITH names '{cte.alias}' twice")


def refuse_window(relation: Relation, query: Query) -> None:
    if relation.window is not None:
        raise UsageError(query.place.prefix + f"Rows of {name_of_window(relation)} are to be grouped: GROUP BY window_start")


def name_of_window(relation: Relation) -> str:
    """Return the windows of rows in words; "" if they have none."""
    return relation.window.describe() if relation.window is not None else ""
