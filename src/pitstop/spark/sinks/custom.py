"""Sinks of a user's own."""

from __future__ import annotations

import dataclasses

from pyspark.sql import DataFrame

from pitstop.pipeline.sinks import CustomSink
from pitstop.spark.sinks import EpochContext, SinkKind


def write_custom(sink: CustomSink, rows: DataFrame, context: EpochContext) -> None:
    """Hand the rows to the user's SinkWriter, under the name by which it was first given the epoch."""
    for lineage, epoch in context.run.known_as[:1]:
        context = dataclasses.replace(context, lineage=lineage, epoch=epoch)
    sink.writer.write(rows, context)


KIND = SinkKind(write_custom)
