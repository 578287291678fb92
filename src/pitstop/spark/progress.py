"""What Spark tells of a running query, as our own Progress."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable
from datetime import datetime
from typing import Any

from pyspark.sql.streaming.listener import (
    QueryIdleEvent,
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
    StreamingQueryListener,
    StreamingQueryProgress,
)

from pitstop.model.job import Progress
from pitstop.plan.model import Plan
from pitstop.spark.admission import Admission

Log = Callable[[str, str, str], None]


class ProgressTracker(StreamingQueryListener):
    """Sums up the progress of one query, starting from what the job's earlier runs had reached."""

    def __init__(
        self, plan: Plan, start: Progress, log: Log, wake: Callable[[], None], admission: Admission | None = None
    ) -> None:
        self._admission = admission
        self._plan = plan
        self._log = log
        self._wake = wake
        self._lock = threading.Lock()
        self._progress = dataclasses.replace(start, rows_per_second=0.0)
        self.ready = threading.Event()
        """Set once the query has finished an epoch or has found nothing to do."""
        self.first_epoch = threading.Event()

    @property
    def progress(self) -> Progress:
        with self._lock:
            return self._progress

    def onQueryStarted(self, event: QueryStartedEvent) -> None:
        pass

    def onQueryIdle(self, event: QueryIdleEvent) -> None:
        with self._lock:
            self._progress = dataclasses.replace(self._progress, rows_per_second=0.0)
        self.ready.set()
        self._wake()

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:
        self._wake()

    def onQueryProgress(self, event: QueryProgressEvent) -> None:
        self.take(event.progress)
        if not self.first_epoch.is_set():
            parts = ", ".join(f"{part} {spent}" for part, spent in event.progress.durationMs.items())
            self._log("INFO", "pitstop.engine", f"first epoch of this run, {event.progress.batchId}, in ms: {parts}")
        self._admit(event.progress)
        self.ready.set()
        self.first_epoch.set()
        self._wake()

    def take(self, seen: StreamingQueryProgress) -> None:
        """Add one epoch's progress."""
        rows, bad = self._observed(seen)
        with self._lock:
            before = self._progress
            read = rows if rows is not None else int(seen.numInputRows)
            seconds = max(int(seen.batchDuration), 1) / 1000
            self._progress = Progress(
                epoch=int(seen.batchId),
                watermark_ms=_watermark(seen, before.watermark_ms),
                input_rows=before.input_rows + read,
                rows_per_second=round(read / seconds, 1) if read else 0.0,
                epoch_ms=int(seen.batchDuration) if read else before.epoch_ms,
                bad_rows=before.bad_rows + bad,
                stages=self._stages(seen, before.stages),
            )

    def _admit(self, seen: StreamingQueryProgress) -> None:
        if self._admission is not None and seen.numInputRows and self._admission.epoch_took(int(seen.batchDuration)):
            share = f"{self._admission.share:.1%}"
            self._log("INFO", "pitstop.engine", f"epoch {seen.batchId} took {seen.batchDuration} ms: sources now bring {share}")

    def _observed(self, seen: StreamingQueryProgress) -> tuple[int | None, int]:
        """(rows of all text sources, rows of them that did not parse); a sample of these goes to the log."""
        rows: int | None = None
        bad = 0
        for name, row in (seen.observedMetrics or {}).items():
            if not name.startswith("source:"):
                continue
            rows = (rows or 0) + int(row["rows"] or 0)
            if row["bad"]:
                bad += int(row["bad"])
                stage = name.partition(":")[2]
                self._log(
                    "WARN", "pitstop.source", f"{row['bad']} rows of '{stage}' could not be parsed, such as: {row['sample']!r}"
                )
        return rows, bad

    def _stages(self, seen: StreamingQueryProgress, before: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
        stages: dict[str, dict[str, Any]] = {name: dict(facts) for name, facts in before.items()}
        for slot, source in zip(self._plan.source_slots, seen.sources, strict=False):
            facts = stages.setdefault(slot.stage, {})
            facts["offset"] = source.endOffset
            facts["rows_in"] = int(source.numInputRows)
        late: dict[str, int] = {}
        state: dict[str, list[int]] = {}
        for part, operator in zip(self._plan.operators, seen.stateOperators, strict=False):
            late[part.stage] = late.get(part.stage, 0) + int(operator.numRowsDroppedByWatermark)
            sums = state.setdefault(part.stage, [0, 0])
            sums[0] += int(operator.numRowsTotal)
            sums[1] += int(operator.memoryUsedBytes)
        for name, dropped in late.items():
            facts = stages.setdefault(name, {})
            facts["late_rows"] = int(facts.get("late_rows", 0)) + dropped
            facts["state_rows"], facts["state_bytes"] = state[name]
        return stages


def _watermark(seen: StreamingQueryProgress, before: int | None) -> int | None:
    text = (seen.eventTime or {}).get("watermark")
    if not text:
        return before
    return int(datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp() * 1000)
