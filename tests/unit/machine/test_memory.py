"""The memory of the machine, and of a container with less."""

import psutil
import pytest

from pitstop.machine.memory import memory_bytes


def test_without_a_limit_it_is_all_memory_of_the_machine(tmp_path):
    assert memory_bytes((tmp_path / "missing",)) == psutil.virtual_memory().total


@pytest.mark.parametrize(("limit", "is_less"), [("max\n", False), ("1073741824\n", True), ("9223372036854771712\n", False)])
def test_a_container_has_its_limit(tmp_path, limit, is_less):
    file = tmp_path / "memory.max"
    file.write_text(limit)
    assert memory_bytes((tmp_path / "missing", file)) == (2**30 if is_less else psutil.virtual_memory().total)
