"""A new checkpoint of a plan's own structure, laid down by one epoch in which every source is empty."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery

from pitstop.errors import EngineError
from pitstop.kit.waiting import wait_until
from pitstop.pipeline.nodes import Node
from pitstop.snapshots.checkpoint import Checkpoint
from pitstop.spark.base.environment import SourceSettings
from pitstop.spark.base.failures import explain
from pitstop.spark.internals.early_watermarks import allow_early_watermarks
from pitstop.spark.internals.reports import recent_reports
from pitstop.spark.internals.settings import EXCLUDED_RULES
from pitstop.spark.lowering import source as lower_source
from pitstop.spark.lowering.compiled_job import CompiledJob
from pitstop.spark.lowering.lowering import Lowering
from pitstop.spark.lowering.streaming import streaming_frame

LAY_DOWN_SECONDS = 600.0
PROGRESS_SECONDS = 60.0


def lay_down(
    job: CompiledJob,
    sources: SourceSettings,
    folder: Path,
    scratch: Path,
    fed: Mapping[tuple[str, str], DataFrame],
    all_rules: bool = False,
) -> list[int]:
    """Make ``folder`` a checkpoint that has done epoch 0, with ``fed`` as the only rows: (stage, role) -> a stream of its state.

    The query ends right after that epoch's commit; nothing reaches a sink. Returns the number of rows that each operator then
    keeps, in the operators' order. ``all_rules``: Spark's optimizer does all that it does in plain queries. EngineError if the
    query does not reach the commit.
    """

    def empty(node: Node) -> DataFrame:
        return _empty_stream(job, sources, node, scratch)

    allow_early_watermarks(job.spark)
    lowering = Lowering(
        job.spark,
        sources,
        restored=dict(fed),
        open_source=empty,
        max_ahead_ms=job.config.max_ahead_ms,
        keeps_tables=False,
    )
    checkpoint = Checkpoint(folder)
    frame = streaming_frame(lowering, job.pipeline)
    if all_rules:
        job.spark.conf.unset(EXCLUDED_RULES)
    writer = frame.writeStream.outputMode("append").foreachBatch(_discard)
    query = writer.option("checkpointLocation", str(folder)).start()
    in_time = wait_until(lambda: checkpoint.committed() >= 0 or not query.isActive, LAY_DOWN_SECONDS)
    if in_time:
        wait_until(lambda: _rows_kept(query) is not None or not query.isActive, PROGRESS_SECONDS, step=0.02)
    rows = _rows_kept(query)
    query.stop()
    if checkpoint.committed() < 0:
        error = query.exception()
        if error is not None:
            raise explain(error, None) from error
        if not in_time:
            raise EngineError(f"The new checkpoint was not laid down within {LAY_DOWN_SECONDS:.0f} seconds.")
        raise EngineError("The new checkpoint could not be laid down: the query ended without a commit.")
    checkpoint.drop_after(0)
    if rows is None:
        raise EngineError("The new checkpoint was laid down, but Spark did not tell how many rows it keeps.")
    return rows


def _rows_kept(query: StreamingQuery) -> list[int] | None:
    """Return the rows that each operator has kept in epoch 0.

    None if Spark has not reported it yet, as right after the commit.
    """
    first = next((progress for progress in recent_reports(query) if progress.batchId == 0), None)
    return None if first is None else [int(operator.numRowsTotal) for operator in first.stateOperators]


def _discard(rows: DataFrame, epoch: int) -> None:
    if epoch > 0:
        raise RuntimeError("only epoch 0 is laid down")
    rows.write.format("noop").mode("overwrite").save()


def _empty_stream(job: CompiledJob, sources: SourceSettings, node: Node, scratch: Path) -> DataFrame:
    """Return a stream with the columns of a source and no rows. It reads a file: a Python source would take a second to start."""
    schema = lower_source.read_stream(job.spark, node, sources).schema
    # A folder each: equal relations would become one source.
    empty = scratch / f"source_{job.pipeline.nodes.index(node)}" / "empty"
    empty.parent.mkdir(parents=True)
    empty.touch()
    return job.spark.readStream.schema(schema).json(str(empty.parent))
