"""A job's log: JSON lines on standard error, which lead to the job's log file (machine.rotating)."""

from __future__ import annotations

import logging
from collections.abc import Callable

from pitstop.machine.log_levels import check_level
from pitstop.machine.logs import NUMBERS

Log = Callable[[str, str, str], None]
"""``(level, logger, message)``"""


def log(level: str, logger: str, message: str) -> None:
    """One line of the job's log (docs/logging.md), if that logger tells what is of this level."""
    logging.getLogger(logger).log(NUMBERS[check_level(level)], "%s", message)
