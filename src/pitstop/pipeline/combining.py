"""The ways to combine accumulators. Each has a name, by which two versions of a stage know that their states agree.

A combination is associative and commutative, and null is its neutral element. Expressions are written against ``F``
(``pyspark.sql.functions``), handed in by the engine, so defining an aggregate starts no Spark.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Context, Decimal
from typing import Any

Expression = Callable[[Any, Any], Any]
"""``(F, column) -> aggregate column``."""
Step = Callable[[Any, Any, Any], Any]
"""``(F, accumulator, lifted) -> accumulator`` as columns; either may be null."""
Fold = Callable[[Any, Any], Any]
"""``(accumulator, lifted) -> accumulator`` in Python; neither is None."""


TOO_LONG = "A rolling sum has more digits than its type can hold."
"""The text in the error of a rolling sum of decimals that Spark itself would turn into null."""
_EXACT = Context(prec=76)
"""Adds decimals of any scale and up to 38 digits without rounding; Python's own context has 28 digits."""


@dataclass(frozen=True)
class Combining:
    """One way to combine accumulators."""

    name: str
    merge: Expression
    """Makes one accumulator of several."""
    gather: Expression | None = None
    """Makes an accumulator of the lifted values of rows; None: the values are accumulators, and ``merge`` does it."""
    step: Step | None = None
    """Takes one lifted value into an accumulator, for rolling aggregates; None: the combination cannot roll."""
    fold: Fold | None = None
    """``step`` in Python, for rolling state that an older release has kept; set if ``step`` is."""
    readable: bool = False
    """True if Spark keeps the accumulator itself as its state, so that saved state can be read and converted."""

    own: bool = False
    """True of a user-defined combination: only ``merge`` tells what it does."""
    limit: int | None = None
    """The most values that it keeps; None: it has no such bound."""

    @property
    def of_rows(self) -> Expression:
        """Makes an accumulator of the lifted values of rows, be they accumulators or not."""
        return self.gather or self.merge


def _sum_step(F: Any, total: Any, value: Any) -> Any:
    # With ANSI mode off Spark makes null of a decimal that has become too long, which would count as no sum at all.
    checked = F.coalesce(total + value, F.raise_error(F.lit(TOO_LONG)))
    return _unless_null(F, total, value, value, checked)


def _unless_null(F: Any, before: Any, value: Any, first: Any, both: Any) -> Any:
    """Return ``before`` if the value is null, ``first`` if there is none before, else ``both``."""
    return F.when(value.isNull(), before).when(before.isNull(), first).otherwise(both)


def _order(value: Any) -> Any:
    """Spark's order of values: null first, NaN last, structs field by field."""
    if value is None:
        return (0,)
    if isinstance(value, (tuple, list)):
        return (1, tuple(_order(item) for item in value))
    if isinstance(value, dict):
        return (1, tuple(_order(item) for item in value.values()))
    return (2,) if value != value else (1, value)


def _smaller(a: Any, b: Any) -> Any:
    return a if _order(a) <= _order(b) else b


def _larger(a: Any, b: Any) -> Any:
    return a if _order(a) >= _order(b) else b


def _union(values: list[Any], value: Any) -> list[Any]:
    return values if value in values else [*values, value]


def _sum(a: Any, b: Any) -> Any:
    return _EXACT.add(a, b) if isinstance(a, Decimal) else a + b


SUM = Combining("sum", lambda F, c: F.sum(c), step=_sum_step, fold=_sum, readable=True)
MORE = replace(SUM, name="sum+")
"""A sum that an earlier version may lack. It then begins empty, beside the sums of that version."""
MIN = Combining("min", lambda F, c: F.min(c), step=lambda F, a, v: F.least(a, v), fold=_smaller, readable=True)
MAX = Combining("max", lambda F, c: F.max(c), step=lambda F, a, v: F.greatest(a, v), fold=_larger, readable=True)
LIST = Combining(
    "list",
    merge=lambda F, c: F.flatten(F.collect_list(c)),
    gather=lambda F, c: F.collect_list(c),
    step=lambda F, a, v: _unless_null(F, a, v, F.array(v), F.concat(a, F.array(v))),
    fold=lambda values, value: [*values, value],
)
SET = Combining(
    "set",
    merge=lambda F, c: F.array_distinct(F.flatten(F.collect_list(c))),
    gather=lambda F, c: F.collect_set(c),
    step=lambda F, a, v: _unless_null(F, a, v, F.array(v), F.array_union(a, F.array(v))),
    fold=_union,
)
SKETCH = Combining("sketch", merge=lambda F, c: F.hll_union_agg(c), gather=lambda F, c: F.hll_sketch_agg(c))


def best(n: int, largest: bool) -> Combining:
    """Keep the ``n`` largest (or smallest) structs, best first."""

    def ordered(F: Any, values: Any) -> Any:
        return F.slice(F.sort_array(values, not largest), 1, n)

    def gather(F: Any, c: Any) -> Any:
        # A null is no candidate, and its order, being null, makes Spark leave it out.
        return (F.max_by if largest else F.min_by)(c, c, n)

    def step(F: Any, values: Any, value: Any) -> Any:
        one = F.array(value)
        return _unless_null(F, values, value, one, ordered(F, F.concat(values, one)))

    def fold(values: list[Any], value: Any) -> list[Any]:
        return sorted([*values, value], key=_order, reverse=largest)[:n]

    name = "top" if largest else "bottom"
    return Combining(name, lambda F, c: ordered(F, F.flatten(F.collect_list(c))), gather=gather, step=step, fold=fold, limit=n)


def custom(merge: Expression) -> Combining:
    """Return a user-defined combination."""
    return Combining("custom", merge, own=True)
