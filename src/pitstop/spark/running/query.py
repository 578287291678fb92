"""The one streaming query of a job: build it from the cuts, start it, end it between two epochs."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path

from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import StreamingQuery

from pitstop.errors import EngineError, PitstopError
from pitstop.model.layout import StateLayout
from pitstop.pipeline.specs import WindowSpec
from pitstop.pipeline.stages import Pipeline
from pitstop.plan.cuts import chained, cuts_of, operators_of
from pitstop.plan.model import OperatorSlot
from pitstop.snapshots.checkpoint import Checkpoint
from pitstop.spark.base.columns import first_line
from pitstop.spark.base.environment import Environment
from pitstop.spark.base.session import optimizer_settings
from pitstop.spark.lowering.lowering import Lowering, OpenSource
from pitstop.spark.running.epochs import EarlyResults, EpochBoundaryError, EpochWriter, WriteSink, joined
from pitstop.spark.running.idle import IdleWatch, idle_watch
from pitstop.spark.sinks import write_sink
from pitstop.spark.state.saved import SavedStage

_COMMIT_WAIT = 10.0
_PROGRESS_WAIT = 2.0


def streaming_frame(lowering: Lowering, pipeline: Pipeline) -> DataFrame:
    """The whole pipeline as one streaming DataFrame: its cuts, joined. Sets the session up for it."""
    for key, value in optimizer_settings(chained(pipeline.nodes)).items():
        lowering.spark.conf.set(key, value)
    return joined([lowering.frame(cut.node) for cut in cuts_of(pipeline.nodes)])


class RunningQuery:
    """A started query over one checkpoint. ``before`` is the one whose place it takes within a run.

    ``open_source`` and ``write`` stand in for its sources and sinks.
    """

    def __init__(
        self,
        spark: SparkSession,
        pipeline: Pipeline,
        environment: Environment,
        checkpoint: Path,
        observed: dict[str, str],
        before: RunningQuery | None = None,
        open_source: OpenSource | None = None,
        write: WriteSink = write_sink,
    ) -> None:
        lowering = Lowering(spark, environment.sources, observed=observed, open_source=open_source)
        frame = streaming_frame(lowering, pipeline)
        self.checkpoint = Checkpoint(checkpoint)
        self._tables = tuple(lowering.tables.values())
        cuts = cuts_of(pipeline.nodes)
        operators = operators_of(cuts, lowering.layouts)
        early = {
            cut.node.name: EarlyResults(
                cut.node, cut.node.spec, _saved_stage(checkpoint, cut.node.name, lowering.layouts, operators)
            )
            for cut in cuts
            if isinstance(cut.node.spec, WindowSpec) and cut.node.spec.early_ms
        }
        earlier = before.idle if before is not None else None
        self.idle: IdleWatch | None = idle_watch(self.checkpoint, lowering.event_times, environment.log, earlier)
        self.writer = EpochWriter(spark, cuts, environment, early, self.idle.epoch_written if self.idle else None, write)
        self.query: StreamingQuery = (
            frame.writeStream.outputMode("append").foreachBatch(self.writer).option("checkpointLocation", str(checkpoint)).start()
        )
        if self.idle is not None:
            self.idle.follow(self.query)

    @property
    def active(self) -> bool:
        return bool(self.query.isActive)

    def stop(self, timeout: float) -> int:
        """End at an epoch boundary and return the last committed epoch.

        An epoch that is being written is finished and committed; one that is only planned writes nothing and is
        left out. EngineError if the running epoch does not end in time: the caller may then kill the process.
        """
        if not self.writer.close(timeout):
            raise EngineError(f"The running epoch did not end within {timeout:.0f} seconds.")
        self._await_commit(self.writer.last_written)
        # Spark says what an epoch did a moment after its commit.
        wait_until(lambda: not self.active or self._told() >= self.writer.last_written, _PROGRESS_WAIT)
        # What runs from here on has written nothing and will not be committed: it may be interrupted.
        self.query.stop()
        return self.checkpoint.committed()

    def drop_tables(self) -> None:
        """Forget the tables of hash joins, so that a query started after this one reads them anew."""
        for table in self._tables:
            table.unpersist(blocking=True)

    def failure(self) -> PitstopError | None:
        """Why the query ended, as one sentence; None if it runs, or was stopped."""
        error = self.query.exception()
        if error is None or (self.writer.closed and _at_boundary(error)):
            return None
        return explain(error, self.writer.failure)

    def _told(self) -> int:
        seen = self.query.lastProgress
        return -1 if seen is None else int(seen.batchId)

    def _await_commit(self, epoch: int) -> None:
        wait_until(lambda: not self.active or self.checkpoint.committed() >= epoch, _COMMIT_WAIT)
        if self.checkpoint.committed() < epoch and self.query.exception() is None:
            raise EngineError(f"Epoch {epoch} was written and not committed within {_COMMIT_WAIT:.0f} seconds.")


def _saved_stage(
    checkpoint: Path, stage: str, layouts: Mapping[str, StateLayout], operators: tuple[OperatorSlot, ...]
) -> SavedStage:
    roles = {slot.role: number for number, slot in enumerate(operators) if slot.stage == stage and slot.copy == 0}
    return SavedStage(checkpoint, 0, stage, layouts[stage], roles)


_WORKER_LOST = ("Python worker failed to connect back", "Python worker exited unexpectedly")
"""What Spark says when a Python worker did not start in its ten seconds, or died."""


def wait_until(condition: Callable[[], bool], timeout: float, step: float = 0.005) -> bool:
    """Poll a condition that nobody signals (a file that Spark writes); True if it came true in time."""
    deadline = time.monotonic() + timeout
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(step)
    return True


def _at_boundary(error: StreamingQueryException | BaseException) -> bool:
    return EpochBoundaryError.__name__ in str(error)


def explain(error: BaseException, cause: BaseException | None) -> PitstopError:
    """A failed query's error as one sentence; the whole story goes into ``details['trace']``."""
    trace = str(error)
    if any(lost in trace or lost in str(cause) for lost in _WORKER_LOST):
        # No fault of the pipeline: the machine was too busy, or a worker was killed.
        return EngineError(f"An epoch failed: {_deepest(str(cause or trace))}", trace=trace, restartable=True)
    if isinstance(cause, PitstopError):
        cause.details.setdefault("trace", trace)
        return cause
    if cause is not None and "Python worker" in first_line(cause):
        return EngineError(f"An epoch failed: {_deepest(str(cause))}", trace=trace)
    if cause is not None and not isinstance(cause, EpochBoundaryError):
        return EngineError(f"An epoch failed: {type(cause).__name__}: {first_line(cause)}", trace=trace)
    return EngineError(f"The query failed: {_deepest(trace)}", trace=trace)


def _deepest(trace: str) -> str:
    """The last ``Error: message`` line of a Python worker's trace, else Spark's first line."""
    lines = [line.strip() for line in trace.splitlines() if line.strip()]
    for line in reversed(lines):
        head = line.split(":", 1)[0]
        if head.endswith(("Error", "Exception")) and " " not in head and ":" in line and not head.startswith("at "):
            return line
    return first_line(Exception(lines[0] if lines else "unknown"))
