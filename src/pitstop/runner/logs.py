"""A job's log: JSON lines on standard error, which is the job's log file."""

from __future__ import annotations

import contextlib
import json
import sys
import threading
import time
from collections.abc import Callable

Log = Callable[[str, str, str], None]
"""``(level, logger, message)``"""

_lock = threading.Lock()


def log(level: str, logger: str, message: str) -> None:
    """One line ``{"time": "2023-08-09T12:24:59,753", "level": ..., "logger": ..., "msg": ...}``."""
    now = time.time()
    stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now)) + f",{int(now * 1000) % 1000:03d}"
    line = json.dumps({"time": stamp, "level": level, "logger": logger, "msg": message}, ensure_ascii=False)
    with _lock, contextlib.suppress(OSError):  # a full disk must not end who tells of it
        sys.stderr.write(line + "\n")
        sys.stderr.flush()
