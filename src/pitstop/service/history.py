"""The history of a job's figures, in columns for charts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from pitstop.kit.wire import Moment, described
from pitstop.model.sample import STAGE_FIGURES, Sample

Column = list[int | float | None]


class Step(StrEnum):
    """The distance between the moments of a history."""

    SECOND = "second"
    """By default those of the last 15 minutes."""
    MINUTE = "minute"
    """By default those of the last 24 hours."""

    @property
    def seconds(self) -> int:
        """The length of the step in seconds."""
        return 1 if self is Step.SECOND else 60


@described
@dataclass(frozen=True)
class JobHistory:
    """The figures of a job over time. Each column has a value for each of the times; null: there was none."""

    step: Step
    """A second or minute in which no epoch ended has no place in it."""
    times: list[Moment]
    """The begin of each second or minute, oldest first."""
    job: dict[str, Column]
    """``run`` (its number: it grows with each restart), ``epoch``, ``input_rows``, ``bad_rows`` and ``late_rows`` since the job
    was submitted, ``rows_per_second`` since the time before, ``epoch_ms`` of the longest epoch, ``watermark_lag_ms``, and
    ``state_rows`` and ``state_bytes`` of all stages."""
    parts_ms: dict[str, Column]
    """The parts of the longest epoch, in the words of Spark."""
    stages: dict[str, dict[str, Column]]
    """By stage: ``rows_in``, ``rows_out`` and ``late_rows`` since the job was submitted, ``rows_in_per_second`` and
    ``rows_out_per_second`` since the time before, ``state_rows``, ``state_bytes``."""


def history_of(samples: list[Sample], step: Step) -> JobHistory:
    """Return the history of samples that are ``step`` apart, oldest first."""
    times = [float(sample.at) for sample in samples]
    names = dict.fromkeys(name for sample in samples for name in sample.stages)
    stages = {name: _of_stage(samples, name, times) for name in names}
    parts = dict.fromkeys(part for sample in samples for part in sample.parts_ms)
    totals = _totals(stages.values(), len(samples))
    input_rows: Column = [sample.input_rows for sample in samples]
    job: dict[str, Column] = {
        "run": [sample.token for sample in samples],
        "epoch": [sample.epoch for sample in samples],
        "input_rows": input_rows,
        "rows_per_second": _rates(input_rows, times),
        "bad_rows": [sample.bad_rows for sample in samples],
        "epoch_ms": [sample.epoch_ms for sample in samples],
        "watermark_lag_ms": [sample.watermark_lag_ms for sample in samples],
        **totals,
    }
    return JobHistory(step, times, job, {part: [sample.parts_ms.get(part) for sample in samples] for part in parts}, stages)


def _of_stage(samples: list[Sample], name: str, times: list[float]) -> dict[str, Column]:
    nothing = [None] * len(STAGE_FIGURES)
    rows = [sample.stages.get(name, nothing) for sample in samples]
    columns: dict[str, Column] = {figure: [row[place] for row in rows] for place, figure in enumerate(STAGE_FIGURES)}
    figures = {figure: column for figure, column in columns.items() if any(value is not None for value in column)}
    rates = {f"{figure}_per_second": _rates(figures[figure], times) for figure in ("rows_in", "rows_out") if figure in figures}
    return figures | rates


def _totals(stages: Iterable[dict[str, Column]], length: int) -> dict[str, Column]:
    """Return the sums over all stages."""
    totals: dict[str, Column] = {}
    for figure in ("late_rows", "state_rows", "state_bytes"):
        columns = [stage[figure] for stage in stages if figure in stage]
        totals[figure] = [sum(column[place] or 0 for column in columns) for place in range(length)]
    return totals


def _rates(totals: Column, times: list[float]) -> Column:
    """Return the growth of a total per second since the time before; None for the first."""
    rates: Column = []
    for place, total in enumerate(totals):
        before = totals[place - 1] if place else None
        seconds = times[place] - times[place - 1] if place else 0.0
        rates.append(None if total is None or before is None else round(max(0.0, total - before) / seconds, 1))
    return rates
