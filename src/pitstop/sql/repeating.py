"""A bound on the size of a query in Spark, which repeats operands of some expressions, and queries that WITH names."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from pitstop.errors import UsageError
from pitstop.sql.statements import Query

MOST_PARTS = 100_000
"""The most parts (names, values, and what is done with them) of a query once all is written out. A query with the most words and
signs that it may have reaches that only by repetition."""
_TWICE = ("nullifzero", "right")
"""Functions that Spark writes as others, which take each argument twice."""


def refuse_repeated(tree: exp.Expr, query: Query) -> None:
    """Raise UsageError for a query of too many parts. Repeated parts within one another double with each level."""
    sizes: dict[int, int] = {}
    sizes_of_ctes: dict[str, int] = {}
    for node in _inner_first(tree):
        repeated = _repeated(node)
        size = 1 + sum(sizes[id(each)] * repeated.get(id(each), 1) for each in node.iter_expressions())
        if isinstance(node, exp.Table):
            size += sizes_of_ctes.get(node.name, 0)
        if isinstance(node, exp.CTE):
            sizes_of_ctes[node.alias] = max(size, sizes_of_ctes.get(node.alias, 0))
        sizes[id(node)] = size
    if sizes[id(tree)] > MOST_PARTS:
        repeating = "CASE x WHEN, x LIKE ANY, CUBE and names of WITH repeat what is in them"
        raise UsageError(query.place.prefix + f"Written out, the query has more than {MOST_PARTS:,} parts: {repeating}")


def _repeated(node: exp.Expr) -> dict[int, int]:
    """Return, by identity, how often Spark repeats each part of a node that it repeats."""
    if isinstance(node, exp.Case) and node.this is not None:
        return {id(node.this): len(node.args["ifs"])}
    if isinstance(node, (exp.Like, exp.ILike)) and isinstance(node.expression, (exp.Any, exp.All)):
        return {id(node.this): max(1, len(node.expression.this.expressions))}
    if isinstance(node, exp.Group):
        cubed = sum(len(cube.expressions or node.expressions) for cube in node.find_all(exp.Cube))
        return {id(each): 1 << min(cubed, 64) for each in node.iter_expressions()} if cubed else {}
    name = node.name.lower() if isinstance(node, exp.Anonymous) else ""
    times = 2 if name in _TWICE else len(node.expressions) // 2 if name == "decode" else 1
    return {id(each): times for each in node.expressions} if times > 1 else {}


def _inner_first(tree: exp.Expr) -> Iterator[exp.Expr]:
    """Yield all nodes, each behind its own parts, and WITH before the query that it belongs to."""
    pending = [(tree, False)]
    while pending:
        node, opened = pending.pop()
        if opened:
            yield node
            continue
        pending.append((node, True))
        parts, ctes = list(node.iter_expressions()), node.args.get("with_")
        pending += [(each, False) for each in reversed(parts) if each is not ctes]
        if ctes is not None:
            pending.append((ctes, False))
