"""Python's own logging as JSON lines, in the one form that all logs of Pitstop have (docs/logging.md)."""

from __future__ import annotations

import json
import logging
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pitstop.machine.log_levels import ROOT, USUAL, VARIABLE, Follower, Levels, LogLevel
from pitstop.machine.log_lines import THREAD, Line
from pitstop.machine.named_secrets import hidden
from pitstop.machine.rotating import stamp

NUMBERS = {
    LogLevel.TRACE: 5,
    LogLevel.DEBUG: logging.DEBUG,
    LogLevel.INFO: logging.INFO,
    LogLevel.WARN: logging.WARNING,
    LogLevel.ERROR: logging.ERROR,
    LogLevel.OFF: 1000,
}
"""The levels as Python's logging counts them."""
FACTS = "facts"
"""``extra={FACTS: {...}}`` adds keys to a line."""
_facts_of_now: ContextVar[Mapping[str, Any]] = ContextVar("facts_of_now", default=MappingProxyType({}))
"""The keys of all lines that the present thread logs now."""


class JsonLines(logging.Handler):
    """Writes each record as a line; ``write`` takes it with its end. A full disk must not end the process that logs."""

    def __init__(self, write: Callable[[str], object]) -> None:
        super().__init__()
        self._write = write

    def emit(self, record: logging.LogRecord) -> None:
        try:
            self._write(as_line(record) + "\n")
        except OSError:
            pass
        except Exception:  # arguments that do not fit their message, say
            self.handleError(record)


def as_line(record: logging.LogRecord) -> str:
    """Return a record as JSON."""
    line = {
        "time": stamp(record.created),
        "level": _level(record.levelno).value,
        "logger": record.name,
        "msg": hidden(record.getMessage()),
        "thread": record.threadName,
        **_facts_of_now.get(),
        **getattr(record, FACTS, {}),
    }
    if record.exc_info and record.exc_info[0] is not None:
        line["error"] = hidden(_formatter.formatException(record.exc_info))
    return json.dumps(line, ensure_ascii=False, default=str)


def set_facts(**facts: Any) -> None:
    """Let all lines that this thread logs have these keys from now on, and none of those that were set before."""
    _facts_of_now.set(facts)


@contextmanager
def lines_with(**facts: Any) -> Iterator[None]:
    """Let all lines that this thread logs have these keys, too, while the context lasts."""
    token = _facts_of_now.set({**_facts_of_now.get(), **facts})
    try:
        yield
    finally:
        _facts_of_now.reset(token)


def show(logger: str = "", write: Callable[[str], object] | None = None) -> None:
    """Let the lines of a logger, and of those below it, go to standard error (or ``write``), at the usual levels; once."""
    top_logger = logging.getLogger(logger)
    if any(isinstance(handler, JsonLines) for handler in top_logger.handlers):
        return
    top_logger.addHandler(JsonLines(write or to_stderr))
    top_logger.propagate = False
    for name, level in USUAL.items():
        target = logging.getLogger(_python_name(name))
        if target.level == logging.NOTSET and (not logger or name == logger):
            target.setLevel(NUMBERS[level])


def apply_levels(levels: Levels) -> None:
    """Let these levels hold from now on, and the usual ones besides."""
    all_levels = {**USUAL, **levels}
    for name in _applied - all_levels.keys():
        logging.getLogger(_python_name(name)).setLevel(logging.NOTSET)
    for name, level in all_levels.items():
        logging.getLogger(_python_name(name)).setLevel(NUMBERS[level])
    _applied.update(all_levels)


def follow_levels() -> None:
    """In a Python worker of Spark: take over levels that have changed meanwhile. It costs next to nothing."""
    path = os.environ.get(VARIABLE)
    if path:
        _follower(path).look()


@cache
def _follower(path: str) -> Follower:
    return Follower([Path(path)], apply_levels)


_applied: set[str] = set()
_formatter = logging.Formatter()


def to_stderr(line: str) -> None:
    """Write a line of JSON, with its end, to standard error: for people if that is a terminal."""
    sys.stderr.write(f"{Line.of(line.rstrip()).text(THREAD)}\n" if sys.stderr.isatty() else line)
    sys.stderr.flush()


def _python_name(logger: str) -> str:
    return "" if logger == ROOT else logger


def _level(number: int) -> LogLevel:
    steps = (LogLevel.ERROR, LogLevel.WARN, LogLevel.INFO, LogLevel.DEBUG)
    return next((level for level in steps if number >= NUMBERS[level]), LogLevel.TRACE)
