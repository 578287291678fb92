"""Watermarks: the mark of event-time columns, and the watermark operators of a running query."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery

from pitstop.spark.internals.jvm import analyzed, children, java_query

WATERMARK_DELAY = "spark.watermarkDelayMs"
"""The metadata by which Spark marks event-time columns; its value is their delay in ms."""


def watermark_id(frame: DataFrame) -> str:
    """Return the id of the watermark operator in which a streaming DataFrame ends."""
    return str(analyzed(frame).nodeId().toString())


@dataclass(frozen=True)
class WatermarkNode:
    """One watermark operator of an epoch's plan, after the epoch's rows have passed it."""

    id: str
    rows: int
    watermark_ms: int
    """The highest event time minus the lag, in ms; it means nothing without rows."""
    _node: Any

    def raise_to(self, watermark_ms: int) -> None:
        """Raise the operator's watermark as if a row with that watermark had passed it."""
        self._node.eventTimeStats().add(watermark_ms + self._node.delayMs())


def watermark_nodes(query: StreamingQuery) -> list[WatermarkNode]:
    """Return the watermark operators of the epoch that is running, or of the last one."""
    nodes: list[WatermarkNode] = []

    def walk(node: Any) -> None:
        if node.nodeName() == "EventTimeWatermark":
            statistics = node.eventTimeStats().value()
            highest = int(statistics.max()) - int(node.delayMs())
            nodes.append(WatermarkNode(str(node.nodeId().toString()), int(statistics.count()), highest, node))
        for child in children(node):
            walk(child)

    walk(java_query(query).lastExecution().executedPlan())
    return nodes


@contextmanager
def no_epoch_begins(query: StreamingQuery) -> Iterator[None]:
    """Keep the query from planning or committing an epoch within this context."""
    lock = java_query(query).awaitProgressLock()
    lock.lock()
    try:
        yield
    finally:
        lock.unlock()


def take_up_watermarks(query: StreamingQuery, next_epoch: int) -> None:
    """Let the next epoch run by the raised watermarks of the last one's operators. Use it only while no epoch begins or runs."""
    execution = java_query(query)
    execution.watermarkTracker().updateWatermark(execution.lastExecution().executedPlan())
    # What was worked out for the next epoch, when there seemed to be no need for one, holds no more.
    execution.lastExecution().watermarkPropagator().purge(next_epoch)
