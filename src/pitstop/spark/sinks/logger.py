"""The logger sink: one line for each row, in the layout of the seed."""

from __future__ import annotations

from string import Formatter
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from pitstop.pipeline.sink import LoggerSink
from pitstop.spark.base.naming import quoted
from pitstop.spark.base.values import python_rows
from pitstop.spark.sinks import EpochContext, SinkKind

LOGGER = "pitstop.sink.logger"


def write_log(sink: LoggerSink, rows: DataFrame, context: EpochContext) -> int:
    """Log ``[<job>/<stage>#<partition>] <text>`` for each row; return the number of rows.

    The text is the template filled in, or the row as JSON.
    """
    template = sink.template
    partition = F.spark_partition_id().alias("__partition")
    if template is None:
        table = rows.select(partition, F.to_json(F.struct("*"), {"ignoreNullFields": "false"}).alias("__text")).toArrow()
        texts = table.column(1).to_pylist()
    else:
        table = rows.select(partition, *map(quoted, rows.columns)).toArrow()
        texts = [_filled(template, row) for row in python_rows(table.drop_columns(["__partition"]))]
    for number, text in zip(table.column(0).to_pylist(), texts, strict=True):
        context.run.log("INFO", LOGGER, f"[{context.job}/{context.stage}#{number}] {text}")
    return len(texts)


def _filled(template: str, row: dict[str, Any]) -> str:
    try:
        return template.format(**row)
    except (TypeError, ValueError, AttributeError, LookupError) as error:
        return f"{row} (the template cannot show it: {error})"  # a null, say: a log must not end the job


def check_template(sink: LoggerSink, rows: DataFrame) -> str | None:
    """Return an error if a column that the template names is missing; None if all are there."""
    for _, name, _, _ in Formatter().parse(sink.template or ""):
        if name is not None and name not in rows.columns:
            return f"there is no column '{name}' for its text. There are: {', '.join(rows.columns)}."
    return None


# The log of a rehearsal goes nowhere. That lines were logged keeps no epoch from being planned anew: they promise at least once.
KIND = SinkKind(write_log, check_template, rehearse=write_log, reads_once=True, handles_epochs=True)
