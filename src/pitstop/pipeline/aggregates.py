"""Aggregates as monoids: lift a row into accumulators, combine accumulators, finish into a result.

Each part is written against ``F`` (``pyspark.sql.functions``), handed in by the engine, so defining
an aggregate starts no Spark. Combining must be associative and commutative: the engine combines in
any order, over any split of the events into epochs, partitions and snapshots.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pitstop.errors import UsageError

Lift = Callable[..., tuple[Any, ...]]
Combine = Callable[[Any, Any], Any]
Finish = Callable[..., Any]


@dataclass(frozen=True)
class Aggregate:
    """One aggregate.

    ``lift(F, *inputs)`` gives the accumulator columns of one row; ``combines[i](F, column)`` is the
    aggregate expression that combines the i-th accumulator; ``finish(F, *accumulators)`` is the result.
    ``inputs`` are column names or Column expressions.
    """

    kind: str
    inputs: tuple[Any, ...]
    lift: Lift
    combines: tuple[Combine, ...]
    finish: Finish
    parameters: tuple[Any, ...] = ()

    @property
    def state_class(self) -> str:
        """Aggregates of one class combine their accumulators in the same way."""
        return _STATE_CLASS.get(self.kind, self.kind)


def _sum(F: Any, column: Any) -> Any:
    return F.sum(column)


def _min(F: Any, column: Any) -> Any:
    return F.min(column)


def _max(F: Any, column: Any) -> Any:
    return F.max(column)


def _first_accumulator(F: Any, accumulator: Any) -> Any:
    return accumulator


_STATE_CLASS = {"count": "sum", "sum": "sum", "avg": "sum,sum"}


def count(column: Any = None) -> Aggregate:
    """How many rows; with a column, how many in which it is not null. Type: bigint."""

    def lift(F: Any, *inputs: Any) -> tuple[Any, ...]:
        if not inputs:
            return (F.lit(1).cast("bigint"),)
        return (F.when(inputs[0].isNotNull(), 1).otherwise(0).cast("bigint"),)

    return Aggregate(
        "count", () if column is None else (column,), lift, (_sum,), lambda F, n: F.coalesce(n, F.lit(0).cast("bigint"))
    )


def sum(column: Any) -> Aggregate:
    """Sum of the values that are not null; null if there is none. Whole numbers give bigint."""
    return Aggregate("sum", (column,), lambda F, x: (x,), (_sum,), _first_accumulator)


def avg(column: Any) -> Aggregate:
    """Mean of the values that are not null; null if there is none. Type: double."""

    def lift(F: Any, x: Any) -> tuple[Any, ...]:
        return (x.cast("double"), F.when(x.isNotNull(), 1).otherwise(0).cast("bigint"))

    def finish(F: Any, total: Any, n: Any) -> Any:
        return F.when(n > 0, total / n)

    return Aggregate("avg", (column,), lift, (_sum, _sum), finish)


def min(column: Any) -> Aggregate:
    """Smallest value that is not null."""
    return Aggregate("min", (column,), lambda F, x: (x,), (_min,), _first_accumulator)


def max(column: Any) -> Aggregate:
    """Largest value that is not null."""
    return Aggregate("max", (column,), lambda F, x: (x,), (_max,), _first_accumulator)


def _by(kind: str, combine: Combine, value: Any, by: Any) -> Aggregate:
    # A struct compares field by field: equal ``by`` values are decided by the value itself, so the
    # result does not depend on the order of events.
    def lift(F: Any, v: Any, b: Any) -> tuple[Any, ...]:
        return (F.when(b.isNotNull(), F.struct(b.alias("by"), v.alias("value"))),)

    return Aggregate(kind, (value, by), lift, (combine,), lambda F, pair: pair.getField("value"))


def min_by(value: Any, by: Any) -> Aggregate:
    """``value`` of the row with the smallest ``by``; of several, the smallest value."""
    return _by("min_by", _min, value, by)


def max_by(value: Any, by: Any) -> Aggregate:
    """``value`` of the row with the largest ``by``; of several, the largest value."""
    return _by("max_by", _max, value, by)


def aggregate(
    lift: Lift, combine: Combine | tuple[Combine, ...], finish: Finish | None = None, inputs: tuple[Any, ...] = ()
) -> Aggregate:
    """An aggregate of one's own.

    ``lift(F, *inputs)`` returns a tuple of columns (the accumulators of one row); ``combine`` is one
    function ``(F, column) -> aggregate column`` or one for each accumulator, made of Spark's own aggregate
    functions; ``finish(F, *accumulators)`` returns the result (default: the only accumulator). Example, a
    sum of squares::

        ps.aggregate(lambda F, x: (x * x,), lambda F, acc: F.sum(acc), inputs=("speed",))
    """
    combines = combine if isinstance(combine, tuple) else (combine,)
    if finish is None and len(combines) != 1:
        raise UsageError("An aggregate with several accumulators needs a finish function.")
    return Aggregate("custom", tuple(inputs), lift, combines, finish or _first_accumulator)
