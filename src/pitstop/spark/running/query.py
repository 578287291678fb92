"""The one streaming query of a job: it is built from its cuts, started, and ended between two epochs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from pitstop.errors import EngineError, PitstopError
from pitstop.kit.waiting import wait_until
from pitstop.model.layout import StateLayout
from pitstop.pipeline.nodes import Node
from pitstop.pipeline.specs import LateSpec, WindowSpec
from pitstop.pipeline.stages import Pipeline
from pitstop.plan.cuts import Cut, cuts_of, operators_of
from pitstop.plan.model import OperatorSlot, Plan
from pitstop.snapshots.checkpoint import Checkpoint
from pitstop.spark.base.environment import Environment
from pitstop.spark.base.failures import EpochBoundaryError, ended_at_boundary, explain
from pitstop.spark.base.naming import role_column
from pitstop.spark.base.session import local_folder
from pitstop.spark.internals.clock import set_interval
from pitstop.spark.internals.early_watermarks import allow_early_watermarks
from pitstop.spark.internals.jvm_logs import with_epoch_in_lines
from pitstop.spark.internals.late_rows import finding_late_rows
from pitstop.spark.internals.reports import last_report
from pitstop.spark.internals.resting_windows import let_windows_rest
from pitstop.spark.lowering.clock_time import ClockTime
from pitstop.spark.lowering.lowering import Lowering, OpenSource
from pitstop.spark.lowering.streaming import streaming_frame
from pitstop.spark.running.early import EarlyResults
from pitstop.spark.running.epochs import EpochRecords, EpochWriter, WriteSink
from pitstop.spark.running.gate import Gate
from pitstop.spark.running.idle import IdleWatch, idle_watch
from pitstop.spark.running.pace import Pace
from pitstop.spark.sinks import write_sink
from pitstop.spark.state.saved import SavedStage

_COMMIT_WAIT = 10.0
_PROGRESS_WAIT = 10.0


@dataclass(frozen=True, eq=False)
class RunningQuery:
    """A query that has been started over one checkpoint."""

    query: StreamingQuery
    checkpoint: Checkpoint
    writer: Gate
    idle: IdleWatch | None
    """The watch for idle stages; None if none can be idle."""
    tables: tuple[DataFrame, ...]
    """The tables of hash joins, which it keeps in memory."""
    layouts: Mapping[str, StateLayout] = field(default_factory=dict)
    """Stage -> the layout of its state."""
    operators: tuple[str, ...] = ()
    """The stage of each of Spark's operators with state, by its number."""
    event_times: Mapping[str, Node] = field(default_factory=dict)
    """Id of a watermark operator -> the stage that sets the event time there."""
    pace: Pace | None = None
    """The pace of its epochs; None if they follow one another at once."""
    scratch: Path | None = None
    """The folder in which Spark keeps the rows that it shuffles, if that is a folder of this machine."""

    @classmethod
    def start(
        cls,
        spark: SparkSession,
        pipeline: Pipeline,
        environment: Environment,
        checkpoint: Path,
        before: RunningQuery | None = None,
        open_source: OpenSource | None = None,
        write: WriteSink = write_sink,
        counted: Callable[[str, int], None] | None = None,
        tables: Mapping[str, DataFrame] | None = None,
    ) -> RunningQuery:
        """Build the query from the pipeline's cuts and start it; return once Spark has accepted it.

        ``before`` is the query that it replaces within a run. ``open_source`` and ``write`` stand in for its sources and sinks.
        ``counted`` gets, for each sink, the number of rows that an epoch has written into it. ``tables`` are the tables of its
        hash joins; without them the query reads each table when its epochs ask for it.
        """
        allow_early_watermarks(spark)
        lowering = Lowering(
            spark,
            environment.sources,
            open_source=open_source,
            saved_layouts=kept_state(Checkpoint(checkpoint)),
            count_rows=environment.count_rows,
            max_ahead_ms=environment.max_ahead_ms,
            tables=dict(tables or {}),
        )
        frame = streaming_frame(lowering, pipeline)
        let_windows_rest(spark, _slides(lowering.layouts))
        cuts = cuts_of(pipeline.nodes)
        earlier = before.idle if before is not None else None
        operators = operators_of(cuts, lowering.layouts)
        clock_time = ClockTime.of(lowering.event_times.values(), operators, pipeline.nodes)
        idle = idle_watch(Checkpoint(checkpoint), lowering.event_times, lowering.followers, environment.log, earlier, clock_time)
        early = _early_results(checkpoint, cuts, lowering.layouts)
        folder = Checkpoint(checkpoint)
        epoch_written = idle.epoch_written if idle is not None else None
        saved = EpochRecords.of(folder, len(operators))
        writer = EpochWriter(cuts, environment, early, epoch_written, write, saved)
        writer.tables = dict(tables or {})
        if counted is not None:
            writer.tell_rows(counted)
        stream = frame.writeStream.outputMode("append").foreachBatch(with_epoch_in_lines(writer, EpochBoundaryError))
        pace = Pace(environment.latency_ms, environment.job_id) if environment.latency_ms else None
        if pace is not None:
            stream = stream.trigger(processingTime=f"{pace.interval_ms} milliseconds")
        finds_late = environment.count_rows or any(isinstance(node.spec, LateSpec) for node in pipeline.nodes)
        with finding_late_rows(spark, _numbers(operators)) if finds_late else nullcontext():
            query = stream.option("checkpointLocation", str(checkpoint)).start()
        if idle is not None:
            idle.follow(query)
        stages = tuple(slot.stage for slot in operators)
        tables_read = tuple(lowering.tables.values())
        event_times = dict(lowering.event_times)
        return cls(query, folder, writer, idle, tables_read, lowering.layouts, stages, event_times, pace, local_folder(spark))

    def note_epoch(self, epoch_ms: int) -> None:
        """Let the next epochs begin at the pace that follows from the time that the last one has taken."""
        if self.pace is not None and self.pace.note(epoch_ms):
            set_interval(self.query, self.pace.interval_ms)

    @property
    def active(self) -> bool:
        return bool(self.query.isActive)

    def stop(self, timeout: float) -> int:
        """End at an epoch boundary and return the last committed epoch.

        An epoch that is being written is finished and committed. One that is only planned writes nothing and is left out.
        EngineError if the running epoch does not end in time: the caller may then kill the process.
        """
        if not self.writer.close(timeout):
            raise EngineError(f"The running epoch did not end within {timeout:.0f} seconds.")
        self._await_commit(self.writer.last_written)
        # Spark says what an epoch did a moment after its commit.
        wait_until(lambda: not self.active or self._told() >= self.writer.last_written, _PROGRESS_WAIT)
        # What runs from here on has written nothing and will not be committed: it may be interrupted.
        self.end()
        return self.checkpoint.committed()

    def end(self) -> None:
        """End at once: an epoch that is under way stays uncommitted."""
        self.query.stop()
        self.writer.end()

    def end_epoch(self, timeout: float) -> None:
        """End an epoch in real time now, and wait until it is committed; the last committed epoch is then the newest."""
        if self.writer.end_epoch(timeout):
            self._await_commit(self.writer.last_written)

    def under_way(self) -> int | None:
        """Return the epoch that is expected to end, in real time only once its time is over; None if there is none."""
        planned = self.checkpoint.planned()
        return self.writer.under_way(planned if planned > self.checkpoint.committed() else None)

    def drop_tables(self) -> None:
        """Forget the tables of hash joins, so that a query started after this one reads them anew."""
        for table in self.tables:
            table.unpersist(blocking=True)

    def failure(self) -> PitstopError | None:
        """Return the reason why the query ended, as one sentence; None if it runs, or was stopped."""
        error = self.query.exception()
        if error is None or (self.writer.closed and ended_at_boundary(error)):
            return None
        writer = self.writer
        return explain(error, writer.failure, writer.nodes, self.layouts, writer.sink, self.operators, scratch=self.scratch)

    def _told(self) -> int:
        progress = last_report(self.query)
        return -1 if progress is None else int(progress.batchId)

    def _await_commit(self, epoch: int) -> None:
        """Wait until Spark has committed an epoch that is written; EngineError if it does not."""
        wait_until(lambda: not self.active or self.checkpoint.committed() >= epoch, _COMMIT_WAIT)
        if self.checkpoint.committed() < epoch and self.query.exception() is None:
            raise EngineError(f"Epoch {epoch} was written and not committed within {_COMMIT_WAIT:.0f} seconds.")


