"""User-defined sinks."""

from __future__ import annotations

from pyspark.sql import DataFrame

from pitstop.pipeline.sink import CustomSink
from pitstop.spark.sinks import EpochContext, SinkKind


def write_custom(sink: CustomSink, rows: DataFrame, context: EpochContext) -> None:
    """Hand the rows to the user's SinkWriter."""
    sink.writer.write(rows, context)


KIND = SinkKind(write_custom)
