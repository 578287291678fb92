"""The rows of a query in batches that everybody can hold who hands them on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pitstop.errors import UsageError

ROWS_AT_ONCE = 1_000
BYTES_AT_ONCE = 1 << 20
MOST_BYTES = 256 << 20
"""Of a query that ends."""


def batches(table: Any) -> Iterator[Any]:
    """The rows of an Arrow table, so many at once as are small enough, and one at least."""
    for batch in table.to_batches(max_chunksize=ROWS_AT_ONCE):
        yield from _halves(batch)


def refuse_large(size: int) -> None:
    """UsageError if rows of so many bytes are too many for one query."""
    if size > MOST_BYTES:
        raise UsageError(f"The query gives more than {MOST_BYTES >> 20} MiB: LIMIT it, or select fewer columns.")


def _halves(batch: Any) -> Iterator[Any]:
    if batch.nbytes <= BYTES_AT_ONCE or batch.num_rows == 1:
        yield batch
        return
    half = batch.num_rows // 2
    yield from _halves(batch.slice(0, half))
    yield from _halves(batch.slice(half))
