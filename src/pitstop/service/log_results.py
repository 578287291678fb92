"""The answers of the service about logs and the levels of loggers."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from pitstop.kit.wire import described
from pitstop.machine.log_levels import LogLevel


@described
@dataclass(frozen=True)
class LogPage:
    """A page of a job's log."""

    lines: list[str]
    """Whole lines, oldest first."""
    next: int
    """Byte to go on from: the `after` of the next call."""
    lost: int = 0
    """Bytes between `after` and these lines that are no longer kept: the log was rotated away."""


class LoggerScope(StrEnum):
    """The place in which a level is set."""

    USUAL = "usual"
    """Nowhere: it is the default."""
    ALL = "all"
    """For servers and the runs of all jobs."""
    JOB = "job"
    """For the runs of one job."""


@described
@dataclass(frozen=True)
class LoggerLevel:
    """The level of a logger and of those below it."""

    logger: str
    """Its name; `root` is above all others."""
    level: LogLevel
    """Lines of this level and graver ones are written."""
    scope: LoggerScope
    """The place in which that is set."""
