"""Sizes are numbers of bytes, or texts with a unit."""

import pytest

from pitstop.errors import UsageError
from pitstop.kit.sizes import bytes_of


@pytest.mark.parametrize(("size", "count"), [("128 MB", 128_000_000), ("1 GiB", 2**30), ("1.5kB", 1500), (7, 7), ("7", 7)])
def test_a_size_is_a_number_of_bytes(size, count):
    assert bytes_of("limit", size) == count


@pytest.mark.parametrize("size", ["big", "", 0, -1, True, "-3 MB", "3 miles", None])
def test_what_is_no_size_above_zero_is_refused_with_an_example(size):
    with pytest.raises(UsageError, match='limit is a size above 0, such as "128 MB" or "1 GiB", not'):
        bytes_of("limit", size)
