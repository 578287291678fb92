"""Aggregates made of sums."""

from __future__ import annotations

from typing import Any

from pitstop.pipeline.aggregates import Aggregate
from pitstop.pipeline.combining import SUM


def variance(column: Any) -> Aggregate:
    """Sample variance of the values that are not null; null for fewer than two. Type: double.

    Kept as count, sum and sum of squares: values whose mean is more than about 10 million times their deviation
    lose all digits.
    """
    return Aggregate("variance", (column,), _powers, (SUM, SUM, SUM), _variance)


def stddev(column: Any) -> Aggregate:
    """Sample standard deviation of the values that are not null; null for fewer than two. See :func:`variance`."""
    return Aggregate("stddev", (column,), _powers, (SUM, SUM, SUM), lambda F, *sums: F.sqrt(_variance(F, *sums)))


def linear_trend(x: Any, y: Any) -> Aggregate:
    """The slope of the line through the points (x, y) by least squares; both whole numbers. Type: double.

    Sums are exact (decimals of 38 digits). Null for fewer than two different x.
    """

    def lift(F: Any, a: Any, b: Any) -> tuple[Any, ...]:
        both = a.isNotNull() & b.isNotNull()
        wide = [part.cast("bigint").cast("decimal(19,0)") for part in (a, b)]
        terms = (wide[0], wide[1], wide[0] * wide[1], wide[0] * wide[0])
        one = F.when(both, 1).otherwise(0).cast("bigint")
        return (one, *[F.when(both, term).cast("decimal(38,0)") for term in terms])

    def finish(F: Any, n: Any, sx: Any, sy: Any, sxy: Any, sxx: Any) -> Any:
        across, along = n * sxy - sx * sy, n * sxx - sx * sx
        return F.when((n > 1) & (along != 0), across.cast("double") / along.cast("double"))

    return Aggregate("linear_trend", (x, y), lift, (SUM,) * 5, finish)


def _powers(F: Any, x: Any) -> tuple[Any, ...]:
    number = x.cast("double")
    return (F.when(x.isNotNull(), 1).otherwise(0).cast("bigint"), number, number * number)


def _variance(F: Any, n: Any, total: Any, squares: Any) -> Any:
    # Rounding may leave a little less than nothing of equal values.
    spread = F.greatest(squares - total * total / n, F.lit(0.0))
    return F.when(n > 1, spread / (n - 1))
