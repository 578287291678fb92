"""The figures of a job at one moment, as they are kept for a while."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pitstop.model.job import Progress

STEPS = (1, 60)
"""Seconds between samples; the time for which each are kept is a setting (Retention.history)."""
LONGEST = max(STEPS)
STAGE_FIGURES = ("rows_in", "rows_out", "state_rows", "state_bytes", "late_rows")
"""The figures that are kept of each stage, in this order. Rows and late rows are totals since the job was submitted."""


@dataclass(frozen=True)
class Sample:
    """The last progress within one second or minute. Totals count since the job was submitted."""

    at: int
    """Seconds since the epoch: where that second or minute begins."""
    token: int
    """Number of the run: it grows with each restart."""
    epoch: int
    """The last committed epoch."""
    input_rows: int
    """Rows read, in total."""
    bad_rows: int
    """Rows that could not be parsed, in total."""
    epoch_ms: int
    """Duration of the longest epoch with data."""
    parts_ms: dict[str, int]
    """The parts of that epoch, in the words of Spark."""
    watermark_lag_ms: int | None
    """By how much the watermark was behind the clock; None before the first event with a time."""
    stages: dict[str, list[int | None]] = field(default_factory=dict)
    """Stage -> its STAGE_FIGURES; None: it has none."""

    @classmethod
    def of(cls, progress: Progress, token: int, now: float, step: int) -> Sample:
        """Return the sample that a progress is at ``now``, in seconds since the epoch, for its second or minute (``step``)."""
        lag = None if progress.watermark_ms is None else round(now * 1000) - progress.watermark_ms
        return cls(
            at=int(now) // step * step,
            token=token,
            epoch=progress.epoch,
            input_rows=progress.input_rows,
            bad_rows=progress.bad_rows,
            epoch_ms=progress.epoch_ms,
            parts_ms=progress.parts_ms,
            watermark_lag_ms=lag,
            stages={name: _figures(facts) for name, facts in progress.stages.items()},
        )

    def after(self, before: Sample) -> Sample:
        """The sample of a second or minute of which ``before`` was known already: the longest epoch of both counts."""
        if before.at != self.at or before.epoch_ms <= self.epoch_ms:
            return self
        return dataclasses.replace(self, epoch_ms=before.epoch_ms, parts_ms=before.parts_ms)


def _figures(facts: Mapping[str, Any]) -> list[int | None]:
    return [int(facts[key]) if facts.get(key) is not None else None for key in STAGE_FIGURES]