def kept_state(checkpoint: Checkpoint) -> dict[str, StateLayout]:
    """Return stage -> the form in which the checkpoint keeps its state; nothing if it keeps none yet."""
    plan = checkpoint.facts().get("plan")
    return Plan.from_dict(plan).stateful if plan is not None else {}


def _numbers(operators: tuple[OperatorSlot, ...]) -> dict[str, int]:
    """Return the name of an operator -> Spark's number for it. Copies, in other branches, have the same watermark."""
    return {role_column(slot.stage, slot.role): number for number, slot in enumerate(operators) if not slot.copy}


def _slides(layouts: Mapping[str, StateLayout]) -> dict[str, int]:
    """Return, for each window column in the key of a stage's state, the slide of the window in ms.

    Sessions have none, as they end at any time.
    """
    return {
        role_column(stage, role): int(layout.parameters["slide_ms"])
        for stage, layout in layouts.items()
        if "slide_ms" in layout.parameters
        for role in layout.roles
        if isinstance(role, str)
    }


def _early_results(checkpoint: Path, cuts: tuple[Cut, ...], layouts: Mapping[str, StateLayout]) -> dict[str, EarlyResults]:
    """Return stage -> the maker of its early results, for the stages that are to give some."""
    operators = operators_of(cuts, layouts)
    results = {}
    for node in (cut.node for cut in cuts):
        if not isinstance(node.spec, WindowSpec) or not node.spec.early_ms:
            continue
        roles = {slot.role: number for number, slot in enumerate(operators) if slot.stage == node.name and slot.copy == 0}
        results[node.name] = EarlyResults(node, node.spec, SavedStage(checkpoint, 0, node.name, layouts[node.name], roles))
    return results
