"""The memory of an engine that jobs share."""

import pytest

from pitstop.runner.engine_host import heap_of

GIB = 2**30


@pytest.mark.parametrize(("memory", "heap"), [(4 * GIB, "2048m"), (24 * GIB, "6144m"), (512 * GIB, "30720m")])
def test_the_heap_is_a_quarter_of_the_memory_within_bounds(memory, heap):
    assert heap_of(memory) == heap
