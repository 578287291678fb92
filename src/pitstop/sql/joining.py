"""JOIN: of a stream with a table that does not change, and of two streams whose rows are not far apart."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from sqlglot import exp

from pitstop.errors import UsageError
from pitstop.pipeline.key_columns import exactly
from pitstop.sql.aggregation import slug
from pitstop.sql.queries import duration_ms, place_of, wrong
from pitstop.sql.relations import Named, Relation, spark_text
from pitstop.sql.statements import Query
from pitstop.sql.types import quoted


@dataclass(frozen=True)
class _Bound:
    """A bound on ``left time - right time``: at least, or at most, ``ms``; if strict, more or less than that."""

    at_least: bool
    ms: int
    strict: bool = False


def join(
    left_rows: Relation,
    right_rows: Relation,
    node: exp.Join,
    query: Query,
    name: Callable[[str], str],
    where: exp.Expr | None = None,
) -> Relation:
    """Return the joined rows; ``name`` gives the stage of a join of streams its name, from what it computes.

    ``where``: a condition on the result, in which a bound of the times may stand, too. It is not applied here.

    UsageError, with its place, for a join that is not inner, left or full, has no equal columns, or whose state has no bound.
    """
    how = _how(node, query)
    if right_rows.streaming and not left_rows.streaming:
        raise wrong(node.this, query, "A stream is joined with a table, and not a table with a stream")
    if how == "full" and not (left_rows.streaming and right_rows.streaming):
        raise wrong(node.this, query, "A FULL JOIN is one of two streams: with a table, JOIN and LEFT JOIN are possible")
    if right_rows.streaming and left_rows.streaming:
        left_rows, right_rows = _in_time(left_rows, node, where, query), _in_time(right_rows, node, where, query)
    equal, rest = _equal_parts(node, left_rows, right_rows, query)
    if not equal:
        raise wrong(node.this, query, "A join needs equal columns: ON left.column = right.column")
    # In an order, and under names, that do not hang on how the condition is written: saved state is known by them.
    equal.sort(key=lambda pair: spark_text(pair[0], left_rows, query))
    keyed_left, keys = _with_keys(left_rows, equal, query, apart=how == "full")
    keyed_right, columns = _renamed(right_rows, keyed_left, equal, keys, query)
    if node.args.get("using"):
        same = {each.name for each in node.args["using"]}
        columns = tuple(replace(each, aside=each.name in same) for each in columns)
    both = replace(keyed_left, columns=(*keyed_left.columns, *columns))
    if not right_rows.streaming or not left_rows.streaming:
        stage = keyed_left.stage.hash_join(keyed_right.stage, on=tuple(map(exactly, keys)), how=how)
    else:
        if right_rows.window is not None:
            raise UsageError(place_of(node.this, query).prefix + "Group the windows in a query of their own, and join its result")
        also = list(_ands(where.this)) if where is not None and how == "inner" else []
        rest, within, lopsided = _within(rest, also, left_rows, right_rows, query)
        if within is None:
            example = "ON ... AND a.time BETWEEN b.time - INTERVAL '1' MINUTE AND b.time + ..."
            raise wrong(node.this, query, f"A join of two streams needs a bound: {example}")
        if lopsided and how != "inner":
            raise UsageError(
                place_of(node.this, query).prefix + f"A {how} join of two streams needs the same bound before and after"
            )
        title = name("join-" + "-".join(each.origin or "rows" for each in (left_rows, right_rows)))
        stage = keyed_left.stage.join(title, keyed_right.stage, on=tuple(map(exactly, keys)), within=within / 1000, how=how)
    rows = replace(both, stage=stage)
    if how == "full":  # the time of either side may be missing
        rows = replace(rows, time=None, moments=())
    for condition in rest:
        if how != "inner":
            raise wrong(condition, query, f"A {how} join compares columns for equality only")
        rows = replace(rows, stage=rows.stage.filter(spark_text(condition, rows, query)))
    return rows


def _how(node: exp.Join, query: Query) -> str:
    kind, side = str(node.kind or "").upper(), str(node.side or "").upper()
    if node.method or kind not in ("", "INNER", "OUTER") or side not in ("", "LEFT", "FULL"):
        raise wrong(node, query, "A join is [INNER] JOIN, LEFT [OUTER] JOIN or FULL [OUTER] JOIN")
    return side.lower() or "inner"


def _equal_parts(
    node: exp.Join, left_rows: Relation, right_rows: Relation, query: Query
) -> tuple[list[tuple[exp.Expr, exp.Expr]], list[exp.Expr]]:
    """Return (pairs of equal expressions of both sides, other conditions)."""
    using = [exp.column(each.name) for each in node.args.get("using") or ()]
    if using:
        return [(each, each.copy()) for each in using], []
    equal, rest = [], []
    for part in _ands(node.args.get("on")):
        pair = (part.this, part.expression) if isinstance(part, exp.EQ) else None
        if pair is not None and _is_of(pair[0], left_rows, query) and _is_of(pair[1], right_rows, query):
            equal.append(pair)
        elif pair is not None and _is_of(pair[1], left_rows, query) and _is_of(pair[0], right_rows, query):
            equal.append((pair[1], pair[0]))
        else:
            rest.append(part)
    return equal, rest


def _ands(node: exp.Expr | None) -> Iterator[exp.Expr]:
    if node is None:
        return
    if isinstance(node, exp.Paren):
        yield from _ands(node.this)
    elif isinstance(node, exp.And):
        yield from _ands(node.this)
        yield from _ands(node.expression)
    else:
        yield node


def _is_of(node: exp.Expr, relation: Relation, query: Query) -> bool:
    """Return True if the expression has columns, and all of them are the relation's."""
    columns = list(node.find_all(exp.Column))
    return bool(columns) and all(_has(relation, column, query) for column in columns)


