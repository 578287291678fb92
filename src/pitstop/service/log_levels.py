"""The levels of loggers, for all runs and servers or for one job's runs, and changes to them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

from pitstop.errors import UsageError
from pitstop.machine.log_levels import USUAL, LogLevel, check_level, check_logger, read_levels, write_levels
from pitstop.model.data_folder import DataFolder
from pitstop.model.job import Job
from pitstop.service.log_results import LoggerLevel, LoggerScope

MOST_SET = 500
"""The most loggers whose levels can be set at once."""


class LogLevels:
    """The part of the service for logging. It writes levels to files; running processes adopt them within a second or two."""

    def __init__(self, data: DataFolder, find: Callable[[str], Job]) -> None:
        self._folder, self._find_job = data, find
        self._changing = threading.Lock()

    def log_levels(self, job: str | None = None) -> list[LoggerLevel]:
        target = self._find_job(job) if job is not None else None
        levels = {name: LoggerLevel(name, level, LoggerScope.USUAL) for name, level in USUAL.items()}
        levels |= _read(self._folder.log_levels, LoggerScope.ALL)
        if target is not None:
            levels |= _read(self._folder.job(target.id).log_levels, LoggerScope.JOB)
        return sorted(levels.values(), key=lambda setting: setting.logger)

    def set_log_level(self, logger: str, level: str | None, job: str | None = None) -> list[LoggerLevel]:
        name, new_level = check_logger(logger), check_level(level) if level is not None else None
        target = self._find_job(job) if job is not None else None
        path = self._folder.job(target.id).log_levels if target is not None else self._folder.log_levels
        with self._changing:
            levels = {other: set_level for other, set_level in read_levels(path).items() if other != name}
            if new_level is not None:
                levels[name] = new_level
            if len(levels) > MOST_SET:
                raise UsageError(f"The levels of {MOST_SET} loggers are set already: take some back, or set one above them.")
            write_levels(path, levels)
        return self.log_levels(job)


def _read(path: Path, scope: LoggerScope) -> dict[str, LoggerLevel]:
    return {name: LoggerLevel(name, LogLevel(level), scope) for name, level in read_levels(path).items()}
