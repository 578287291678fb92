"""The log of a process that serves: structlog and Python's own logging as the same JSON lines, at levels that may change."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, MutableMapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import structlog

from pitstop.machine.log_levels import LOOK_SECONDS, Follower
from pitstop.machine.logs import FACTS, apply_levels, show


@contextmanager
def service_log(levels: Path, write: Callable[[str], object] | None = None) -> Iterator[None]:
    """Return a context in which this process logs to standard error (or ``write``), at the levels of that file."""
    show(write=write)
    structlog.configure(
        processors=[structlog.stdlib.filter_by_level, _as_arguments],
        logger_factory=structlog.stdlib.LoggerFactory(),
    )
    end = threading.Event()
    follower = Follower([levels], apply_levels, logging.getLogger("pitstop.server").warning)

    def keep_looking() -> None:
        while not end.is_set():
            follower.look()
            end.wait(LOOK_SECONDS)

    follower.look()
    threading.Thread(target=keep_looking, daemon=True, name="log-levels").start()
    try:
        yield
    finally:
        end.set()


def _as_arguments(_: Any, __: str, event: MutableMapping[str, Any]) -> tuple[tuple[str], dict[str, Any]]:
    """Return what structlog passes on to Python's logging: the message, and its other values as keys of the line."""
    message, error = str(event.pop("event")), event.pop("exc_info", None)
    return (message,), {"extra": {FACTS: dict(event)}, "exc_info": error}
