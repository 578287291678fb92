"""The server's log: structlog and Python's own logging as the same JSON lines, on standard error and in a rotated file."""

from __future__ import annotations

import logging
import sys
import threading
from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager, suppress
from typing import Any

import structlog

from pitstop.kit.log_levels import LOOK_SECONDS, Follower
from pitstop.kit.logs import FACTS, apply_levels, show
from pitstop.kit.rotating import RotatingLog, Rotation
from pitstop.model.data_folder import DataFolder


@contextmanager
def logging_to(data: DataFolder, rotation: Rotation) -> Iterator[None]:
    """Within it, this process logs to standard error and to ``data.log``, at the levels of ``data.log_levels``."""
    file = RotatingLog(data.log, rotation)

    def write(line: str) -> None:
        sys.stderr.write(line)
        sys.stderr.flush()
        with suppress(OSError):  # a full disk: it stands on standard error
            file.write(line.encode())

    show(write=write)
    structlog.configure(
        processors=[structlog.stdlib.filter_by_level, _as_arguments],
        logger_factory=structlog.stdlib.LoggerFactory(),
    )
    ended = threading.Event()
    follower = Follower([data.log_levels], apply_levels, logging.getLogger("pitstop.server").warning)

    def keep_looking() -> None:
        while not ended.is_set():
            follower.look()
            ended.wait(LOOK_SECONDS)

    follower.look()
    threading.Thread(target=keep_looking, daemon=True, name="log-levels").start()
    try:
        yield
    finally:
        ended.set()


def _as_arguments(_: Any, __: str, event: MutableMapping[str, Any]) -> tuple[tuple[str], dict[str, Any]]:
    """What structlog hands on to Python's logging: the message, and what was said beside it as keys of the line."""
    message, error = str(event.pop("event")), event.pop("exc_info", None)
    return (message,), {"extra": {FACTS: dict(event)}, "exc_info": error}
