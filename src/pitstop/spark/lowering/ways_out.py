"""Rows that a stage with state takes and leaves out, counted by reason while they go by."""

from __future__ import annotations

from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from pitstop.model.left_out import LeftOut
from pitstop.pipeline.nodes import Node
from pitstop.pipeline.specs import JoinSpec, WindowSpec
from pitstop.pipeline.windows import Session
from pitstop.spark.base.naming import quoted, role_column
from pitstop.spark.base.sessions import timeout_in_state_us
from pitstop.spark.internals.late_rows import late_rows
from pitstop.spark.lowering.event_time import event_time_if_there


def left_out(node: Node, number: int, rows: DataFrame) -> list[Column]:
    """Return aggregates of the rows of an input that count, by reason, those that the stage leaves out.

    Late rows are among them for windows alone. Spark itself counts those of other stages, row by row.
    """
    if isinstance(node.spec, WindowSpec):
        return _of_window(node, node.spec, number, rows)
    if isinstance(node.spec, JoinSpec) and not (node.spec.how == "left" and number == 0):
        return _of_join(node, node.spec, number, rows)
    return []


def _of_window(node: Node, spec: WindowSpec, number: int, rows: DataFrame) -> list[Column]:
    column = event_time_if_there(node, rows, spec.timestamps[number])
    if column is None:  # the stage says so itself
        return []
    time = F.col(quoted(column))
    return [_counted(LeftOut.UNTIMED, time.isNull()), late_rows(time, *ending(node.name, spec))]


def ending(stage: str, spec: WindowSpec) -> tuple[str, int, int]:
    """Return the facts by which a row is late: the column of the window, the grid of its end and the gap before it."""
    if isinstance(spec.window, Session):
        return role_column(stage, "sessions"), 1, timeout_in_state_us(spec.window.timeout_ms)
    return role_column(stage, "frames"), spec.window.slide_ms * 1000, 1


def _of_join(node: Node, spec: JoinSpec, number: int, rows: DataFrame) -> list[Column]:
    column = event_time_if_there(node, rows, spec.times[number])
    if column is None or any(key not in rows.columns for key in spec.on):
        return []
    time = F.col(quoted(column))
    without_key = reduce(Column.__or__, (F.col(quoted(key)).isNull() for key in spec.on))
    return [_counted(LeftOut.UNTIMED, time.isNull()), _counted(LeftOut.KEYLESS, time.isNotNull() & without_key)]


def _counted(reason: LeftOut, condition: Column) -> Column:
    return F.count(F.when(condition, True)).alias(reason.value)
