"""A query that is led from epoch to epoch: for tests of jobs (pitstop.testing)."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

from pitstop.pipeline.specs import IngestionTimestampsSpec
from pitstop.spark.internals.clock import set_clock
from pitstop.spark.internals.early_watermarks import LOWEST_MS
from pitstop.spark.internals.kept_rows import forget_rows
from pitstop.spark.internals.watermarks import no_epoch_begins, take_up_watermarks, watermark_nodes
from pitstop.spark.running.query import RunningQuery

BEHIND_CLOCK_MS = 1
"""The milliseconds by which the watermark of ingestion time stays behind the clock: rows of the next epoch are not late."""


class SteppedClock:
    """The clock of a job under test: that of the machine, and what the test has added to it."""

    def __init__(self) -> None:
        self._ahead_ms = 0

    def now_ms(self) -> int:
        """Return the time in ms since 1970."""
        return round(time.time() * 1000) + self._ahead_ms

    def advance(self, ms: int) -> None:
        """Go ahead by so many milliseconds."""
        self._ahead_ms += ms


class Stepping:
    """The control of one running query."""

    def __init__(self, spark: SparkSession, running: RunningQuery, clock: SteppedClock) -> None:
        self._spark, self._running, self._clock = spark, running, clock

    @contextmanager
    def between_epochs(self) -> Iterator[None]:
        """Keep epochs from beginning within this context; the next one is planned by the clock of the test."""
        with no_epoch_begins(self._running.query):
            set_clock(self._spark, self._running.query, self._clock.now_ms())
            yield

    def rest(self) -> None:
        """Wait until the query has nothing to do, or has ended: see its failure."""
        try:
            self._running.query.processAllAvailable()
        except StreamingQueryException:
            return

    def raise_watermarks(self, by_ms: int | None, to: datetime | None) -> None:
        """Raise the watermark by so much, or to a moment, as if rows with later times had come by every source.

        A stage whose event time is the clock goes on to the clock. Nothing happens to stages that have seen no event time, unless
        a moment is given. Use it within :meth:`between_epochs`.
        """
        running = self._running
        committed = running.checkpoint.committed()
        present_ms = running.checkpoint.next_watermark(committed)
        begun = present_ms not in (0, LOWEST_MS)
        event_ms = _ms(to) if to is not None else present_ms + by_ms if begun and by_ms is not None else None
        clock_ms = self._clock.now_ms() - BEHIND_CLOCK_MS
        by_clock = {number for number, node in running.event_times.items() if isinstance(node.spec, IngestionTimestampsSpec)}
        others = {number for number in running.event_times if number not in by_clock}
        highest = [ms for ms in (event_ms if others else None, clock_ms if by_clock else None) if ms is not None]
        if not highest:
            return
        for node in watermark_nodes(running.query):
            # Operators that only pass a watermark on must not hold it back.
            target = clock_ms if node.id in by_clock else event_ms if node.id in others else max(highest)
            if target is not None:
                node.raise_to(target)
        take_up_watermarks(running.query, committed + 1)


@contextmanager
def rows_for_two(rows: DataFrame) -> Iterator[DataFrame]:
    """Yield the rows in a form that two may read, where each reading would compute the state of an epoch anew."""
    kept_rows = rows.localCheckpoint(eager=False)
    try:
        yield kept_rows
    finally:
        forget_rows(kept_rows)


def _ms(moment: datetime) -> int:
    aware = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    return round(aware.timestamp() * 1000)
