"""Numbers of things, as people write them."""

import pytest

from pitstop.kit.counts import counted


@pytest.mark.parametrize(
    ("number", "words", "written"),
    [
        (0, ("row",), "0 rows"),
        (1, ("row",), "1 row"),
        (1_234, ("row",), "1,234 rows"),
        (1, ("entry", "entries"), "1 entry"),
        (2, ("entry", "entries"), "2 entries"),
        (1, ("row is", "rows are"), "1 row is"),
    ],
)
def test_one_thing_is_no_plural(number, words, written):
    assert counted(number, *words) == written
