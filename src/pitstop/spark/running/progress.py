"""Spark's reports on a running query, as our own Progress."""

from __future__ import annotations

import dataclasses
import os
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyspark.sql.streaming.listener import StateOperatorProgress, StreamingQueryProgress
from pyspark.sql.streaming.query import StreamingQuery

from pitstop.errors import PitstopError
from pitstop.kit.clock import milliseconds_of
from pitstop.kit.counts import counted
from pitstop.model.job import LAG_FIGURES, Progress
from pitstop.model.left_out import BAD, LeftOut
from pitstop.plan.model import Plan
from pitstop.spark.base.admission import Admission
from pitstop.spark.base.left_out import tell_left_out
from pitstop.spark.base.naming import AHEAD, FAILED, OBSERVED, ROWS_IN, ROWS_OUT
from pitstop.spark.internals.early_watermarks import LOWEST_MS
from pitstop.spark.internals.reports import last_report
from pitstop.spark.lowering.accounting import CHECK_VARIABLE, GIVEN, TAKEN, EpochRows, check_rows, epoch_rows
from pitstop.spark.running.concerns import Concerns
from pitstop.spark.sources.shared import behind_of, waits_of

Log = Callable[[str, str, str], None]

_IDLE_SECONDS = 10.0
_TICK_NS = 1_000_000_000
"""More than the steps in which file systems tell the time of a change."""
_SHOWN = (TAKEN, GIVEN, LeftOut.LATE)


def waits_for_data(query: StreamingQuery) -> bool:
    """Return True if the query's last look found nothing to do."""
    status = query.status
    message = str(status.get("message", ""))
    # Between two triggers that are apart, Spark says so soon after each, whatever it has found.
    at_rest = message.startswith("Waiting for next trigger") and not status.get("isDataAvailable", True)
    return at_rest or message.startswith("Waiting for data")


def _ran(progress: StreamingQueryProgress) -> bool:
    """Return False if Spark only reports that nothing has happened for a while.

    Such a report bears the number of the epoch to come.
    """
    return "addBatch" in progress.durationMs


