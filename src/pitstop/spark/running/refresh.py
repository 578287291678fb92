"""The tables of hash joins, read anew from time to time while a job runs."""

from __future__ import annotations

import threading
from collections.abc import Callable

from pitstop.errors import EngineError, PitstopError, is_of_the_machine
from pitstop.pipeline.specs import HashJoinSpec
from pitstop.pipeline.stages import Pipeline
from pitstop.spark.base.failures import reason
from pitstop.spark.lowering.tables import Frames
from pitstop.spark.running.epochs import EpochWriter
from pitstop.spark.running.query import RunningQuery


def refresh_seconds(pipeline: Pipeline) -> float | None:
    """Return the seconds between two readings of the tables of hash joins; None if they are never read anew."""
    joins = [node.spec for node in pipeline.nodes if isinstance(node.spec, HashJoinSpec)]
    intervals = [spec.refresh_ms for spec in joins if spec.refresh_ms]
    return min(intervals) / 1000 if intervals else None


class TableRefresh:
    """A refresh that reads the tables at intervals, beside the epochs, and gives them to the epochs that follow.

    The next epoch to begin finds the gate closed, and another query does it, with the new tables. A query that rests is left
    alone, so that what waits for the clock goes on in it. Tables whose time came meanwhile are read before its next epoch.

    ``running`` gives the query that runs. ``read`` gives the tables; None if they stay as they are. ``switch`` starts the query
    again where it was, with these tables. ``discard`` forgets tables that no query uses. ``attempted`` is called after each
    attempt to replace the query.
    """

    def __init__(
        self,
        every: Callable[[], float | None],
        running: Callable[[], RunningQuery],
        read: Callable[[], Frames | None],
        switch: Callable[[Frames], None],
        discard: Callable[[], None],
        attempted: Callable[[], None],
    ) -> None:
        """Create it; ``every`` gives the seconds until the next reading, None: never."""
        self._every, self._running, self._read, self._attempted = every, running, read, attempted
        self._switch, self._discard = switch, discard
        self._switching = threading.Lock()
        """Held while one query replaces another."""
        self._reading = threading.Lock()
        """Held while tables are read, and while it is decided what becomes of them."""
        self._fresh: Frames | None = None
        """Tables for the next epoch."""
        self._epoch_at_reading = -1
        """The last epoch that was written when the tables were read."""
        self._is_due = False
        """True if the time of a reading came while nothing else did."""
        self._ended = False
        self._settled = threading.Event()
        self._settled.set()
        self.failure: PitstopError | None = None
        """The reason why the query could not be started again, so that none runs any more."""

    @property
    def under_way(self) -> bool:
        """True while one query replaces another."""
        return not self._settled.is_set()

    def settle(self) -> None:
        """Wait until no query replaces another."""
        self._settled.wait()

    def begin(self) -> None:
        """Refresh the tables from now on."""
        every = self._every()
        if every is not None:
            timer = threading.Timer(every, self._refresh)
            timer.daemon = True
            timer.start()

    def give(self, tables: Frames | None) -> None:
        """Let the next epoch have these tables; None: those that epochs have."""
        with self._reading:
            self._fresh = tables

    def before_epoch(self, writer: EpochWriter) -> None:
        """Close the gate of the epoch that is about to begin if it is to have other tables: another query then does it."""
        if self._ended or writer.closed or not self._reading.acquire(blocking=False):
            return  # tables that are being read are for a later epoch
        try:
            if self._is_due:
                self._take(self._read())
            tables, self._fresh = self._fresh, None
            if tables is not None:
                self._settled.clear()  # before the query ends
                writer.pause()
                threading.Thread(target=self._replace, args=(tables,), daemon=True).start()
        finally:
            self._reading.release()

    def end(self) -> None:
        """Stop refreshing, and wait for a change of queries that is under way."""
        with self._switching:
            self._ended = True

    def _refresh(self) -> None:
        with self._reading:
            if self.under_way:
                self.begin()
                return
            if self._ended or not self._running().active:
                return
            if self._running().writer.last_written <= self._epoch_at_reading:
                # However short the interval is, each reading of the tables serves an epoch.
                self._is_due = True
                return
            self._take(self._read())  # beside the epochs, which go on with the tables that they have

    def _take(self, tables: Frames | None) -> None:
        self._fresh, self._is_due = tables, False
        self._epoch_at_reading = self._running().writer.last_written
        self.begin()

    def _replace(self, tables: Frames) -> None:
        with self._switching:
            try:
                if self._ended:
                    self._discard()
                else:
                    self._switch(tables)
                    self._epoch_at_reading = -1  # of the query that runs now
            except Exception as error:
                # This thread has nobody to tell: whoever asks the run for its failure is told.
                # Another run goes on with them when it starts, from where this one has stopped.
                why = reason(error)
                away = is_of_the_machine(error)
                sentence = f"The query could not be started with the tables of hash joins that were read again: {why}"
                self.failure = EngineError(sentence, restartable=True, away=away)
            finally:
                self._settled.set()
        self._attempted()
