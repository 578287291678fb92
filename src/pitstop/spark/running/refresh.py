"""The tables of hash joins, read anew now and then while a job runs."""

from __future__ import annotations

import threading
from collections.abc import Callable

from pyspark.sql import SparkSession

from pitstop.errors import EngineError, PitstopError, is_of_the_machine
from pitstop.pipeline.specs import HashJoinSpec
from pitstop.pipeline.stages import Pipeline
from pitstop.plan.cuts import tables_of
from pitstop.spark.base.environment import SourceSettings
from pitstop.spark.base.failures import first_line
from pitstop.spark.lowering.lowering import Lowering
from pitstop.spark.running.query import RunningQuery

WAIT_SECONDS = 0.5
"""How long to wait for a query's first epoch before looking for it once more."""


def refresh_seconds(pipeline: Pipeline) -> float | None:
    """How often the tables of hash joins are read anew; None if never."""
    joins = [node.spec for node in pipeline.nodes if isinstance(node.spec, HashJoinSpec)]
    wanted = [spec.refresh_ms for spec in joins if spec.refresh_ms]
    return min(wanted) / 1000 if wanted else None


def find_tables(spark: SparkSession, pipeline: Pipeline, settings: SourceSettings) -> None:
    """Look whether the tables of hash joins are there, without reading them; PipelineError names the stage at fault."""
    static, tables = Lowering(spark, settings, streaming=False), tables_of(pipeline.nodes)
    for node in pipeline.nodes:
        if id(node) in tables:
            static.frame(node)


class TableRefresh:
    """Reads the tables anew every so many seconds, by having the query restarted: a query reads them when it starts.

    ``running`` gives the query that runs. ``restart`` ends it between two epochs and starts it again where it was, or leaves it
    as it is if that cannot be done now. ``told`` is called after each attempt.
    """

    def __init__(
        self,
        every: float | None,
        running: Callable[[], RunningQuery],
        restart: Callable[[], None],
        told: Callable[[], None],
    ) -> None:
        """``every``: seconds, None: never."""
        self._every, self._running, self._restart, self._told = every, running, restart, told
        self._switching = threading.Lock()
        """Held while one query takes the place of another."""
        self._ended = False
        self.under_way = False
        """One query takes the place of another at this moment."""
        self.failure: PitstopError | None = None
        """Why the tables could not be read again, and no query runs any more."""

    def begin(self) -> None:
        """Refresh from now on."""
        if self._every is not None:
            self._refresh_in(self._every)

    def end(self) -> None:
        """Refresh no more; one that is under way is waited for."""
        with self._switching:
            self._ended = True

    def _refresh_in(self, seconds: float) -> None:
        timer = threading.Timer(seconds, self._refresh)
        timer.daemon = True
        timer.start()

    def _refresh(self) -> None:
        with self._switching:
            if self._ended or not self._running().active:
                return
            if self._running().writer.last_written < 0:
                # However short the interval is, each reading of the tables serves an epoch.
                self._refresh_in(WAIT_SECONDS)
                return
            self.under_way = True
            try:
                self._restart()
                self.begin()
            except Exception as error:
                # This thread has nobody to tell: whoever asks the run for its failure is told.
                # Another run reads them when it starts, from where this one has stopped.
                why = first_line(error)
                away = is_of_the_machine(error)
                said = f"The tables of hash joins could not be read again: {why}"
                self.failure = EngineError(said, restartable=True, away=away)
            finally:
                self.under_way = False
        self._told()
