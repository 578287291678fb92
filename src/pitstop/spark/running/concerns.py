"""The warnings of the log: rows that stages drop, such as late ones, and a watermark that has left the clock behind."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from pitstop.kit.clock import days_ahead, iso
from pitstop.kit.counts import counted
from pitstop.model.left_out import LeftOut

Log = Callable[[str, str, str], None]
Facts = Mapping[str, Mapping[str, Any]]
"""Stage -> the facts about it, see Progress."""


class Concerns:
    """The concerns of one run.

    It warns of the first rows that a stage drops, again each time they double, and once of a far watermark.
    """

    def __init__(self, log: Log, now: Callable[[], float] = time.time) -> None:
        self._log, self._now = log, now
        self._left_out: dict[tuple[str, LeftOut], int] = {}
        self._told: dict[tuple[str, LeftOut], int] = {}
        self._far = False

    def left_out(self, stages: Facts, before: Facts, watermark_ms: int | None) -> None:
        """Take note of the rows that stages have left out, in all runs, after an epoch and before it."""
        behind = "" if watermark_ms is None else f" ({iso(watermark_ms / 1000)})"
        whys = {
            LeftOut.LATE: f"they are behind the watermark{behind}",
            LeftOut.UNTIMED: "their event time is null",
            LeftOut.KEYLESS: "their key is null",
        }
        for stage, facts in stages.items():
            for reason, why in whys.items():
                dropped = int(facts.get(reason, 0)) - int(before.get(stage, {}).get(reason, 0))
                rows = self._left_out[stage, reason] = self._left_out.get((stage, reason), 0) + dropped
                if dropped and rows >= 2 * self._told.get((stage, reason), 0):
                    self._told[stage, reason] = rows
                    self._warn(f"stage '{stage}' has dropped {_counted(rows, reason)} in this run: {why}")

    def watermark(self, watermark_ms: int | None) -> None:
        """Take note of the watermark after an epoch."""
        days = days_ahead(watermark_ms, self._now())
        if days and not self._far:
            self._far = True
            self._warn(
                f"the watermark is at {iso((watermark_ms or 0) / 1000)}, {counted(days, 'day')} or more ahead of the "
                "clock: all rows with earlier times are late from now on. with_timestamps(..., max_ahead=...) leaves "
                "rows out whose times are so far ahead."
            )

    def _warn(self, message: str) -> None:
        self._log("WARN", "pitstop.engine", message)


def _counted(rows: int, reason: LeftOut) -> str:
    return counted(rows, "late row") if reason is LeftOut.LATE else f"{counted(rows, 'row')} {reason.words}"
