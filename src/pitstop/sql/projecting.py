"""The list of a SELECT: the columns of a query's result, and their names."""

from __future__ import annotations

from sqlglot import exp

from pitstop.sql.aggregation import slug
from pitstop.sql.queries import wrong
from pitstop.sql.relations import Named, Relation
from pitstop.sql.statements import Query
from pitstop.sql.types import quoted


class Projection:
    """The columns of a result, gathered one by one. ``unnamed``: nobody asks for them by name, so that two may share one."""

    def __init__(self, node: exp.Expr, query: Query, unnamed: bool) -> None:
        self._node, self._query, self._unnamed = node, query, unnamed
        self.columns: list[Named] = []
        self.chosen: list[str] = []
        """Expressions of Spark, with their names."""

    def add(self, text: str, name: str) -> str:
        """Add an expression of Spark as a column and return its name. UsageError, with its place, for a name that is taken."""
        names = {each.name.lower() for each in self.columns}  # names that differ in case alone are the same to Spark
        if name.lower() in names and not self._unnamed:
            raise wrong(self._node, self._query, f"Two columns are called '{name}': give one another name by AS")
        free_name, number = name, 1
        while free_name.lower() in names:
            number += 1
            free_name = f"{name}_{number}"
        self.chosen.append(f"{text} AS {quoted(free_name)}")
        self.columns.append(Named(free_name, free_name))
        return free_name


def item(node: exp.Expr, select: exp.Select, relation: Relation) -> exp.Expr:
    """Return the expression that GROUP BY 2, or GROUP BY an alias that is no column, means."""
    if isinstance(node, exp.Column) and not node.table and node.name not in relation.names():
        for each in select.expressions:
            if isinstance(each, exp.Alias) and each.alias == node.name:
                return each.unalias()
    if isinstance(node, exp.Literal) and node.is_int and 0 < int(node.name) <= len(select.expressions):
        selected: exp.Expr = select.expressions[int(node.name) - 1]
        return selected.unalias()
    return node


def unstarred(expressions: list[exp.Expr], relation: Relation, query: Query) -> list[exp.Expr | Named]:
    """Return the list of a SELECT, with the columns that * stands for."""
    items: list[exp.Expr | Named] = []
    for each in expressions:
        of = each.table if isinstance(each, exp.Column) and isinstance(each.this, exp.Star) else None
        if not isinstance(each, exp.Star) and of is None:
            items.append(each)
            continue
        if any(value for key, value in (each.this if of else each).args.items()):
            raise wrong(each, query, "* takes no EXCEPT and no REPLACE")
        some = [column for column in relation.columns if (column.of == of if of is not None else not column.aside)]
        if not some:
            raise wrong(each, query, f"Table '{of}' not found")
        items += some
    return items


def result_name(node: exp.Expr, text: str) -> str:
    """Return the name of a column of the result: from AS, from the selected column, or from the expression."""
    of_column = node.name if isinstance(node, (exp.Column, exp.Dot)) else ""
    return str(node.alias or of_column or slug(text))
