"""Aggregates made of sums."""

from __future__ import annotations

from typing import Any

from pitstop.pipeline.aggregates import Aggregate, Takes
from pitstop.pipeline.combining import MORE, SUM

_LOW = 32
"""Bits in the lower part of a number."""


def variance(column: Any) -> Aggregate:
    """Compute the sample variance of the values that are not null; null for fewer than two. Type: double.

    Kept as count, sum and sum of squares: values whose mean is more than about 10 million times their deviation
    lose all digits.
    """
    return Aggregate("variance", (column,), _powers, (SUM, SUM, SUM), _variance, (Takes.NUMBERS,))


def stddev(column: Any) -> Aggregate:
    """Compute the sample standard deviation of the values that are not null; null for fewer than two. See :func:`variance`."""
    return Aggregate("stddev", (column,), _powers, (SUM, SUM, SUM), _deviation, (Takes.NUMBERS,))


def linear_trend(x: Any, y: Any, wide: bool = False) -> Aggregate:
    """Compute the slope of the line through the points (x, y) by least squares; both whole numbers. Type: double.

    Sums are exact (decimals of 38 digits). Those of the squares of microseconds of this century are within that for some 30
    million rows of a key (and window), of nanoseconds for 30. ``wide`` is for any bigints, and a billion rows, by two sums more.
    A version that turns it on goes on from the sums so far. Null for fewer than two different x.
    """

    def lift(F: Any, a: Any, b: Any) -> tuple[Any, ...]:
        both = a.isNotNull() & b.isNotNull()
        whole = [part.cast("bigint") for part in (a, b)]
        long = [part.cast("decimal(19,0)") for part in whole]
        high, low = (part.cast("decimal(19,0)") for part in _halves(F, whole[0]))
        products = (
            [low * long[1], low * long[0], high * long[1], high * long[0]] if wide else [long[0] * long[1], long[0] * long[0]]
        )
        one = F.when(both, 1).otherwise(0).cast("bigint")
        return (one, *[F.when(both, term).cast("decimal(38,0)") for term in (*long, *products)])

    combines = (*(SUM,) * 5, *(MORE,) * 2) if wide else (SUM,) * 5
    return Aggregate("linear_trend", (x, y), lift, combines, _slope, (Takes.WHOLE, Takes.WHOLE))


def _slope(F: Any, n: Any, sx: Any, sy: Any, sxy: Any, sxx: Any, high_xy: Any = None, high_xx: Any = None) -> Any:
    """Compute the slope from the points less (c, d), whole numbers within one of their mean, so that no product of sums is long.

    With the ``high`` sums, x is in each product one part only, and these are of its upper one. What a version without them has
    summed is whole in the others.
    """

    def wide(number: Any) -> Any:
        return number.cast("decimal(38,0)")

    c, d = (F.call_function("div", total, wide(n)) for total in (sx, sy))
    rest_x, rest_y = sx - wide(n) * wide(c), sy - wide(n) * wide(d)

    def moment(products: Any, high: Any, total: Any, middle: Any, rest: Any) -> Any:
        """Return ``n`` times the sum of products, less the product of the sums, all of the points less (c, d)."""
        upper, lower = (wide(F.lit(0)), c) if high is None else _halves(F, c)
        low = (products - wide(lower) * total) - wide(middle) * rest_x
        above = (wide(F.lit(0)) if high is None else F.coalesce(high, wide(F.lit(0)))) - wide(upper) * total
        shifted = F.try_add(F.try_multiply(above, wide(F.lit(2**_LOW))), low)
        less = rest_x * rest
        exact = F.try_subtract(F.try_multiply(wide(n), shifted), less)
        # What is too long for that is so long that rounding takes no digit of a difference.
        about = F.coalesce(shifted.cast("double"), above.cast("double") * float(2**_LOW) + low.cast("double"))
        return F.coalesce(exact.cast("double"), n.cast("double") * about - less.cast("double"))

    across, along = moment(sxy, high_xy, sy, d, rest_y), moment(sxx, high_xx, sx, c, rest_x)
    return F.when((n > 1) & (along != 0), across / along)


def _halves(F: Any, number: Any) -> tuple[Any, Any]:
    """Return the (upper, lower) part of a bigint, which is upper times 2 to the power of _LOW, plus lower."""
    return F.shiftright(number, _LOW), number.bitwiseAND(F.lit(2**_LOW - 1).cast("bigint"))


def _powers(F: Any, x: Any) -> tuple[Any, ...]:
    number = x.cast("double")
    return (F.when(x.isNotNull(), 1).otherwise(0).cast("bigint"), number, number * number)


def _variance(F: Any, n: Any, total: Any, squares: Any) -> Any:
    # Rounding may leave a little less than nothing of equal values.
    spread = F.greatest(squares - total * total / n, F.lit(0.0))
    return F.when(n > 1, spread / (n - 1))


def _deviation(F: Any, n: Any, total: Any, squares: Any) -> Any:
    return F.sqrt(_variance(F, n, total, squares))
