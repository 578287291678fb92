"""The memory of the machine, or of the container."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

LIMITS = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))
"""The files in which Linux keeps the limit of a container: of its control group, version 2 or 1."""


def memory_bytes(limits: tuple[Path, ...] = LIMITS) -> int:
    """Return the bytes of memory that this machine has, or that its container may use."""
    amounts = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    for file in limits:
        # There is no such file, or it says "max".
        with contextlib.suppress(OSError, ValueError):
            amounts.append(int(file.read_text()))
    return min(amounts)