def _has(relation: Relation, column: exp.Column, query: Query) -> bool:
    try:
        relation.find(column, query)
    except UsageError:
        return False
    return True


def _with_keys(
    left_rows: Relation, equal: list[tuple[exp.Expr, exp.Expr]], query: Query, apart: bool
) -> tuple[Relation, list[str]]:
    """Return the left side with a column for each of its expressions, and the names of these columns.

    ``apart``: no column of its own is a key. A key of a full join is that of either side, and a column is null without its row.
    """
    stage, keys = left_rows.stage, []
    names = {each.column for each in left_rows.columns}
    for own, _ in equal:
        if isinstance(own, exp.Column) and not apart:
            keys.append(left_rows.find(own, query).column)
            continue
        text = spark_text(own, left_rows, query)
        key = _free(slug(text, tuple(names)), names)
        stage = stage.with_columns(**{key: text})
        names.add(key)
        keys.append(key)
    return replace(left_rows, stage=stage), keys


def _renamed(
    right_rows: Relation, left_rows: Relation, equal: list[tuple[exp.Expr, exp.Expr]], keys: list[str], query: Query
) -> tuple[Relation, tuple[Named, ...]]:
    """Return the right side with the keys under the left's names, and its own columns under names that the left has not."""
    names = {each.column for each in left_rows.columns} | set(keys)
    parts = [f"{spark_text(other, right_rows, query)} AS {quoted(key)}" for (_, other), key in zip(equal, keys, strict=True)]
    columns = []
    for each in right_rows.columns:
        name = each.column
        if name.lower() in (other.lower() for other in names):
            name = _free(f"{right_rows.origin or 'right'}_{each.column}", names)
        names.add(name)
        parts.append(f"{quoted(each.column)} AS {quoted(name)}")
        columns.append(replace(each, column=name))
    return replace(right_rows, stage=right_rows.stage.select(*parts)), tuple(columns)


def _free(name: str, names: set[str]) -> str:
    number, candidate = 1, name
    while candidate.lower() in (each.lower() for each in names):
        number += 1
        candidate = f"{name}_{number}"
    return candidate


