"""GROUP BY: the aggregates of the pipeline for those of a query, and the names of their columns.

Saved state knows an aggregate by its name. So the name comes from the expression, never from an alias or a place in the query.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass, field

from sqlglot import exp

from pitstop.errors import UsageError
from pitstop.pipeline import aggregates, collecting, statistics
from pitstop.pipeline.aggregates import Aggregate
from pitstop.sql.dialect import spark_sql
from pitstop.sql.queries import is_aggregate, name_of_call, place_of, wrong
from pitstop.sql.relations import Relation, over_columns, refuse_unless_of_a_row, spark_text
from pitstop.sql.statements import Query

_PLAIN: dict[type[exp.Expr], Callable[[str], Aggregate]] = {
    exp.Sum: aggregates.sum,
    exp.Avg: aggregates.avg,
    exp.Min: aggregates.min,
    exp.Max: aggregates.max,
    exp.First: aggregates.first,
    exp.FirstValue: aggregates.first,
    exp.AnyValue: aggregates.first,
    exp.Last: aggregates.last,
    exp.LastValue: aggregates.last,
    exp.ArrayAgg: collecting.collect_list,
    exp.ArrayUniqueAgg: collecting.collect_set,
    exp.ApproxDistinct: collecting.approx_count_distinct,
    exp.Variance: statistics.variance,
    exp.Stddev: statistics.stddev,
    exp.StddevSamp: statistics.stddev,
}
_OF_TWO: dict[type[exp.Expr], Callable[[str, str], Aggregate]] = {exp.ArgMin: aggregates.min_by, exp.ArgMax: aggregates.max_by}
_OF_ONE_ROW = (exp.First, exp.FirstValue, exp.AnyValue, exp.Last, exp.LastValue)
"""Aggregates that would change if a null stood in the place of each row that is filtered out."""
MOST_LETTERS = 60
_READ = ("this", "expression", "expressions", "big_int", "nulls_excluded")
"""The parts of an aggregate's call that are read. A call with other parts would be another aggregate."""
_SIMPLE = re.compile(r"[A-Z_]+\(`?[A-Za-z]\w*`?\)|`?[A-Za-z]\w*`?")
"""Matches an aggregate of a column, or a column."""


