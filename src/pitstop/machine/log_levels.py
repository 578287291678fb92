"""Levels of loggers, by their names, in small JSON files that running processes look at: ``{"pitstop.source": "DEBUG"}``."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from pathlib import Path

from pitstop.errors import UsageError
from pitstop.machine.private import write_private


class LogLevel(StrEnum):
    """The least grave lines that a logger writes; it writes all graver ones, too. The names are those of log4j."""

    TRACE = "TRACE"
    DEBUG = "DEBUG"
    INFO = "INFO"
    WARN = "WARN"
    ERROR = "ERROR"
    OFF = "OFF"


Levels = Mapping[str, LogLevel]
"""Logger -> level. It holds for the logger and those below it (``a`` for ``a.b``) that are not named themselves."""
ROOT = "root"
"""The name of the logger above all others."""
USUAL: Levels = {ROOT: LogLevel.WARN, "pitstop": LogLevel.INFO}
"""The default levels. Some of Spark's loggers tell errors only: spark/base/log4j2.properties."""
LOOK_SECONDS = 1.0
"""The time between two looks of a process for changed levels, in seconds."""
VARIABLE = "PITSTOP_LOG_LEVELS"
"""The variable that names the file at which Python workers of a run look."""
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_$.-]{0,199}")


def check_logger(name: str) -> str:
    """Return the name if a logger can have it; UsageError if not."""
    if not _NAME.fullmatch(name):
        raise UsageError(f"{name!r} names no logger: use a name such as pitstop.source.http_poll, or {ROOT} for all.")
    return name


def check_level(text: str) -> LogLevel:
    """Return the level of that name, in upper or lower case; UsageError if there is none."""
    try:
        return LogLevel(text.upper())
    except ValueError:
        raise UsageError(f"There is no log level '{text}'; there are: {', '.join(LogLevel)}.") from None


def read_levels(path: Path) -> dict[str, LogLevel]:
    """Return the levels in a file; none if there is no file. UsageError if it holds something else."""
    try:
        levels = json.loads(path.read_text())
        return {check_logger(name): check_level(level) for name, level in levels.items()}
    except FileNotFoundError:
        return {}
    except (ValueError, AttributeError, UsageError):
        raise UsageError(f'The file {path} holds no log levels: write them as {{"logger": "DEBUG"}}, or remove it.') from None


def write_levels(path: Path, levels: Levels) -> None:
    """Write a file that appears whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_private(path, json.dumps(dict(sorted(levels.items())), indent=1) + "\n")


class Follower:
    """Tells ``apply`` the levels of several files, the later ones over the earlier, whenever one has changed."""

    def __init__(
        self,
        files: Sequence[Path],
        apply: Callable[[Levels], None],
        warn: Callable[[str], None] = lambda _: None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._files, self._apply, self._warn, self._monotonic = files, apply, warn, monotonic
        self._stamps: list[object] = [None] * len(files)
        self._next = float("-inf")

    def look(self) -> None:
        """Look at the files, unless that was done a moment ago. A file that cannot be read is reported, and has no effect."""
        if self._monotonic() < self._next:
            return
        self._next = self._monotonic() + LOOK_SECONDS
        stamps = [_stamp(path) for path in self._files]
        if stamps == self._stamps:
            return
        self._stamps = stamps
        levels: dict[str, LogLevel] = {}
        for path in self._files:
            try:
                levels |= read_levels(path)
            except (UsageError, OSError) as error:
                self._warn(str(error))
        self._apply(levels)


def _stamp(path: Path) -> object:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_mtime_ns, status.st_ino, status.st_size
