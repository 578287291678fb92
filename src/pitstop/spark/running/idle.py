"""Idle stages: a stage with timestamps that had no rows for its idle timeout no longer holds the watermark back.

Spark's watermark is the lowest of all its watermark operators. When an epoch is written, and before Spark takes note of what its
rows have told these operators, those of idle stages are raised to the lowest of the others. So the decision is recorded where
Spark records the watermark, and an epoch that runs again runs by the same one. Plan and state are those of a job without idle
timeouts.

The event time of stages with ingestion time is the clock. So while no epoch comes they are raised to the clock, as long as there
is state that may end by it. Their windows end, and user-defined state expires, even when no rows come.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import Future
from typing import cast

from pyspark.errors import StreamingQueryException
from pyspark.sql.streaming.query import StreamingQuery

from pitstop.pipeline.nodes import Node
from pitstop.pipeline.specs import IngestionTimestampsSpec, TimestampsSpec
from pitstop.snapshots.checkpoint import Checkpoint
from pitstop.spark.internals.early_watermarks import LOWEST_MS
from pitstop.spark.internals.reports import last_report
from pitstop.spark.internals.watermarks import WatermarkNode, no_epoch_begins, take_up_watermarks, watermark_nodes
from pitstop.spark.lowering.clock_time import LOOK_SECONDS, ClockTime
from pitstop.spark.running.progress import waits_for_data

Log = Callable[[str, str, str], None]

_NEVER_LOWEST_MS = 253_402_300_799_000
"""The end of the year 9999."""
_START_SECONDS = 60.0
_BEHIND_MS = 2_000
"""The milliseconds by which the watermark stays behind the clock while no rows come."""


class IdleClock:
    """The idle stages, and the limit up to which their watermarks may follow the others."""

    def __init__(
        self,
        timeouts: Mapping[str, float],
        now: float,
        last_rows: Mapping[str, float] | None = None,
        by_clock: frozenset[str] = frozenset(),
    ) -> None:
        """Create it with ``timeouts``: stage -> seconds, 0: never idle.

        ``last_rows``: stage -> the time of its last rows, if known. ``by_clock`` are stages whose event time is the clock.
        """
        self._timeouts, self._by_clock = dict(timeouts), by_clock
        self._watermarks = dict.fromkeys(timeouts, LOWEST_MS)
        self.last_rows = {stage: (last_rows or {}).get(stage, now) for stage in timeouts}
        self.idle: frozenset[str] = frozenset()

    def saw(self, stage: str, watermark_ms: int, now: float) -> None:
        """Take note of an epoch that began at ``now`` and had rows of the stage, up to this watermark."""
        self._timeouts.setdefault(stage, 0)
        self._watermarks[stage] = max(self._watermarks.get(stage, LOWEST_MS), watermark_ms)
        self.last_rows[stage] = now

    def raised(self, now: float, clock_ms: int | None = None) -> dict[str, int]:
        """Decide which stages are idle now; return stage -> the watermark (ms) to which its own is raised, if it is lower.

        An idle stage is raised to the lowest watermark of the stages that are not idle, or to the highest of all if every stage
        is idle. A stage whose event time is the clock is raised to ``clock_ms``, if that is given: no later row has an earlier
        time.
        """
        behind = [stage for stage in sorted(self._by_clock) if clock_ms is not None and self._watermarks[stage] < clock_ms]
        by_clock = dict.fromkeys(behind, clock_ms or 0)
        self._watermarks.update(by_clock)
        self.idle = frozenset(
            stage for stage, timeout in self._timeouts.items() if timeout and now - self.last_rows[stage] >= timeout
        )
        others = [watermark for stage, watermark in self._watermarks.items() if stage not in self.idle]
        target = min(others) if others else max(self._watermarks.values(), default=LOWEST_MS)
        rises = {stage: target for stage in sorted(self.idle) if self._watermarks[stage] < target}
        self._watermarks.update(rises)
        return by_clock | rises


class IdleWatch:
    """A watch that applies an IdleClock to a running query: after each epoch, and now and then while there is nothing to read."""

    def __init__(
        self,
        checkpoint: Checkpoint,
        stages: Mapping[str, str],
        clock: IdleClock,
        look_seconds: float | None,
        log: Log,
        followers: Collection[str] = (),
        clock_time: ClockTime | None = None,
    ) -> None:
        """Create it with ``stages``: id of a watermark operator -> stage. ``look_seconds`` None: no stage can be idle.

        ``followers`` are ids of watermark operators that pass on the watermark of those above them. ``clock_time`` describes the
        state that ends by the clock while no epoch comes.
        """
        self._clock_time, self._clock_ms = clock_time, 0
        self._checkpoint, self._log = checkpoint, log
        self._stages, self._followers = dict(stages), frozenset(followers)
        self._look_seconds = look_seconds
        self.clock = clock
        self._query: Future[StreamingQuery] = Future()
        self._epochs = False

    def follow(self, query: StreamingQuery) -> None:
        """Begin to watch this query, which has just been started."""
        self._query.set_result(query)
        if self._look_seconds is not None:
            threading.Thread(target=self._watch, args=(query, self._look_seconds), daemon=True).start()

    def epoch_written(self, begun: float) -> None:
        """Note which stages had rows, and raise the watermarks of idle ones. Called before Spark commits an epoch."""
        nodes = self._own(self._query.result(_START_SECONDS))
        for node in nodes:
            if node.rows:
                self.clock.saw(self._stage(node.id), node.watermark_ms, begun)
        self._raise(nodes, begun)
        self._epochs = True

    def _own(self, query: StreamingQuery) -> list[WatermarkNode]:
        """Return the watermark operators of stages with timestamps.

        Raise the others out of the way, because Spark takes the lowest.
        """
        nodes = watermark_nodes(query)
        for node in nodes:
            if node.id in self._followers:
                node.raise_to(_NEVER_LOWEST_MS)
        return [node for node in nodes if node.id not in self._followers]

    def _watch(self, query: StreamingQuery, look_seconds: float) -> None:
        try:
            # Spark takes parts of a second, too; its types say whole ones.
            while not query.awaitTermination(cast(int, look_seconds)):
                if self._epochs and waits_for_data(query):
                    self._look(query)
        except StreamingQueryException:
            return  # whoever runs the query is told, too
        except Exception as error:  # this thread has nobody to tell, and the query goes on
            if query.isActive:
                self._log("ERROR", "pitstop.engine", f"idle stages are no longer checked while no rows come: {error}")

    def _look(self, query: StreamingQuery) -> None:
        with no_epoch_begins(query):
            # What Spark found before the lock was had says nothing of what came meanwhile.
            committed = self._checkpoint.committed()
            nothing_new = waits_for_data(query) and self._checkpoint.planned() == committed
            if nothing_new and self._raise(self._own(query), time.monotonic(), self._ends_by(query)):
                take_up_watermarks(query, committed + 1)

    def _ends_by(self, query: StreamingQuery) -> int | None:
        """Return the moment (ms) up to which state ends by the clock; None if no state can have ended."""
        # The clock of the next epoch is not before now, unless it is set back, or that of another machine; and what is as early
        # as the watermark is late.
        clock_ms = int(time.time() * 1000) - _BEHIND_MS
        if self._clock_time is None or not self._clock_time.passes(self._clock_ms, clock_ms):
            return None
        progress = last_report(query)
        operators = zip(progress.stateOperators, self._clock_time.ending, strict=False) if progress is not None else ()
        if not any(ends and operator.numRowsTotal for operator, ends in operators):
            return None
        self._clock_ms = clock_ms
        return clock_ms

    def _raise(self, nodes: list[WatermarkNode], now: float, clock_ms: int | None = None) -> bool:
        before = self.clock.idle
        raised = self.clock.raised(now, clock_ms)
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
    checkpoint: Checkpoint,
    event_times: Mapping[str, Node],
    followers: Collection[str],
    log: Log,
    before: IdleWatch | None,
    clock_time: ClockTime | None = None,
) -> IdleWatch | None:
    """Return a watch over the watermarks of a query that is about to start; None if Spark needs no help with them.

    ``event_times``: id of a watermark operator -> the stage that sets the event time there. ``followers``: ids of the operators
    that pass on a watermark. ``before``: the watch of the query that this one replaces. ``clock_time``: the state that ends by
    the clock.
    """
    by_clock = clock_time.stages if clock_time is not None else frozenset()
    timeouts = {node.name: _idle_timeout_ms(node) / 1000 for node in event_times.values()}
    looks = [timeout for timeout in timeouts.values() if timeout]
    if clock_time is not None:
        looks.append(clock_time.look_seconds)
    if not looks and not followers:
        return None
    clock = IdleClock(timeouts, time.monotonic(), before.clock.last_rows if before is not None else None, by_clock)
    stages = {number: node.name for number, node in event_times.items()}
    look_seconds = min([LOOK_SECONDS, *looks]) if looks else None
    return IdleWatch(checkpoint, stages, clock, look_seconds, log, followers, clock_time)


def _idle_timeout_ms(node: Node) -> int:
    assert isinstance(node.spec, (TimestampsSpec, IngestionTimestampsSpec))
    return node.spec.idle_timeout_ms
