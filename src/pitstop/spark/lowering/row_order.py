"""Takes the order of rows along to a sink, past the steps that drop the columns which tell it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from pitstop.pipeline.nodes import Node
from pitstop.pipeline.specs import SelectSpec, Spec
from pitstop.spark.base.naming import quoted
from pitstop.spark.base.row_order import ORDER, order_of_time

Lower = Callable[[Spec, Node, DataFrame], DataFrame]


def with_order(sink: Node, rows: DataFrame, frame: Callable[[Node], DataFrame], lower: Lower) -> DataFrame:
    """The rows of a sink, with their order if they have lost the columns that tell it."""
    order, steps, stage = sink.sink.takes_order, [], sink.inputs[0]
    if order.stage is None or order.stage == stage.name:
        return rows
    while stage.name != order.stage:
        steps.append(stage)
        stage = stage.inputs[0]
    before = frame(stage)
    text = order_of_time(before, order)
    if text is None:
        return rows
    result = before.withColumn(ORDER, F.expr(text))
    for step in reversed(steps):
        result = _with_order(step, result, lower)
    return result


def _with_order(step: Node, rows: DataFrame, lower: Lower) -> DataFrame:
    result = lower(step.spec, step, rows)
    if ORDER in result.columns:
        return result
    assert isinstance(step.spec, SelectSpec), f"'{step.name}' takes no column along"
    return lower(replace(step.spec, columns=(*step.spec.columns, F.col(quoted(ORDER)))), step, rows)
