"""The order of rows, carried along to a sink past the steps that drop the columns which tell it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from pitstop.pipeline.nodes import Node
from pitstop.pipeline.row_specs import ExplodeSpec, SplitSpec
from pitstop.pipeline.specs import FilterSpec, SelectSpec, Spec, WithColumnsSpec
from pitstop.spark.base.naming import quoted
from pitstop.spark.base.row_order import ORDER, order_of_time
from pitstop.spark.base.stars import sees_all, stars_without

Lower = Callable[[Spec, Node, DataFrame], DataFrame]


def with_order(sink: Node, rows: DataFrame, frame: Callable[[Node], DataFrame], lower: Lower) -> DataFrame:
    """Return the rows of a sink, with their order if they have lost the columns that tell it.

    Neither a step nor the sink's own expressions see that column: ``*`` within them stands for the user's columns. If such a star
    is in a Spark object, which cannot be rewritten, the order is lost.
    """
    order, steps, stage = sink.sink.takes_order, [], sink.inputs[0]
    if order.stage is None or order.stage == stage.name or any(map(sees_all, sink.sink.expressions)):
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
        spec = _without_order(step.spec)
        if spec is None:
            return rows
        result = _with_order(step, spec, result, lower)
    return result


def _without_order(spec: Spec) -> Spec | None:
    """Return the step with expressions that do not see the order; None if there are none."""
    try:
        if isinstance(spec, SelectSpec):
            return replace(spec, columns=tuple(map(_blind, spec.columns)))
        if isinstance(spec, FilterSpec):
            return replace(spec, condition=_blind(spec.condition))
        if isinstance(spec, WithColumnsSpec):
            return replace(spec, columns={name: _blind(value) for name, value in spec.columns.items()})
        if isinstance(spec, ExplodeSpec):
            return replace(spec, column=_blind(spec.column))
        if isinstance(spec, SplitSpec):
            return replace(spec, conditions=tuple(map(_blind, spec.conditions)))
    except ValueError:
        return None
    return spec


def _blind(expression: Any) -> Any:
    if sees_all(expression):
        raise ValueError(f"{expression} sees all columns")
    return stars_without(expression, ORDER) if isinstance(expression, str) else expression


def _with_order(step: Node, spec: Spec, rows: DataFrame, lower: Lower) -> DataFrame:
    result = lower(spec, step, rows)
    if ORDER in result.columns:
        return result
    assert isinstance(spec, SelectSpec), f"'{step.name}' takes no column along"
    return lower(replace(spec, columns=(*spec.columns, F.col(quoted(ORDER)))), step, rows)
