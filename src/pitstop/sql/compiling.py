"""A query becomes stages of a pipeline, the same as the Python API makes.

A stage with state is named by a hint (naming.py), else after its sub-query, CTE or view, else after its expression; never after
its place in the query.
"""

from __future__ import annotations

from collections.abc import Mapping as AnyMapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from sqlglot import exp

from pitstop.errors import UsageError
from pitstop.pipeline.stages import Pipeline
from pitstop.sql import results
from pitstop.sql.connectors import IMAP, columns_of, columns_of_entries, connector_of
from pitstop.sql.joining import join
from pitstop.sql.mappings import VALUE, Mapping, View
from pitstop.sql.mappings import Named as NamedThing
from pitstop.sql.names import is_information, query_of
from pitstop.sql.naming import StageNames
from pitstop.sql.queries import INFORMATION, STATE, is_aggregate, name_of_call, parse_query, place_of, refuse_unknown, wrong
from pitstop.sql.refusals import refuse_unhandled, refuse_window
from pitstop.sql.relations import Named, Relation, spark_text, with_fields
from pitstop.sql.statements import Insert, Query, Writing
from pitstop.sql.targets import written
from pitstop.sql.types import quoted
from pitstop.sql.windowing import WINDOWS, in_order, in_windows


def compile_job(name: str, body: tuple[Insert, ...], things: AnyMapping[str, NamedThing]) -> Pipeline:
    """Return the pipeline of a job. ``things``: mappings and views by name. UsageError, with a place, for what no job can do."""
    compiler = _Compiler(things)
    for insert in body:
        compiler.insert(insert)
    compiler.pipeline.check()
    return compiler.pipeline


def compile_query(query: Query, things: AnyMapping[str, NamedThing]) -> tuple[Pipeline, Relation]:
    """Return the stages of a query, and the rows that it gives."""
    compiler = _Compiler(things)
    return compiler.pipeline, compiler.rows(query)


@dataclass(frozen=True)
class _Scope:
    """The surroundings of a part of a query."""

    query: Query
    named: AnyMapping[str, tuple[exp.CTE, AnyMapping[str, Any]]] = field(default_factory=dict)
    """The CTEs that the part can see, each with the CTEs that it can see itself."""
    title: str | None = None
    """The name of its result."""
    last: bool = False
    """True if its rows go straight into the sink."""


