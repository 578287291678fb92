"""The files of an epoch in parts, of which a task of Spark reads one each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

_MOST_BYTES, _MOST_FILES = 32 << 20, 100
"""The files that one task reads, unless one alone is larger."""
T = TypeVar("T")


def balanced(
    files: Sequence[T], size_of: Callable[[T], int], most_bytes: int = _MOST_BYTES, most_files: int = _MOST_FILES
) -> Iterator[list[T]]:
    """Yield the files in their order, in parts of about that size."""
    part: list[T] = []
    size = 0
    for file in files:
        length = size_of(file)
        if part and (size + length > most_bytes or len(part) >= most_files):
            yield part
            part, size = [], 0
        part.append(file)
        size += length
    if part:
        yield part