def _in_time(relation: Relation, node: exp.Join, where: exp.Expr | None, query: Query) -> Relation:
    """Return results of windows with the start or end that a condition names as their time; other rows as they are."""
    if relation.time is not None or not relation.moments:
        return relation
    parts = [*_ands(node.args.get("on")), *_ands(where.this if where is not None else None)]
    for part in parts:
        for column in part.find_all(exp.Column):
            if not isinstance(part, exp.EQ) and _has(relation, column, query):
                name = relation.find(column, query).column
                if name in relation.moments:
                    return relation.timed_by(name)
    return relation


def _within(
    conditions: list[exp.Expr], also: list[exp.Expr], left_rows: Relation, right_rows: Relation, query: Query
) -> tuple[list[exp.Expr], int | None, bool]:
    """Return (other conditions, the most that times may be apart in milliseconds, True if a filter has to check the exact bound).

    ``also``: conditions that hold as well, and are applied later."""
    lower = upper = None
    strict = False
    rest: list[exp.Expr] = []
    limits: list[exp.Expr] = []
    for condition in (*conditions, *also):
        is_own = any(condition is each for each in conditions)
        bounds = _bounds(condition, left_rows, right_rows, query)
        if bounds is None:
            rest += [condition] if is_own else []
            continue
        limits += [condition] if is_own else []
        strict = strict or any(bound.strict for bound in bounds)
        for bound in bounds:
            if bound.at_least:
                lower = bound.ms if lower is None else max(lower, bound.ms)
            else:
                upper = bound.ms if upper is None else min(upper, bound.ms)
    if lower is None or upper is None:
        return rest, None, False
    if lower > upper:
        raise UsageError(
            place_of((limits or also)[0], query).prefix + "No two times are so far apart: the first bound lies behind the second"
        )
    lopsided = -lower != upper or strict
    return rest + (limits if lopsided else []), max(abs(lower), abs(upper)), lopsided


def _bounds(condition: exp.Expr, left_rows: Relation, right_rows: Relation, query: Query) -> list[_Bound] | None:
    """Return the bounds that a condition on the times of both sides sets; None if it is no such condition."""
    if isinstance(condition, exp.Between) and not condition.args.get("symmetric"):
        low = exp.GTE(this=condition.this, expression=condition.args["low"])
        high = exp.LTE(this=condition.this, expression=condition.args["high"])
        parts = [_bounds(each, left_rows, right_rows, query) for each in (low, high)]
        return None if None in parts else [bound for part in parts if part is not None for bound in part]
    if not isinstance(condition, (exp.GTE, exp.LTE, exp.GT, exp.LT)):
        return None
    first, second = _moment(condition.this, query), _moment(condition.expression, query)
    if first is None or second is None:
        return None
    (one, more), (other, plus) = first, second
    at_least, strict = isinstance(condition, (exp.GTE, exp.GT)), isinstance(condition, (exp.GT, exp.LT))
    if _is_time(one, left_rows, query) and _is_time(other, right_rows, query):
        return [_Bound(at_least, plus - more, strict)]
    if _is_time(one, right_rows, query) and _is_time(other, left_rows, query):
        return [_Bound(not at_least, more - plus, strict)]
    return None


def _moment(node: exp.Expr, query: Query) -> tuple[exp.Column, int] | None:
    """Return (a column, the milliseconds that are added to it)."""
    if isinstance(node, exp.Paren):
        return _moment(node.this, query)
    if isinstance(node, exp.Column):
        return node, 0
    if isinstance(node, (exp.Add, exp.Sub)) and isinstance(node.expression, exp.Interval):
        inner = _moment(node.this, query)
        ms = duration_ms(node.expression, query)
        return None if inner is None else (inner[0], inner[1] + (ms if isinstance(node, exp.Add) else -ms))
    return None


def _is_time(column: exp.Column, relation: Relation, query: Query) -> bool:
    return _has(relation, column, query) and relation.find(column, query).column == relation.time