class ProgressTracker:
    """A sum of the progress of a run's queries, starting from the progress of the job's earlier runs.

    It reads the query's last progress, one JSON text, whenever somebody looks, and at the beginning of each epoch, so that none
    is missed. A listener in Python would make a hundred calls into the JVM for each epoch.
    """

    def __init__(
        self,
        plan: Plan,
        start: Progress,
        log: Log,
        admission: Admission | None = None,
        cores: int = 1,
        counts_once: bool = True,
        agreements: str | None = None,
    ) -> None:
        """Create it. ``start`` is the progress of earlier runs; ``cores`` is the number of cores that run tasks at the same time.

        ``counts_once`` False: Spark may count a row twice, as it does when an executor is lost and its tasks run again.
        ``agreements`` is the folder in which sources say how much they are behind.
        """
        self._admission, self._cores = admission, cores
        self._plan = plan
        self._agreements = Path(agreements) if agreements is not None else None
        self._log = log
        self._lock = threading.Lock()
        stages = _of_plan(start.stages, plan)
        dropped = Progress(stages={name: facts for name, facts in start.stages.items() if name not in stages}).left_out
        before = {reason: start.left_out_before.get(reason, 0) + rows for reason, rows in dropped.items()}
        self._progress = dataclasses.replace(
            start, rows_per_second=0.0, stages=stages, left_out_before=start.left_out_before | before, waits_for={}
        )
        self._agreements_changed = 0
        """The time of the last change in the folder of agreements that was seen, in ns."""
        self._concerns = Concerns(log)
        self._told: Counter[tuple[str, str]] = Counter()
        """(stage, figure) -> rows reported by sinks and by what is behind the query, which are not summed up yet."""
        self._checks = counts_once and os.environ.get(CHECK_VARIABLE) == "1"
        self.unaccounted: PitstopError | None = None
        """The error about rows of an epoch that were neither passed on nor counted, if that is looked for."""
        self._last_epoch, self._last_at = -1, time.monotonic()
        self.ready = False
        """True once the query has finished an epoch, or has found nothing to do."""
        self.first_epoch = False
        """True once an epoch of this run is finished."""

    @property
    def last_epoch(self) -> int:
        """The last epoch of this run that was seen; -1 before the first."""
        return self._last_epoch

    @property
    def progress(self) -> Progress:
        with self._lock:
            return self._progress

    def look(self, query: StreamingQuery) -> bool:
        """Take note of the query's progress; return True if it has finished an epoch since the last look."""
        progress, waits = last_report(query), waits_for_data(query)
        with self._lock:
            new = progress is not None and _ran(progress) and progress.batchId > self._last_epoch
            if progress is not None and new:
                self._last_epoch, self._last_at = progress.batchId, time.monotonic()
                self._progress = self._with(progress)
                self._tell(progress)
                self.first_epoch = True
            elif waits and time.monotonic() - self._last_at > _IDLE_SECONDS:
                self._progress = dataclasses.replace(self._progress, rows_per_second=0.0)
            self._look_for_folders()
            self.ready = self.ready or waits or new
        return new

    def _look_for_folders(self) -> None:
        """Take note of the folders that sources wait for, where anything has changed among what they tell."""
        try:
            changed = self._agreements.stat().st_mtime_ns if self._agreements is not None else 0
        except OSError:
            return  # no source has told anything
        # Two changes within a tick of the clock have one time.
        if self._agreements is None or (changed == self._agreements_changed and time.time_ns() - changed > _TICK_NS):
            return
        self._agreements_changed = changed
        waits = {stage: folder for stage, folder in waits_of(self._agreements).items() if stage in self._plan.sources}
        if waits != self._progress.waits_for:
            self._progress = dataclasses.replace(self._progress, waits_for=waits)

    def wrote(self, sink: str, rows: int) -> None:
        """Count rows that a sink has written of the epoch that is under way."""
        with self._lock:
            self._told[sink, TAKEN] += rows

    def left_out(self, stage: str, reason: LeftOut, rows: int) -> None:
        """Count rows of the epoch that is under way which go no further than to a stage."""
        with self._lock:
            self._told[stage, reason] += rows

    def _tell(self, progress: StreamingQueryProgress) -> None:
        if not self.first_epoch:
            parts = ", ".join(f"{part} {spent}" for part, spent in progress.durationMs.items())
            self._log("INFO", "pitstop.engine", f"first epoch of this run, {progress.batchId}, in ms: {parts}")
            return  # it took long because it was the first
        rows, took = int(progress.numInputRows), int(progress.batchDuration)
        if self._admission is not None and rows and self._admission.epoch_took(rows, took):
            share = f"{self._admission.share:.1%}"
            self._log(
                "INFO", "pitstop.engine", f"epoch {progress.batchId} took {progress.batchDuration} ms: sources now bring {share}"
            )

    def _with(self, progress: StreamingQueryProgress) -> Progress:
        """Return the progress so far with one more epoch added."""
        observed = {name: row.asDict() for name, row in (progress.observedMetrics or {}).items()}
        self._tell_observed(observed)
        rows = epoch_rows(self._plan, observed, list(progress.stateOperators))
        if self._checks and self.unaccounted is None:
            self.unaccounted = check_rows(self._plan, rows, int(progress.batchId))
        before = self._progress
        watermark = _watermark(progress, before.watermark_ms)
        # Spark counts what is read for each branch of the query. Where we observe no rows, its largest count of a source stands.
        counted = any(name.startswith((OBSERVED, ROWS_IN, ROWS_OUT)) for name in observed)
        read = sum(rows.of(source, GIVEN) for source in self._plan.sources) if counted else _read(self._plan, progress)
        bad = sum(rows.of(stage, reason) for stage in rows.figures for reason in BAD)
        bad += sum(count for (_, figure), count in self._told.items() if figure in BAD)
        stages = self._stages(progress, before.stages, read, rows)
        self._concerns.left_out(stages, before.stages, watermark)
        self._concerns.watermark(watermark)
        seconds = max(int(progress.batchDuration), 1) / 1000
        return Progress(
            epoch=int(progress.batchId),
            watermark_ms=watermark,
            input_rows=before.input_rows + read,
            rows_per_second=round(read / seconds, 1) if read else 0.0,
            epoch_ms=int(progress.batchDuration) if read else before.epoch_ms,
            parts_ms=_parts(progress) if read else before.parts_ms,
            bad_rows=before.bad_rows + bad,
            stages=stages,
            epoch_at=_ended_at(progress),
            left_out_before=before.left_out_before,
            waits_for=before.waits_for,
        )

    def _tell_observed(self, observed: dict[str, dict[str, Any]]) -> None:
        """Write to the log about rows that go no further, with a sample of them."""
        for name, row in observed.items():
            if name.startswith((AHEAD, OBSERVED)):
                tell_left_out(name, row, self._log)
            elif name.startswith(FAILED) and row["rows"]:
                rows = counted(row["rows"], "row")
                sentence = f"{rows} of '{name.removeprefix(FAILED)}' went to dead letters, such as: {row['sample']}"
                self._log("WARN", "pitstop.engine", sentence)

    def _stages(
        self, progress: StreamingQueryProgress, before: dict[str, dict[str, Any]], read: int, rows: EpochRows
    ) -> dict[str, dict[str, Any]]:
        stages: dict[str, dict[str, Any]] = {name: dict(facts) for name, facts in before.items()}
        for slot, source in zip(self._plan.source_slots, progress.sources, strict=False):
            facts = stages.setdefault(slot.stage, {})
            facts["offset"] = source.endOffset
            # Of a version before, whose stage may have read another source.
            for figure in LAG_FIGURES:
                facts.pop(figure, None)
        for name, lag in (behind_of(self._agreements) if self._agreements is not None else {}).items():
            if name in self._plan.sources and name in stages:
                stages[name] |= {"behind": lag.amount, "behind_in": lag.unit}
                if lag.parts:
                    stages[name] |= {"behind_by_part": dict(lag.parts), "parts": lag.parts_in_all}
        state: dict[str, list[int]] = {}
        for part, operator in zip(self._plan.operators, progress.stateOperators, strict=False):
            sums = state.setdefault(part.stage, [0, 0, 0])
            # Each branch that reads the stage has a copy of its state.
            sums[0] += int(operator.numRowsTotal) if part.copy == 0 else 0
            sums[1] += int(operator.memoryUsedBytes)
            sums[2] += self._spent(operator)
        for name, (held, size, spent) in state.items():
            facts = stages.setdefault(name, {})
            facts["state_rows"], facts["state_bytes"] = held, size
            if read:
                facts["state_ms"] = spent
        counts = [(name, figure, count) for name, figures in rows.figures.items() for figure, count in figures.items()]
        for name, figure, count in (*counts, *((stage, figure, count) for (stage, figure), count in self._told.items())):
            facts = stages.setdefault(name, {})
            # Of most reasons there is never a row: they are shown once there is one.
            if count or figure in facts or figure in _SHOWN:
                facts[str(figure)] = int(facts.get(figure) or 0) + count
        self._told.clear()
        return stages

    def _spent(self, operator: StateOperatorProgress) -> int:
        """Return the milliseconds of the epoch in which the operator's tasks worked on its state.

        Spark adds up the times of all tasks.
        """
        tasks = int(operator.allUpdatesTimeMs) + int(operator.allRemovalsTimeMs) + int(operator.commitTimeMs)
        return round(tasks / max(1, min(self._cores, int(operator.numShufflePartitions))))


