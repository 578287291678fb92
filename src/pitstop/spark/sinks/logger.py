"""The logger sink: a line a row, in the layout of the seed."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from pitstop.pipeline.nodes import Node
from pitstop.spark.base.environment import Environment, EpochContext
from pitstop.spark.base.naming import quoted

LOGGER = "pitstop.sink.logger"


def write_log(node: Node, rows: DataFrame, context: EpochContext, environment: Environment) -> None:
    """``[<job>/<stage>#<partition>] <text>``; the text is the template filled in, or the row as JSON."""
    template: str | None = node.sink.options["template"]
    partition = F.spark_partition_id().alias("__partition")
    if template is None:
        table = rows.select(partition, F.to_json(F.struct("*"), {"ignoreNullFields": "false"}).alias("__text")).toArrow()
        texts = table.column(1).to_pylist()
    else:
        table = rows.select(partition, *map(quoted, rows.columns)).toArrow()
        texts = [template.format(**row) for row in table.drop_columns(["__partition"]).to_pylist()]
    for number, text in zip(table.column(0).to_pylist(), texts, strict=True):
        environment.log("INFO", LOGGER, f"[{context.job}/{context.stage}#{number}] {text}")
