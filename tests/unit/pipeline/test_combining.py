"""Folds of rolling aggregates."""

from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from pitstop.pipeline.combining import SUM

SCALE = 10
UNSCALED = st.integers(-(10**37), 10**37)


@given(st.lists(UNSCALED, min_size=1, max_size=8))
def test_a_sum_of_decimals_of_38_digits_is_exact(unscaled):
    total = None
    for value in unscaled:
        lifted = Decimal(value).scaleb(-SCALE) if abs(value) < 10**28 else Decimal(f"{value}E-{SCALE}")
        total = lifted if total is None else SUM.fold(total, lifted)
    sign, digits, exponent = total.as_tuple()
    assert int("".join(map(str, digits))) * (-1) ** sign * 10 ** (exponent + SCALE) == sum(unscaled)
