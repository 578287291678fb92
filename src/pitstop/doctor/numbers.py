"""Whole numbers in files that may be damaged, and gaps in rows of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

LARGEST = (1 << 63) - 1
"""Java's largest long; a larger number is none of Spark's."""
MOST_NAMED = 100
"""The number of files that a finding names."""


def whole(value: Any) -> int:
    """Return a number of JSON, or a text of digits, as a whole number within Java's long. ValueError if it is none."""
    try:
        number = int(value)
    except (TypeError, OverflowError):
        raise ValueError(f"{value!r} is not a whole number") from None
    if not -LARGEST - 1 <= number <= LARGEST:
        raise ValueError("the number is larger than any of Spark's")
    return number


def whole_or(value: Any, default: int) -> int:
    """Return a number as :func:`whole`; the default if it is none."""
    try:
        return whole(value)
    except ValueError:
        return default


def is_number(name: str) -> bool:
    """Return True for the name of a file or folder that Spark takes for a number."""
    return name.isdecimal() and name.isascii() and len(name) <= 19 and int(name) <= LARGEST


def missing_between(numbers: Iterable[int], first: int, last: int) -> tuple[int, list[int]]:
    """Return how many of the numbers from first to last are missing, and the first hundred of these.

    Time and memory go with the numbers that are there, however far apart they are.
    """
    names: list[int] = []
    total, expected = 0, first
    for number in (*sorted(n for n in set(numbers) if first <= n <= last), last + 1):
        total += number - expected
        names += range(expected, min(number, expected + MOST_NAMED - len(names)))
        expected = number + 1
    return total, names
