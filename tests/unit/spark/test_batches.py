"""The rows of a query in batches, by their number and by their bytes."""

import pyarrow as pa
import pytest

from pitstop.errors import UsageError
from pitstop.spark.selecting import batches as module
from pitstop.spark.selecting.batches import BYTES_AT_ONCE, MOST_BYTES, batches, batches_of_plain, refuse_large


def of_arrow(rows):
    return [batch.column(0).to_pylist() for batch in batches(pa.table({"v": pa.array(rows, pa.string())}))]


def of_plain(rows):
    return [[row for (row,) in batch] for batch in batches_of_plain([[row] for row in rows])]


@pytest.mark.parametrize("made", [of_arrow, of_plain])
@pytest.mark.parametrize(
    ("sizes", "most_rows"),
    [([8] * 2_500, 1_000), ([100_000] * 50, 10), ([8] * 20 + [3_000_000, 2_000_000] + [8] * 20, 20), ([], 0)],
)
def test_rows_come_a_thousand_and_a_mebibyte_at_once_at_most_and_one_at_least(made, sizes, most_rows):
    rows = [f"{number:08}".ljust(size, "x") for number, size in enumerate(sizes)]
    found = made(rows)
    assert [row for batch in found for row in batch] == rows
    assert all(sum(map(len, batch)) <= BYTES_AT_ONCE for batch in found if len(batch) > 1)
    assert all(len(batch) <= most_rows for batch in found)
    assert all(found) or not rows


def test_what_is_more_than_a_query_may_give_is_told():
    refuse_large(MOST_BYTES)
    with pytest.raises(UsageError, match="gives more than 256 MiB: LIMIT it"):
        refuse_large(MOST_BYTES + 1)


@pytest.mark.parametrize("made", [of_arrow, of_plain])
def test_a_row_is_never_more_than_everybody_can_hold_who_hands_it_on(made):
    """Letters of four bytes."""
    most = module.MOST_BYTES_OF_ROW // 4 - 4
    assert len(made(["\U0001f600" * most])) == 1
    with pytest.raises(UsageError, match="A row of the query has more than 16 MiB: select fewer columns, or less of them"):
        made(["a", "\U0001f600" * (most + 8)])


def test_literals_count_by_their_bytes_before_the_first_is_told(monkeypatch):
    monkeypatch.setattr(module, "MOST_BYTES", 4_000)
    assert of_plain(["\U0001f600" * 500] * 2)
    with pytest.raises(UsageError, match="gives more than 0 MiB"):
        next(batches_of_plain([["\U0001f600" * 500]] * 3))
