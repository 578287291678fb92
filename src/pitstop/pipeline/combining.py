"""How accumulators are combined: each way has a name, by which two versions of a stage know that their states agree.

A combination is associative and commutative, and null is its neutral element. Expressions are written against ``F``
(``pyspark.sql.functions``), handed in by the engine, so defining an aggregate starts no Spark.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from operator import add
from typing import Any

Expression = Callable[[Any, Any], Any]
"""``(F, column) -> aggregate column``."""
Fold = Callable[[Any, Any], Any]
"""``(accumulator, lifted) -> accumulator`` in Python; neither is None."""


@dataclass(frozen=True)
class Combining:
    """One way to combine accumulators."""

    name: str
    merge: Expression
    """Makes one accumulator of several."""
    gather: Expression | None = None
    """Makes an accumulator of the lifted values of rows; None: these are accumulators, so ``merge`` does it."""
    fold: Fold | None = None
    """Takes one lifted value into an accumulator, for rolling aggregates; None: it cannot roll."""
    readable: bool = False
    """True if Spark keeps the accumulator itself as its state, so that saved state can be read and converted."""

    @property
    def of_rows(self) -> Expression:
        """Makes an accumulator of the lifted values of rows, be they accumulators or not."""
        return self.gather or self.merge


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


SUM = Combining("sum", lambda F, c: F.sum(c), fold=add, readable=True)
MIN = Combining("min", lambda F, c: F.min(c), fold=_smaller, readable=True)
MAX = Combining("max", lambda F, c: F.max(c), fold=_larger, readable=True)
LIST = Combining(
    "list",
    merge=lambda F, c: F.flatten(F.collect_list(c)),
    gather=lambda F, c: F.collect_list(c),
    fold=lambda values, value: [*values, value],
)
SET = Combining(
    "set",
    merge=lambda F, c: F.array_distinct(F.flatten(F.collect_list(c))),
    gather=lambda F, c: F.collect_set(c),
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

    def fold(values: list[Any], value: Any) -> list[Any]:
        return sorted([*values, value], key=_order, reverse=largest)[:n]

    return Combining(
        "top" if largest else "bottom", lambda F, c: ordered(F, F.flatten(F.collect_list(c))), gather=gather, fold=fold
    )


def custom(merge: Expression) -> Combining:
    """A combination of the user's own."""
    return Combining("custom", merge)
