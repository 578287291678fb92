"""The results of a SELECT: a row for each row, a row for each group of rows, or each row once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from sqlglot import exp

from pitstop.errors import UsageError
from pitstop.pipeline import aggregates
from pitstop.pipeline.key_columns import exactly
from pitstop.pipeline.stages import Stage
from pitstop.pipeline.windows import Session
from pitstop.sql.aggregation import Aggregation, slug
from pitstop.sql.dialect import spark_sql
from pitstop.sql.projecting import Projection, item, result_name, unstarred
from pitstop.sql.queries import wrong
from pitstop.sql.refusals import name_of_window, refuse_window
from pitstop.sql.relations import WINDOW_COLUMNS, Named, Relation, spark_text
from pitstop.sql.statements import Query
from pitstop.sql.types import quoted


def projected(node: exp.Select, relation: Relation, query: Query, last: bool) -> Relation:
    """Return a row for each row. ``last``: they go straight into the sink. UsageError, with its place, for a wrong selection."""
    result, time, with_window = Projection(node, query, last), None, False
    moments: dict[str, str] = {}
    for each in unstarred(node.expressions, relation, query):
        if isinstance(each, Named):
            text, name = quoted(each.column), each.name
        elif relation.is_window_column(each.unalias()) and each.alias_or_name in WINDOW_COLUMNS:
            with_window = True
            continue
        else:
            text = spark_text(each.unalias(), relation, query)
            name = result_name(each, text)
        name_in_result = result.add(text, name)
        if relation.time is not None and text == quoted(relation.time):
            time = name_in_result
        moments |= {moment: name_in_result for moment in relation.moments if text == quoted(moment)}
    window = relation.window if with_window or any(isinstance(each, exp.Star) for each in node.expressions) else None
    if window is not None and time is None and relation.time is not None:
        # Not asked for, and needed all the same.
        time = relation.time
        result.chosen.append(quoted(time))
    rows = Relation(relation.stage.select(*result.chosen), tuple(result.columns), relation.streaming, time, window)
    return replace(rows, moments=tuple(moments[each] for each in relation.moments if each in moments))


def grouped(node: exp.Select, relation: Relation, query: Query, last: bool, name: Callable[[str], str], totals: bool) -> Relation:
    """Return a row for each group; ``name`` gives the stage its name, from what it computes.

    ``totals``: groups that have no end may be told anew with each row. UsageError, with its place, for those that may not.
    """
    group = node.args.get("group")
    groups = [item(each, node, relation) for each in group.expressions] if group is not None else []
    by_window = any(relation.is_window_column(each) for each in groups)
    if relation.window is not None and not by_window:
        message = f"GROUP BY needs window_start or window_end of {name_of_window(relation)}"
        raise wrong(group or node, query, message)
    stage = relation.stage
    keys: dict[str, exp.Expr] = {}
    for each in groups:
        if relation.is_window_column(each):
            continue
        if isinstance(each, exp.Column):
            keys[relation.find(each, query).column] = each
            continue
        text = spark_text(each, relation, query)
        key = slug(text, tuple(column.column for column in relation.columns))
        stage = stage.with_columns(**{key: text})
        keys[key] = each
    # Totals stand beside the columns of their rows.
    beside = tuple(each.column for each in relation.columns) if relation.window is None else ()
    gathered = Aggregation(relation, query, keys, beside)
    result = Projection(node, query, last)
    moments: dict[str, str] = {}
    for each in node.expressions:
        if isinstance(each, exp.Star):
            raise wrong(node, query, "SELECT * has no meaning with GROUP BY: name the columns")
        text = spark_sql(gathered.over_results(each.unalias()))
        name_in_result = result.add(text, result_name(each, text))
        if relation.is_window_column(each.unalias()):
            moments[each.unalias().name] = name_in_result
    having = node.args.get("having")
    condition = spark_sql(gathered.over_results(having.this)) if having is not None else None
    result_stage = _aggregate(stage, node, gathered, name, totals)
    if condition is not None:
        result_stage = result_stage.filter(condition)
    times = tuple(moments[each] for each in reversed(WINDOW_COLUMNS) if each in moments)
    return Relation(result_stage.select(*result.chosen), tuple(result.columns), relation.streaming, moments=times)


def _aggregate(stage: Stage, node: exp.Select, gathered: Aggregation, name: Callable[[str], str], totals: bool) -> Stage:
    relation = gathered.relation
    computed = gathered.by_column or {"count_all": aggregates.count()}
    keys = tuple(gathered.keys)
    by = "-by-" + "-".join(keys) if keys else ""
    if relation.window is not None:
        if isinstance(relation.window, Session) and not keys:
            message = "GROUP BY needs a column beside those of SESSION; for one group of all rows, group by a constant column"
            raise wrong(node.args.get("group") or node, gathered.query, message)
        return stage.group_by(*map(exactly, keys)).window(relation.window).aggregate(name(f"windows{by}"), **computed)
    if not totals or node.args.get("having") is not None:
        others = "group by TUMBLE, HOP or SESSION, or SINK INTO a map, topic or table with a key"
        message = f"GROUP BY has no end on a stream without a window: {others}"
        raise wrong(node.args.get("group") or node, gathered.query, message)
    return stage.group_by(*map(exactly, keys)).rolling_aggregate(name(f"totals{by}"), **computed)


def distinct(relation: Relation, query: Query, name: Callable[[str], str]) -> Relation:
    """Return each row once. UsageError, with its place, if that would have to remember them for ever."""
    refuse_window(relation, query)
    columns = [each.column for each in relation.columns]
    if relation.streaming and relation.time is None and relation.moments:
        relation = relation.timed_by(relation.moments[0])
    if relation.streaming and relation.time not in columns:
        message = "DISTINCT would remember every row: name the time of events among its columns, and IMPOSE_ORDER before"
        raise UsageError(query.place.prefix + message)
    title = name("distinct-" + "-".join(columns))
    return replace(relation, stage=relation.stage.group_by(*map(exactly, columns)).distinct(title))