def _of_plan(stages: dict[str, dict[str, Any]], plan: Plan) -> dict[str, dict[str, Any]]:
    """Return the figures of the stages in the plan. An update dropped those of other stages. Sources take no rows."""
    figures = {stage.name: dict(stages[stage.name]) for stage in plan.stages if stage.name in stages}
    for name in plan.sources:
        figures.get(name, {}).pop("rows_in", None)  # of an older release, which counted its last epoch alone
    return figures


def _read(plan: Plan, progress: StreamingQueryProgress) -> int:
    """Return the rows that an epoch has read, those of a source once, however many branches read it."""
    rows: dict[str, int] = {}
    for slot, source in zip(plan.source_slots, progress.sources, strict=False):
        rows[slot.stage] = max(rows.get(slot.stage, 0), int(source.numInputRows))
    return sum(rows.values())


def _ended_at(progress: StreamingQueryProgress) -> float:
    """Return when the epoch was committed, in seconds since the epoch."""
    return (milliseconds_of(progress.timestamp) + int(progress.batchDuration)) / 1000


def _parts(progress: StreamingQueryProgress) -> dict[str, int]:
    return {part: int(spent) for part, spent in progress.durationMs.items() if part != "triggerExecution"}


def _watermark(progress: StreamingQueryProgress, before: int | None) -> int | None:
    text = (progress.eventTime or {}).get("watermark")
    if not text:
        return before
    watermark = milliseconds_of(text)
    # Before the first event Spark tells 1970, also where the query's watermarks begin earlier.
    begins = watermark == LOWEST_MS or (watermark == 0 and before is None)
    return None if begins else watermark
