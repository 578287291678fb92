"""The query of a job in real time (option execution): all its steps, and its sink, take each row as it comes."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

from pitstop.errors import EngineError
from pitstop.plan.cuts import cuts_of, operators_of
from pitstop.snapshots.checkpoint import Checkpoint
from pitstop.spark.base.environment import Environment
from pitstop.spark.base.session import is_joined, optimizer_settings, temporary_of
from pitstop.spark.internals.early_watermarks import allow_early_watermarks
from pitstop.spark.internals.real_time import FAN, hands_over, in_real_time, set_task_slots, starting_in_real_time
from pitstop.spark.lowering.compiled_job import CompiledJob
from pitstop.spark.lowering.lowering import Lowering
from pitstop.spark.lowering.real_time import WAY_OUT, only_sink
from pitstop.spark.running.query import RunningQuery, kept_state
from pitstop.spark.running.row_writer import RowWriter
from pitstop.spark.sinks import at_once

ENDS = "ends"
"""The option of a source with the path of a file that ends the epoch while it is there."""
SLOTS = 1024
"""The tasks that the JVM of a job in real time may run at once: one for each partition of its sources, and of its state, and
nearly all wait."""


def start_in_real_time(
    job: CompiledJob, environment: Environment, checkpoint: Path, counted: Callable[[str, int], None], length_ms: int
) -> RunningQuery:
    """Start the job's query with epochs of ``length_ms``; return once Spark has accepted it.

    ``counted`` gets the number of rows that its sink has got in an epoch. EngineError if the session's JVM cannot do that.
    """
    spark, sink, folder = job.spark, only_sink(job.pipeline), Checkpoint(checkpoint)
    if is_joined(spark):
        raise EngineError(
            "A job in real time needs a JVM of its own, and this run shares one, as only its code asks for real time: submit it "
            f"with -O execution=realtime. Or: {WAY_OUT}"
        )
    if not hands_over(spark):
        raise EngineError(
            "A job in real time needs Pitstop's Java classes on the class path of its JVM, and there is no folder for them "
            f"(docs/data-folder.md). {WAY_OUT}"
        )
    _forget_unfinished(folder)
    allow_early_watermarks(spark)
    set_task_slots(spark, SLOTS)
    writer = RowWriter(sink, environment, temporary_of(spark), length_ms)
    sources = dataclasses.replace(environment.sources, extra=environment.sources.extra | {ENDS: str(writer.ends)})
    lowering = Lowering(
        spark,
        sources,
        saved_layouts=kept_state(folder),
        count_rows=environment.count_rows,
        max_ahead_ms=environment.max_ahead_ms,
        row_by_row=True,
    )
    # What follows a stage with state is in the query, too, and must not shape that state.
    for key, value in optimizer_settings(chained=True).items():
        spark.conf.set(key, value)
    rows = at_once(sink).rows(sink.sink, lowering.frame(sink))
    writer.tell_rows(counted)
    stream = rows.writeStream.outputMode("update").format(FAN).option("socket", str(writer.socket))
    try:
        with starting_in_real_time(spark):
            started = in_real_time(stream, length_ms).option("checkpointLocation", str(checkpoint)).start()
    except BaseException:
        writer.end()
        raise
    writer.active = lambda: bool(started.isActive)
    stages = tuple(slot.stage for slot in operators_of(cuts_of(job.pipeline.nodes), lowering.layouts))
    return RunningQuery(started, folder, writer, None, (), lowering.layouts, stages, dict(lowering.event_times))


def _forget_unfinished(checkpoint: Checkpoint) -> None:
    """Forget an epoch that was begun and not committed: it is done anew, from where it began, and ends elsewhere.

    So its sink gets some rows again, and no version after this one may take its number for that of the epoch that was begun.
    """
    checkpoint.go_back_to(checkpoint.committed())
    checkpoint.begin_with(None)
