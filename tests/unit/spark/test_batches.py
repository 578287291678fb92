"""The rows of a query in batches, by their number and by their bytes."""

import pyarrow as pa
import pytest

from pitstop.errors import UsageError
from pitstop.spark.selecting.batches import BYTES_AT_ONCE, MOST_BYTES, batches, refuse_large


@pytest.mark.parametrize(
    ("sizes", "most_rows"),
    [([8] * 2_500, 1_000), ([100_000] * 50, 10), ([8] * 20 + [3_000_000, 2_000_000] + [8] * 20, 20), ([], 0)],
)
def test_rows_come_a_thousand_and_a_mebibyte_at_once_at_most_and_one_at_least(sizes, most_rows):
    rows = [f"{number:08}".ljust(size, "x") for number, size in enumerate(sizes)]
    found = [batch.column(0).to_pylist() for batch in batches(pa.table({"v": pa.array(rows, pa.string())}))]
    assert [row for batch in found for row in batch] == rows
    assert all(sum(map(len, batch)) <= BYTES_AT_ONCE for batch in found if len(batch) > 1)
    assert all(0 < len(batch) <= most_rows for batch in found)


def test_what_is_more_than_a_query_may_give_is_told():
    refuse_large(MOST_BYTES)
    with pytest.raises(UsageError, match="gives more than 256 MiB: LIMIT it"):
        refuse_large(MOST_BYTES + 1)