class _Compiler:
    def __init__(self, things: AnyMapping[str, NamedThing]) -> None:
        self.pipeline = Pipeline(lambda: f"line {self._line}")
        self._things, self._line = things, 1
        self._read: dict[str, Relation] = {}
        self._views: dict[str, Relation] = {}
        self._ctes: dict[int, tuple[exp.CTE, Relation]] = {}
        """The CTEs that were read, by their identity: two may look alike and mean different things."""
        self._within: list[str] = []
        """The views that are being read now, each by the one before it."""
        self._writing = Writing.INSERT

    def insert(self, insert: Insert) -> None:
        mapping = self._things.get(insert.mapping)
        if not isinstance(mapping, Mapping):
            raise UsageError(insert.place.prefix + f"Mapping does not exist: {insert.mapping}")
        connector = connector_of(mapping)
        if connector.sink is None:
            raise UsageError(insert.place.prefix + f"{insert.writing} INTO clause is not supported for {connector.name}")
        objection = connector.objection(mapping, insert.writing)
        if objection is not None:
            raise UsageError(
                insert.place.prefix + f"{insert.writing} INTO clause is not supported for {connector.name}{objection}"
            )
        name = f"into-{mapping.name}"
        if any(node.name == name for node in self.pipeline.nodes):
            message = f"The job writes into '{mapping.name}' already: put both queries together by UNION ALL"
            raise UsageError(insert.place.prefix + message)
        self._writing = insert.writing
        relation = self.rows(insert.query)
        refuse_window(relation, insert.query)
        self._line = insert.place.line
        stage = relation.stage.select(*written(insert, mapping, relation))
        if connector.renames and any(column.external is not None for column in mapping.columns):
            stage = stage.select(*(f"{quoted(column.name)} AS {quoted(column.outside)}" for column in mapping.columns))
        try:
            sink = connector.sink(mapping)
        except UsageError as error:
            raise UsageError(insert.place.prefix + error.message) from None
        stage.write_to(sink, name=name)

    def rows(self, query: Query) -> Relation:
        """Return the rows that a query gives."""
        return self._parsed(query, last=True)

    def _parsed(self, query: Query, title: str | None = None, last: bool = False) -> Relation:
        tree = parse_query(query)
        refuse_unhandled(tree, query)
        refuse_unknown(tree, query)
        return self._query(tree, _Scope(query, title=title, last=last))

    # queries

    def _query(self, node: exp.Expr, scope: _Scope) -> Relation:
        for cte in node.args["with_"].expressions if node.args.get("with_") is not None else ():
            # A CTE sees the CTEs before it alone.
            scope = replace(scope, named={**scope.named, cte.alias: (cte, scope.named)})
        if isinstance(node, exp.Subquery):
            return self._query(node.this, scope)
        if isinstance(node, exp.Union):
            return self._union(node, scope)
        if isinstance(node, exp.Select):
            return self._select(node, scope)
        message = f"{node.key.upper()} is not possible in a job: give SELECT, or SELECT ... UNION ALL SELECT ..."
        raise wrong(node, scope.query, message)

    def _union(self, node: exp.Union, scope: _Scope) -> Relation:
        if node.args.get("distinct"):
            raise wrong(node, scope.query, "UNION would remember every row: use UNION ALL, or DISTINCT")
        first = self._query(node.left, replace(scope, title=None, last=False))
        other = self._query(node.right, replace(scope, title=None, last=False))
        for each in (first, other):
            refuse_window(each, scope.query)
        if len(first.columns) != len(other.columns):
            raise wrong(node, scope.query, "Both sides of UNION ALL need equally many columns")
        names = [
            f"{quoted(theirs.column)} AS {quoted(own.column)}" for own, theirs in zip(first.columns, other.columns, strict=True)
        ]
        stage = first.stage.select(*(quoted(own.column) for own in first.columns)).merge(other.stage.select(*names))
        at = [[each.column for each in side.columns].index(side.time) if side.time else None for side in (first, other)]
        time = first.time if at[0] == at[1] else None
        return Relation(stage, tuple(replace(own, of=None) for own in first.columns), first.streaming or other.streaming, time)

    def _select(self, node: exp.Select, scope: _Scope) -> Relation:
        names = StageNames(node, scope.query, scope.title, self.pipeline)
        scope = replace(scope, title=names.title)
        self._line = place_of(node, scope.query).line
        grouped = node.args.get("group") is not None or any(_aggregates(each) for each in node.expressions)
        main = grouped or node.args.get("distinct") is not None
        joins = node.args.get("joins") or ()
        # A sub-query without a name keeps the title, unless this SELECT has a stage of its own for it.
        relation = self._from(node.args["from_"].this, scope, None if main or joins else scope.title)
        for number, each in enumerate(joins, 1):
            right = self._from(each.this, scope)
            last = not main and number == len(joins)
            relation = join(relation, right, each, scope.query, partial(names.name, last=last), node.args.get("where"))
        node = _in_terms_of(node, relation)
        if node.args.get("having") is not None and not grouped:
            raise wrong(node.args["having"], scope.query, "HAVING needs a GROUP BY, or an aggregate: use WHERE")
        if node.args.get("where") is not None:
            condition = spark_text(node.args["where"].this, relation, scope.query)
            relation = replace(relation, stage=relation.stage.filter(condition))
        distinct = node.args.get("distinct") is not None
        naming = partial(names.name, last=not distinct)
        if grouped:
            totals = scope.last and self._writing is Writing.SINK
            result = results.grouped(node, relation, scope.query, scope.last, naming, totals)
        else:
            result = results.projected(node, relation, scope.query, scope.last)
        if distinct:
            result = results.distinct(result, scope.query, names.name)
        names.finish()
        return result

    # FROM

    def _from(self, node: exp.Expr, scope: _Scope, title: str | None = None) -> Relation:
        """Return the rows of a part of FROM. ``title`` names a sub-query that has no name of its own."""
        inner = replace(scope, last=False, title=None)
        alias = node.args.get("alias")
        if isinstance(node, exp.Subquery):
            return self._query(node.this, replace(inner, title=node.alias or title)).called(alias, None, scope.query)
        if isinstance(node, exp.Table) and is_information(node):
            raise wrong(node, scope.query, f"No job can read {INFORMATION}: it can be selected")
        if isinstance(node, exp.Table) and isinstance(node.this, exp.Identifier):
            return self._of_name(node, inner).called(alias, node.name, scope.query)
        if isinstance(node, exp.Table):
            rows = self._of_call(node.this, inner)
            return replace(rows.called(alias, None, scope.query), origin=rows.origin)
        raise wrong(node, scope.query, "FROM takes mappings, views, queries and TABLE(TUMBLE(...))")

    def _of_call(self, node: exp.Expr, scope: _Scope) -> Relation:
        """Return the rows of TABLE(...), TUMBLE, HOP, SESSION or IMPOSE_ORDER, each of which may stand in another."""
        name = name_of_call(node)
        if isinstance(node, (exp.Subquery, exp.Paren)):
            return self._query(node.this, scope)
        if isinstance(node, exp.Column) and not node.table:
            return self._of_name(node, scope)
        if name == "table" and len(node.expressions) == 1:
            return self._of_call(node.expressions[0], scope)
        if name == STATE:
            raise wrong(node, scope.query, "The state of a snapshot can be selected, but no job can read it")
        if name not in WINDOWS or not node.expressions:
            message = "FROM takes mappings, views, queries, TUMBLE, HOP, SESSION and IMPOSE_ORDER"
            raise wrong(node, scope.query, message)
        rows = self._of_call(node.expressions[0], scope)
        refuse_window(rows, scope.query)
        if name == "impose_order":
            return in_order(rows, node, scope.query)
        return in_windows(rows, node, scope.query)

    def _of_name(self, node: exp.Expr, scope: _Scope) -> Relation:
        name = node.name
        if name in scope.named and not node.args.get("db"):
            cte, scope_of_cte = scope.named[name]
            if id(cte) not in self._ctes:
                rows = self._query(cte.this, replace(scope, named=scope_of_cte, title=name))
                self._ctes[id(cte)] = cte, rows.called(cte.args.get("alias"), None, scope.query)
            return self._ctes[id(cte)][1]
        thing = self._things.get(name)
        if isinstance(thing, View):
            return self._view(thing, node, scope)
        if thing is None:
            raise wrong(node, scope.query, f"Object '{name}' not found, did you forget to CREATE MAPPING?")
        if name not in self._read:
            self._read[name] = self._mapping(thing, node, scope.query)
        return self._read[name]

    def _view(self, view: View, node: exp.Expr, scope: _Scope) -> Relation:
        if view.name in self._within:
            raise wrong(node, scope.query, f"View '{view.name}' would read itself")
        if view.name not in self._views:
            self._within.append(view.name)
            try:
                self._views[view.name] = self._parsed(query_of(view), title=view.name)
            except UsageError as error:
                raise UsageError(f"View '{view.name}': {error.message}") from None
            self._within.pop()
        return self._views[view.name]

    def _mapping(self, mapping: Mapping, node: exp.Expr, query: Query) -> Relation:
        connector = connector_of(mapping)
        if connector.source is None:
            raise wrong(node, query, f"A mapping of TYPE {connector.name} cannot be read")
        try:
            source = connector.source(mapping)
        except UsageError as error:
            raise wrong(node, query, error.message) from None
        stage = self.pipeline.read_from(source, name=mapping.name)
        columns = columns_of(mapping)
        if connector is IMAP:
            stage = stage.select(*columns_of_entries(mapping))
        elif mapping.type.lower() == "kafka" and any(column.name == VALUE for column in columns):
            stage = stage.select(*(f"value AS {VALUE}" if column.name == VALUE else quoted(column.name) for column in columns))
        elif any(column.external is not None for column in columns):
            stage = stage.select(*(f"{quoted(column.outside)} AS {quoted(column.name)}" for column in columns))
        return Relation(stage, tuple(Named(column.name, column.name) for column in columns), connector.streams(mapping))


def _in_terms_of(node: exp.Select, relation: Relation) -> exp.Select:
    """Return a copy of the SELECT in which fields of columns are told from columns of rows."""
    copy = node.copy()
    for clause in ("expressions", "where", "group", "having"):
        value = copy.args.get(clause)
        if isinstance(value, list):
            copy.set(clause, [with_fields(each, relation) for each in value])
        elif value is not None:
            copy.set(clause, with_fields(value, relation))
    return copy


def _aggregates(node: exp.Expr) -> bool:
    return any(is_aggregate(each) and not isinstance(each.parent, exp.Window) for each in node.walk())
