"""What the log says loudly of event times: rows that are dropped for being late, a watermark that has left the clock behind."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from pitstop.kit.clock import days_ahead, iso

Log = Callable[[str, str, str], None]
Facts = Mapping[str, Mapping[str, Any]]
"""Stage -> what is known of it, see Progress."""


class Concerns:
    """Of one run: tells of late rows of a stage at the first, and whenever they have doubled; of a far watermark once."""

    def __init__(self, log: Log, now: Callable[[], float] = time.time) -> None:
        self._log, self._now = log, now
        self._late: dict[str, int] = {}
        self._told: dict[str, int] = {}
        self._far = False

    def late(self, stages: Facts, before: Facts, watermark_ms: int | None) -> None:
        """Take note of the late rows that stages have dropped, in all runs, after an epoch and before it."""
        for stage, facts in stages.items():
            dropped = int(facts.get("late_rows", 0)) - int(before.get(stage, {}).get("late_rows", 0))
            late = self._late[stage] = self._late.get(stage, 0) + dropped
            if dropped and late >= 2 * self._told.get(stage, 0):
                self._told[stage] = late
                behind = "" if watermark_ms is None else f" ({iso(watermark_ms / 1000)})"
                self._warn(f"stage '{stage}' has dropped {late} late rows in this run: they are behind the watermark{behind}")

    def watermark(self, watermark_ms: int | None) -> None:
        """Take note of the watermark after an epoch."""
        days = days_ahead(watermark_ms, self._now())
        if days and not self._far:
            self._far = True
            self._warn(
                f"the watermark is at {iso((watermark_ms or 0) / 1000)}, {days} days or more ahead of the "
                "clock: all rows with earlier times are late from now on. with_timestamps(..., max_ahead=...) leaves "
                "rows out whose times are so far ahead."
            )

    def _warn(self, message: str) -> None:
        self._log("WARN", "pitstop.engine", message)
