"""Rows on their way through a query: a stage of the pipeline, and the names of its columns in the query."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from sqlglot import exp

from pitstop.pipeline.key_columns import exactly
from pitstop.pipeline.stages import Stage
from pitstop.pipeline.windows import Session, Window
from pitstop.sql.dialect import spark_sql
from pitstop.sql.functions import GENERATORS, OVER_WINDOWS
from pitstop.sql.queries import is_aggregate, name_of_call, wrong
from pitstop.sql.statements import Query

WINDOW_COLUMNS = ("window_start", "window_end")


@dataclass(frozen=True)
class Named:
    """A column of rows."""

    name: str
    """Its name in the query."""
    column: str
    """Its name in the stage."""
    of: str | None = None
    """The query's name for the rows that it came with; None: they have no name."""
    aside: bool = False
    """True if it is found only together with ``of``: its name alone means another column (USING)."""


@dataclass(frozen=True)
class Relation:
    """Rows of a stage, as a query sees them."""

    stage: Stage
    columns: tuple[Named, ...]
    streaming: bool
    time: str | None = None
    """The stage's column of the time of its rows; None: they have no time."""
    window: Window | Session | None = None
    """The windows by which the rows are to be grouped; the columns of the windows are known once they are."""
    origin: str | None = None
    """The name of the mapping, view, CTE or sub-query that the rows, or the first of them, came from: not its alias."""
    moments: tuple[str, ...] = ()
    """The stage's columns of the ends, then the starts, of the windows whose results the rows are. Each may become their time."""

    def called(self, alias: exp.TableAlias | None, usual: str | None, query: Query) -> Relation:
        """Return the rows under an alias, which may rename their columns, or under the name of their mapping, view or CTE.

        UsageError, with its place, if the alias names another number of columns, or one twice.
        """
        of = (alias.name if alias is not None else None) or usual
        columns = tuple(replace(each, of=of, aside=False) for each in self.columns if not each.aside)
        names = [each.name for each in alias.columns] if alias is not None else []
        if alias is not None and names:
            if len(names) != len(columns) or len(set(names)) != len(names):
                raise wrong(alias, query, f"{of} has {len(columns)} columns: name each of them once, or none")
            columns = tuple(replace(each, name=name) for each, name in zip(columns, names, strict=True))
        return replace(self, columns=columns, origin=usual or of or self.origin)

    def timed_by(self, column: str) -> Relation:
        """Return the rows with the end or start of their windows as their time: they come in its order."""
        return replace(self, stage=self.stage.with_timestamps(exactly(column)), time=column)

    def names(self) -> list[str]:
        """Return the query's names of its columns, in their order, those of its windows at the end."""
        return [each.name for each in self.columns if not each.aside] + (list(WINDOW_COLUMNS) if self.window is not None else [])

    def find(self, column: exp.Column, query: Query) -> Named:
        """Return the column that a name in the query means; UsageError, with its place, if there is none, or several."""
        matches = [
            each
            for each in self.columns
            if each.name == column.name and (each.of == column.table if column.table else not each.aside)
        ]
        full_name = f"{column.table}.{column.name}" if column.table else column.name
        if len(matches) > 1:
            raise wrong(column, query, f"Column '{full_name}' is ambiguous")
        if not matches:
            if self.window is not None and column.name in WINDOW_COLUMNS:
                raise wrong(column, query, f"'{column.name}' is known once rows are grouped: GROUP BY {column.name}")
            raise wrong(column, query, f"Column '{full_name}' not found in any table")
        return matches[0]

    def is_window_column(self, node: exp.Expr) -> bool:
        """Return True for the start or end of the windows by which the rows are to be grouped."""
        return self.window is not None and isinstance(node, exp.Column) and node.name in WINDOW_COLUMNS


def spark_text(node: exp.Expr, relation: Relation, query: Query) -> str:
    """Return an expression as Spark takes it, over the columns of the relation's stage.

    UsageError, with its place, for unknown columns, and for an expression that is not computed from one row.
    """
    refuse_unless_of_a_row(node, query)
    return spark_sql(over_columns(node, relation, query))


def over_columns(node: exp.Expr, relation: Relation, query: Query) -> exp.Expr:
    """Return a copy of an expression with the stage's names in the place of the query's."""

    def renamed(each: exp.Expr) -> exp.Expr:
        if isinstance(each, exp.Column) and not _is_parameter(each):
            renamed_column = exp.column(relation.find(each, query).column, quoted=True)
            renamed_column.this.meta.update(each.this.meta)
            return renamed_column
        return each

    return with_fields(node, relation).transform(renamed)


def with_fields(node: exp.Expr, relation: Relation) -> exp.Expr:
    """Return a copy of an expression in which column.field, and rows.column.field, is a field of a column."""
    rows = {each.of for each in relation.columns}
    columns = {each.name for each in relation.columns}

    def as_field(each: exp.Expr) -> exp.Expr:
        parts = each.parts if isinstance(each, exp.Column) else []
        of = 1 if len(parts) > 1 and parts[0].name in rows else 0
        if len(parts) <= of + 1 or (not of and parts[0].name not in columns):
            return each
        access: exp.Expr = exp.Column(this=parts[of].copy(), table=parts[0].copy() if of else None)
        for part in parts[of + 1 :]:
            access = exp.Dot(this=access, expression=part.copy())
        return access

    return node.copy().transform(as_field)


def _is_parameter(column: exp.Column) -> bool:
    """Return True for a parameter of a lambda."""
    lambdas: Iterator[exp.Lambda] = (each for each in _above(column) if isinstance(each, exp.Lambda))
    return any(column.name in [argument.name for argument in each.expressions] for each in lambdas)


def _above(node: exp.Expr) -> Iterator[exp.Expr]:
    while node.parent is not None:
        node = node.parent
        yield node


def refuse_unless_of_a_row(node: exp.Expr, query: Query) -> None:
    """Raise UsageError, with its place, for an expression that is not computed from one row alone."""
    for each in node.walk():
        message = None
        if isinstance(each, exp.Window):
            message = "OVER has no bounded state on a stream: group by TUMBLE, HOP or SESSION"
        elif isinstance(each, (exp.Query, exp.Exists)):
            message = "A query belongs in FROM, not in an expression: join it"
        elif isinstance(each, (exp.IgnoreNulls, exp.RespectNulls)):
            message = "IGNORE NULLS and RESPECT NULLS are not possible in a job"
        elif is_aggregate(each):
            message = f"{name_of_call(each).upper()} needs a GROUP BY of the same query"
        elif name_of_call(each) in OVER_WINDOWS:
            message = f"{name_of_call(each).upper()} is not possible in a job: group by TUMBLE, HOP or SESSION"
        elif isinstance(each, exp.UDTF) or name_of_call(each) in GENERATORS:
            message = "Functions that make several rows are not possible here"
        elif isinstance(each, exp.Star) and not isinstance(each.parent, exp.Count):
            message = "* means all columns only at the beginning of the SELECT list"
        if message is not None:
            raise wrong(each, query, message)
