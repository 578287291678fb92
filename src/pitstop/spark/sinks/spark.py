"""Anything that Spark itself writes, by the name of a format: the rows of an epoch as a table. At least once."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from pyspark.sql import DataFrame

from pitstop.pipeline.sink import SparkSink
from pitstop.spark.base.formats import provide_format
from pitstop.spark.base.row_order import ORDER
from pitstop.spark.sinks import LAST, EpochContext, SinkKind


def write_by_spark(sink: SparkSink, rows: DataFrame, context: EpochContext) -> int | None:
    """Write one epoch's rows."""
    if rows.isEmpty():  # epochs without rows come, too, and one of them must not overwrite what is there
        return 0
    options = provide_format(rows.sparkSession, sink.format, sink.jars, dict(sink.options))
    rows.drop(ORDER).write.format(sink.format).mode(sink.mode).options(**options).save()
    return None


def _check(sink: SparkSink, rows: DataFrame) -> None:
    provide_format(rows.sparkSession, sink.format, sink.jars, dict(sink.options))


def _placed(sink: SparkSink, whole: Callable[[str], str]) -> SparkSink:
    return dataclasses.replace(sink, jars=tuple(whole(jar) for jar in sink.jars))


def _look(sink: SparkSink, columns: tuple[tuple[str, str], ...]) -> str:
    again = (
        "an epoch that is written again is there twice, and what was written is not withdrawn"
        if sink.mode == "append"
        else "the rows of each epoch take the place of all that is there"
    )
    return f"writes by Spark's own writer of '{sink.format}', at least once: {again}"


KIND = SinkKind(write_by_spark, _check, rank=LAST, placed=_placed, secrets=("options",), look=_look)
