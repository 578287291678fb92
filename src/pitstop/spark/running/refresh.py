"""The tables of hash joins, read anew from time to time while a job runs."""

from __future__ import annotations

import threading
from collections.abc import Callable

from pitstop.errors import EngineError, PitstopError, is_of_the_machine
from pitstop.pipeline.specs import HashJoinSpec
from pitstop.pipeline.stages import Pipeline
from pitstop.spark.base.failures import reason
from pitstop.spark.lowering.tables import Frames
from pitstop.spark.running.query import RunningQuery

WAIT_SECONDS = 0.5
"""The wait between two looks for a query's first epoch, in seconds."""


def refresh_seconds(pipeline: Pipeline) -> float | None:
    """Return the seconds between two readings of the tables of hash joins; None if they are never read anew."""
    joins = [node.spec for node in pipeline.nodes if isinstance(node.spec, HashJoinSpec)]
    intervals = [spec.refresh_ms for spec in joins if spec.refresh_ms]
    return min(intervals) / 1000 if intervals else None


class TableRefresh:
    """A refresh that reads the tables at intervals, and lets another query replace the one that runs.

    ``running`` gives the query that runs. ``read`` gives the tables, None if they stay as they are. ``switch`` ends the query
    between two epochs and starts it again where it was, with these tables, or leaves it as it is if that cannot be done now.
    ``discard`` forgets tables that no query uses. ``told`` is called after each attempt.
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
        self._every, self._running, self._read, self._told = every, running, read, attempted
        self._switch, self._discard = switch, discard
        self._switching = threading.Lock()
        """Held while one query replaces another."""
        self._ended = False
        self.under_way = False
        """True while one query replaces another."""
        self.failure: PitstopError | None = None
        """The reason why the query could not be started again, so that none runs any more."""

    def begin(self) -> None:
        """Refresh the tables from now on."""
        every = self._every()
        if every is not None:
            self._refresh_in(every)

    def now(self, tables: Frames) -> None:
        """Let another query with these tables replace the one that runs, at once."""
        with self._switching:
            self.under_way = True
            try:
                self._switch(tables)
            finally:
                self.under_way = False

    def end(self) -> None:
        """Stop refreshing, and wait for a change of queries that is under way."""
        with self._switching:
            self._ended = True

    def _refresh_in(self, seconds: float) -> None:
        timer = threading.Timer(seconds, self._refresh)
        timer.daemon = True
        timer.start()

    def _refresh(self) -> None:
        if self._ended or not self._running().active:
            return
        writer = self._running().writer
        if writer.last_written < 0 or writer.closed:
            # However short the interval is, each reading of the tables serves an epoch.
            self._refresh_in(WAIT_SECONDS)
            return
        tables = self._read()  # beside the epochs, which go on with the tables that they have
        with self._switching:
            if self._ended or not self._running().active:
                if tables is not None:
                    self._discard()
                return
            try:
                if tables is not None:
                    self.under_way = True
                    self._switch(tables)
                self.begin()
            except Exception as error:
                # This thread has nobody to tell: whoever asks the run for its failure is told.
                # Another run goes on with them when it starts, from where this one has stopped.
                why = reason(error)
                away = is_of_the_machine(error)
                sentence = f"The query could not be started with the tables of hash joins that were read again: {why}"
                self.failure = EngineError(sentence, restartable=True, away=away)
            finally:
                self.under_way = False
        self._told()
