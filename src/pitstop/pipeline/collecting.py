"""Aggregates that keep several values, or a sketch of them. Their saved state moves as it is; it cannot be converted."""

from __future__ import annotations

from typing import Any

from pitstop.errors import UsageError
from pitstop.pipeline.aggregates import Aggregate, Takes
from pitstop.pipeline.combining import LIST, SET, SKETCH, best


def _same(F: Any, value: Any) -> tuple[Any, ...]:
    return (value,)


def _list_or_empty(F: Any, values: Any) -> Any:
    return F.coalesce(values, F.array())


def collect_list(column: Any) -> Aggregate:
    """Collect all values that are not null, in no particular order. The state grows with them."""
    return Aggregate("collect_list", (column,), _same, (LIST,), _list_or_empty)


def collect_set(column: Any) -> Aggregate:
    """Collect the different values that are not null, in no particular order."""
    return Aggregate("collect_set", (column,), _same, (SET,), _list_or_empty)


def count_distinct(column: Any) -> Aggregate:
    """Count the different values that are not null, exactly. The state holds all of them. Type: bigint."""

    def finish(F: Any, values: Any) -> Any:
        return F.coalesce(F.size(values), F.lit(0)).cast("bigint")

    return Aggregate("count_distinct", (column,), _same, (SET,), finish)


def approx_count_distinct(column: Any) -> Aggregate:
    """Count the different non-null values approximately (HyperLogLog sketch of 4 KiB; error about 1.6%). Type: bigint."""

    def lift(F: Any, value: Any) -> tuple[Any, ...]:
        return (value.cast("string"),)

    def finish(F: Any, sketch: Any) -> Any:
        return F.coalesce(F.hll_sketch_estimate(sketch), F.lit(0)).cast("bigint")

    return Aggregate("approx_count_distinct", (column,), lift, (SKETCH,), finish, (Takes.TEXTS,))


def top_n(n: int, value: Any, by: Any) -> Aggregate:
    """Collect ``value`` of the ``n`` rows with the largest ``by``, largest first: an array. Rows without ``by`` are ignored."""
    return _best("top_n", n, value, by, largest=True)


def bottom_n(n: int, value: Any, by: Any) -> Aggregate:
    """Collect ``value`` of the ``n`` rows with the smallest ``by``, smallest first: an array. Rows without ``by`` are ignored."""
    return _best("bottom_n", n, value, by, largest=False)


def _best(kind: str, n: int, value: Any, by: Any, largest: bool) -> Aggregate:
    if n < 1:
        raise UsageError(f"{kind} needs a number of rows from 1 on, not {n}.")

    def lift(F: Any, v: Any, b: Any) -> tuple[Any, ...]:
        return (F.when(b.isNotNull(), F.struct(b.alias("by"), v.alias("value"))),)

    def finish(F: Any, pairs: Any) -> Any:
        return F.coalesce(F.transform(pairs, lambda pair: pair.getField("value")), F.array())

    return Aggregate(kind, (value, by), lift, (best(n, largest),), finish)
