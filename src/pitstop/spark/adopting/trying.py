"""Trials of offsets: a source's own reader plans an epoch from one, as it would at the start of a job. No row reaches a sink."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from pitstop.errors import EngineError, IncompatibleError
from pitstop.pipeline.nodes import Node
from pitstop.snapshots.checkpoint import Checkpoint, OffsetLog
from pitstop.spark.base.environment import SourceSettings
from pitstop.spark.base.failures import PASSING, reason
from pitstop.spark.lowering.source import read_stream

TRIAL_SECONDS = 120
"""The longest, in seconds, that a source may take to plan an epoch."""


def try_offset(spark: SparkSession, node: Node, settings: SourceSettings, offset: str, like: Checkpoint, folder: Path) -> None:
    """Let a source go on at an offset, up to the plan of an epoch.

    ``like``: a checkpoint that this release of Spark has laid down; ``folder``: a folder that does not exist. IncompatibleError
    with the reader's reason if it cannot; EngineError if it takes too long.
    """
    is_planned = False

    def plan(rows: DataFrame, epoch: int) -> None:
        nonlocal is_planned
        rows.rdd.getNumPartitions()
        is_planned = True
        raise RuntimeError("an epoch is planned, and not run")

    try:
        _lay(Checkpoint(folder), offset, like)
        writer = read_stream(spark, node, settings).writeStream.foreachBatch(plan).trigger(availableNow=True)
        query = writer.option("checkpointLocation", str(folder)).start()
        try:
            has_ended = query.awaitTermination(TRIAL_SECONDS)
        finally:
            query.stop()
    except Exception as error:
        if is_planned:
            return
        raise IncompatibleError(f"source '{node.name}' cannot go on there: {reason(error)}") from error
    if not has_ended:
        raise EngineError(
            f"Source '{node.name}' has not planned an epoch from {offset} within {TRIAL_SECONDS} seconds.", **PASSING
        )


def _lay(checkpoint: Checkpoint, offset: str, like: Checkpoint) -> None:
    """Make a checkpoint that has done two epochs, in which the source was at the offset: Spark reads both at its start."""
    checkpoint.path.mkdir(parents=True)
    checkpoint.rename_query()
    for epoch in (0, 1):
        checkpoint.write_offsets(epoch, OffsetLog(like.offsets(0).metadata, (offset,)))
        checkpoint.write_commit(epoch, 0)
