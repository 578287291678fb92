"""The rows of a query, in batches small enough for everybody who passes them on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pitstop.errors import UsageError

ROWS_AT_ONCE = 1_000
BYTES_AT_ONCE = 1 << 20
MOST_BYTES = 256 << 20
"""The most bytes of a query that ends."""
MOST_BYTES_OF_ROW = 16 << 20
"""The most bytes of a row, which is passed on at once, as one text."""


def batches(table: Any) -> Iterator[Any]:
    """Yield the rows of an Arrow table in batches that are small enough, with one row at least."""
    for batch in table.to_batches(max_chunksize=ROWS_AT_ONCE):
        yield from _halves(batch)


def batches_of_plain(rows: list[list[Any]]) -> Iterator[list[list[Any]]]:
    """Yield batches of rows of texts, numbers and booleans.

    UsageError, before the first, if all together are too many for one query.
    """
    sizes = [sum(map(_bytes_of, row)) for row in rows]
    refuse_large(sum(sizes))
    begin, size = 0, 0
    for at, own in enumerate(sizes):
        _refuse_large_row(own)
        if at > begin and (size + own > BYTES_AT_ONCE or at - begin == ROWS_AT_ONCE):
            yield rows[begin:at]
            begin, size = at, 0
        size += own
    yield rows[begin:]


def refuse_large(size: int) -> None:
    """Raise UsageError if rows of this many bytes are too many for one query."""
    if size > MOST_BYTES:
        raise UsageError(f"The query gives more than {MOST_BYTES >> 20} MiB: LIMIT it, or select fewer columns.")


def _halves(batch: Any) -> Iterator[Any]:
    if batch.nbytes <= BYTES_AT_ONCE or batch.num_rows == 1:
        if batch.num_rows == 1:
            _refuse_large_row(batch.nbytes)
        yield batch
        return
    half = batch.num_rows // 2
    yield from _halves(batch.slice(0, half))
    yield from _halves(batch.slice(half))


def _refuse_large_row(size: int) -> None:
    if size > MOST_BYTES_OF_ROW:
        raise UsageError(
            f"A row of the query has more than {MOST_BYTES_OF_ROW >> 20} MiB: select fewer columns, or less of them."
        )


def _bytes_of(value: Any) -> int:
    return len(value.encode("utf-8", "replace")) if isinstance(value, str) else 8