@dataclass
class Aggregation:
    """The request of a SELECT with GROUP BY, gathered while its expressions are read."""

    relation: Relation
    """The rows that are grouped."""
    query: Query
    keys: dict[str, exp.Expr]
    """Column of the result -> the expression by which the rows are grouped."""
    beside: tuple[str, ...] = ()
    """Columns that stand beside the results."""
    by_column: dict[str, Aggregate] = field(default_factory=dict)
    """Column of the result -> the aggregate that computes it."""

    def over_results(self, node: exp.Expr) -> exp.Expr:
        """Return an expression over the results, with columns for its keys and aggregates. UsageError for any other column."""

        def replaced(each: exp.Expr) -> exp.Expr:
            if isinstance(each, exp.Subquery):
                raise UsageError(place_of(each, self.query).prefix + "A query belongs in FROM, not in an expression: join it")
            key = next((name for name, key_expression in self.keys.items() if _same(each, key_expression, self)), None)
            if key is not None:
                return exp.column(key, quoted=True)
            if self.relation.is_window_column(each):
                return exp.column(each.name, quoted=True)
            if isinstance(each, exp.Filter):
                return self._column(each.this, each.expression.this)
            if is_aggregate(each):
                return self._column(each, None)
            if isinstance(each, exp.Column):
                self.relation.find(each, self.query)
                message = f"Expression '{each.name}' is not being grouped: name it in GROUP BY, or in an aggregate"
                raise wrong(each, self.query, message)
            return each

        result = _transformed(node.copy(), replaced)
        refuse_unless_of_a_row(result, self.query)
        return result

    def _column(self, call: exp.Expr, condition: exp.Expr | None) -> exp.Column:
        name, aggregate = self._aggregate(call, condition)
        self.by_column.setdefault(name, aggregate)
        return exp.column(name, quoted=True)

    def _aggregate(self, call: exp.Expr, condition: exp.Expr | None) -> tuple[str, Aggregate]:
        aggregate: Aggregate | None = None
        value = call.this
        distinct = isinstance(value, exp.Distinct)
        if isinstance(call, exp.CountIf):
            call, condition, value = exp.Count(this=exp.Star()), _both(value, condition), exp.Star()
        if isinstance(call, exp.Count):
            if distinct and len(value.expressions) == 1:
                aggregate = collecting.count_distinct(self._of(value.expressions[0], condition))
            elif isinstance(value, (exp.Star, exp.Literal)) and condition is None:
                aggregate = aggregates.count()
            elif isinstance(value, (exp.Star, exp.Literal)):
                aggregate = aggregates.count(self._of(exp.Literal.number(1), condition))
            elif not distinct and not call.expressions:
                aggregate = aggregates.count(self._of(value, condition))
        elif type(call) in _OF_TWO:
            parts = (self._of(value, condition), self._of(call.expression, condition))
            aggregate = _OF_TWO[type(call)](*parts)
        elif type(call) in _PLAIN and distinct and isinstance(call, (exp.Min, exp.Max)):
            aggregate = _PLAIN[type(call)](self._of(value.expressions[0], condition))
        elif type(call) in _PLAIN and not distinct:
            aggregate = _PLAIN[type(call)](self._of(value, condition))
        if aggregate is None or any(value for key, value in call.args.items() if key not in _READ):
            raise wrong(call, self.query, f"{spark_sql(call)} is not possible in a job")
        if condition is not None and type(call) in _OF_ONE_ROW:
            raise wrong(
                call, self.query, f"{name_of_call(call).upper()} has no FILTER in a job: filter rows by WHERE, or use MIN_BY"
            )
        return self._name(call, condition), aggregate

    def _of(self, value: exp.Expr, condition: exp.Expr | None) -> str:
        if isinstance(value, exp.Order):
            raise wrong(value, self.query, "An aggregate of a job has no ORDER BY: its rows come in any order")
        if condition is None:
            return spark_text(value, self.relation, self.query)
        return spark_text(exp.Case(ifs=[exp.If(this=condition.copy(), true=value.copy())]), self.relation, self.query)

    def _name(self, call: exp.Expr, condition: exp.Expr | None) -> str:
        text = spark_sql(over_columns(call, self.relation, self.query))
        if condition is not None:
            text += " where " + spark_sql(over_columns(condition, self.relation, self.query))
        return slug(text, (*self.keys, *self.beside))


def slug(text: str, other_names: tuple[str, ...] = ()) -> str:
    """Return a column name for an expression, always the same for one expression, and none of ``other_names``."""
    other_names = tuple(each.lower() for each in other_names)
    if text.upper() == "COUNT(*)" and "count_all" not in other_names:
        return "count_all"
    plain = re.sub(r"\W+", "_", text.lower()).strip("_")
    if _SIMPLE.fullmatch(text) and plain not in other_names:
        return plain
    return f"{plain[:MOST_LETTERS].rstrip('_') or 'value'}_{hashlib.sha256(text.encode()).hexdigest()[:6]}"


def _same(each: exp.Expr, other: exp.Expr, aggregation: Aggregation) -> bool:
    if each == other:
        return True
    if not isinstance(each, exp.Column) or not isinstance(other, exp.Column):
        return False
    if aggregation.relation.is_window_column(each) or aggregation.relation.is_window_column(other):
        return False
    return aggregation.relation.find(each, aggregation.query) == aggregation.relation.find(other, aggregation.query)


def _both(first: exp.Expr, second: exp.Expr | None) -> exp.Expr:
    return first if second is None else exp.and_(first.copy(), second.copy())


def _transformed(node: exp.Expr, replaced: Callable[[exp.Expr], exp.Expr]) -> exp.Expr:
    """Apply ``replaced`` to the parts of a tree, the outermost first, without looking into what it has replaced."""
    replacement = replaced(node)
    if replacement is not node:
        return replacement
    for key, value in list(node.args.items()):
        if isinstance(value, exp.Expr):
            node.set(key, _transformed(value, replaced))
        elif isinstance(value, list):
            node.set(key, [_transformed(each, replaced) if isinstance(each, exp.Expr) else each for each in value])
    return node
