"""Python's wall clock, stepped by so many seconds as a file says: in every Python process that has this folder on its path."""

import os
import time

_real, _real_ns = time.time, time.time_ns
_file = os.environ.get("PYTHON_STEPPED_CLOCK")


def _step() -> int:
    try:
        with open(_file) as file:
            return int(file.read() or 0)
    except OSError:
        return 0


if _file:
    time.time = lambda: _real() + _step()
    time.time_ns = lambda: _real_ns() + _step() * 1_000_000_000
