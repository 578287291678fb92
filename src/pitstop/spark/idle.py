"""Stages with timestamps that have had no rows for their idle timeout do not hold the watermark back.

Spark's watermark is the lowest of all its watermark operators. When an epoch is written, and before Spark takes note of
what its rows have told these operators, those of idle stages are raised to the lowest of the others. So the decision
is recorded where Spark records the watermark: an epoch that runs again runs by the same one. Plan and state are those
of a job without idle timeouts.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from datetime import datetime

from pyspark.sql import SparkSession
from pyspark.sql.streaming import StreamingQuery
from pyspark.sql.streaming.listener import (
    QueryIdleEvent,
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
    StreamingQueryListener,
)

from pitstop.pipeline.nodes import Node
from pitstop.snapshots.checkpoint import Checkpoint
from pitstop.spark.internals import WatermarkNode, no_epoch_begins, take_up_watermarks, watermark_nodes

Log = Callable[[str, str, str], None]

_START_SECONDS = 60.0
_LOOK_MS = 10_000
"""How often a query without rows looks for idle stages, at the least."""


class IdleClock:
    """Which stages are idle, and how far their watermarks may follow the others."""

    def __init__(self, timeouts: Mapping[str, float], now: float, last_rows: Mapping[str, float] | None = None) -> None:
        """``timeouts``: stage -> seconds, 0: never idle. ``last_rows``: stage -> when it last had rows, if known."""
        self._timeouts = dict(timeouts)
        self._watermarks = dict.fromkeys(timeouts, 0)
        self.last_rows = {stage: (last_rows or {}).get(stage, now) for stage in timeouts}
        self.idle: frozenset[str] = frozenset()

    def saw(self, stage: str, watermark_ms: int, now: float) -> None:
        """An epoch that began at ``now`` had rows of the stage, up to this watermark."""
        self._timeouts.setdefault(stage, 0)
        self._watermarks[stage] = max(self._watermarks.get(stage, 0), watermark_ms)
        self.last_rows[stage] = now

    def raised(self, now: float) -> dict[str, int]:
        """Idle stage -> the watermark (ms) it goes up to: the lowest of the others; of none, the highest seen so far."""
        self.idle = frozenset(
            stage for stage, timeout in self._timeouts.items() if timeout and now - self.last_rows[stage] >= timeout
        )
        others = [watermark for stage, watermark in self._watermarks.items() if stage not in self.idle]
        target = min(others) if others else max(self._watermarks.values(), default=0)
        found = {stage: target for stage in sorted(self.idle) if self._watermarks[stage] < target}
        self._watermarks.update(found)
        return found


class IdleWatch(StreamingQueryListener):
    """Applies an IdleClock to a running query: after each epoch, and now and then while there is nothing to read."""

    def __init__(
        self, spark: SparkSession, checkpoint: Checkpoint, stages: Mapping[str, str], clock: IdleClock, log: Log
    ) -> None:
        """``stages``: id of a watermark operator -> stage."""
        self._spark, self._checkpoint, self._log = spark, checkpoint, log
        self._stages = dict(stages)
        self.clock = clock
        self._query: Future[StreamingQuery] = Future()
        self._written_at = 0.0

    def follow(self, query: StreamingQuery) -> None:
        """Begin, with the query that has been started."""
        self._query.set_result(query)
        self._spark.streams.addListener(self)

    def epoch_written(self, begun: float) -> None:
        """Take note of an epoch's rows, and raise what is idle, before Spark commits it."""
        nodes = watermark_nodes(self._query.result(_START_SECONDS))
        for node in nodes:
            if node.rows:
                self.clock.saw(self._stage(node.id), node.watermark_ms, begun)
        self._raise(nodes, begun)
        self._written_at = time.time()

    def onQueryIdle(self, event: QueryIdleEvent) -> None:
        # An event that was on its way while an epoch ran says nothing of what came meanwhile.
        query = self._query.result(_START_SECONDS)
        if str(event.runId) != str(query.runId) or not 0 < self._written_at < _seconds(event.timestamp):
            return
        with no_epoch_begins(query):
            committed = self._checkpoint.committed()
            if self._checkpoint.planned() == committed and self._raise(watermark_nodes(query), time.monotonic()):
                take_up_watermarks(query, committed + 1)

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:
        if str(event.runId) == str(self._query.result(_START_SECONDS).runId):
            self._spark.streams.removeListener(self)

    def onQueryStarted(self, event: QueryStartedEvent) -> None:
        pass

    def onQueryProgress(self, event: QueryProgressEvent) -> None:
        pass

    def _raise(self, nodes: list[WatermarkNode], now: float) -> bool:
        before = self.clock.idle
        raised = self.clock.raised(now)
        for stage in sorted(self.clock.idle - before):
            self._log("INFO", "pitstop.engine", f"stage '{stage}' is idle: it no longer holds the watermark back")
        for stage in sorted(before - self.clock.idle):
            self._log("INFO", "pitstop.engine", f"stage '{stage}' has rows again")
        for node in nodes:
            if self._stage(node.id) in raised:
                node.raise_to(raised[self._stage(node.id)])
        return bool(raised)

    def _stage(self, node_id: str) -> str:
        # A watermark in Spark code of the user's own belongs to no stage with timestamps: it is never idle.
        return self._stages.get(node_id, node_id)


def idle_watch(
    spark: SparkSession, checkpoint: Checkpoint, event_times: Mapping[str, Node], log: Log, before: IdleWatch | None
) -> IdleWatch | None:
    """The watch of a query that is about to start; None if none of its stages with timestamps can be idle.

    ``before``: that of the query whose place it takes.
    """
    timeouts = {node.name: node.params["idle_timeout_ms"] / 1000 for node in event_times.values()}
    wanted = [timeout for timeout in timeouts.values() if timeout]
    if not wanted:
        return None
    look_ms = min(_LOOK_MS, round(min(wanted) * 1000))
    spark.conf.set("spark.sql.streaming.noDataProgressEventInterval", str(look_ms))
    clock = IdleClock(timeouts, time.monotonic(), before.clock.last_rows if before is not None else None)
    return IdleWatch(spark, checkpoint, {number: node.name for number, node in event_times.items()}, clock, log)


def _seconds(timestamp: str) -> float:
    return datetime.fromisoformat(timestamp.replace("Z", "+00:00")).timestamp()
